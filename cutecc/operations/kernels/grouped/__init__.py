"""Kernels of grouped products: those of a GEMM, whose blocks take the tiles of many products one after the other."""
