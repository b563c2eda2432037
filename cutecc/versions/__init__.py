"""What changed in a kernel between versions of the DSL, of its source, or between ways to compile it.

Each column of a comparison is one of them (`columns`), with an environment (`environments`) and a tree of sources
(`checkouts`) of its own, in which a process of its own compiles the same kernels (`recording`). The records are then
measured (`measures`), run on the same inputs, and where they differ is found (`changes`); `comparison` is all of it as
data, against which conditions are held (`conditions`). No column needs the environment of another.
"""
