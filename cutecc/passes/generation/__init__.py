"""Passes that generate code; each is in the file of its name."""
