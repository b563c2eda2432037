"""Kernels of the operations: a family has an interface file, which needs no DSL, and an implementation in CuTe."""
