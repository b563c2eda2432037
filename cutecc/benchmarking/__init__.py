"""Benchmarks: kernels and whatever else does the same work, timed in turn on one device."""
