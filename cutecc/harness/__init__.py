"""Trying a kernel out: arguments made from its specs, the reference of its file called with the same, outputs compared.

Needs numpy, and neither MLIR, the DSL nor a GPU.
"""
