"""Tools for compiler engineers, on top of the driver: one file each."""
