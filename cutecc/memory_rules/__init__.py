"""What a warp's access takes, by its threads' addresses: sectors of global memory, wavefronts of shared memory.

The emulator counts by these rules what a kernel did, analyses what it will do.
"""
