"""What a kernel's arguments are: specs that stand for them, numeric types, and arrays of any library.

Plain Python that imports neither the DSL nor MLIR: the frontend traces with it, the runtime binds real arguments by it.
"""
