"""Puts this folder on the path of its tests, for `hand`."""
