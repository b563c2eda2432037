"""Calls as machine code, where llvmlite is installed; Python makes the same launches elsewhere."""
