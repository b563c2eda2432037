"""A device that executes PTX on the CPU, checks what it does and counts it."""
