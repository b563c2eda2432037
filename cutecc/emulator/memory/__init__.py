"""What a launch can read and write: shared, local, parameter and global memory, checked at every access."""
