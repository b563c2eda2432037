"""Checks of how a kernel's warps wait for each other: sites, what each warp does at them, and one check a file."""
