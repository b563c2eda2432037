"""What a kernel did, counted as hardware counts it: instructions, sectors, wavefronts, bytes and matrix operations."""
