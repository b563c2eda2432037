"""The open lowering: what CuTe means on the hardware, in passes that are each one idea.

A value of a CuTe type is little at run time: the numbers behind the `?` of its type, and for a tensor in memory its
pointer. These are its *leaves* (`leaves`). Lowering an operation is computing the leaves of its results from those of
its operands; what is computed is said by the layout algebra (`cutecc.layout`) on the types, with a variable for every
`?`, and written out as arithmetic (`arithmetic`). Between lowered and other operations stand casts.
"""
