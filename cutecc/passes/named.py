"""The names of the named pipelines."""

NAMED = {
    "nvidia": "the installed wheel's own pipeline, each pass on its own",
    "open": "an open lowering, in Python, and code by LLVM",
}
"""Each named pipeline and what it is."""
