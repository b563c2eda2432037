"""Kernels of convolutions: products of matrices of which one is gathered from a tensor."""
