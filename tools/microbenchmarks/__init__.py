"""Kernels of a few lines that measure the constants of `cutecc estimate` (`tools/bench_model.py`)."""
