"""Running compiled kernels: binding arguments, evaluating host programs, launching, timing.

Needs the record, cuda-python and nothing of MLIR or the DSL.
"""
