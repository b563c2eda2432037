"""Passes: what they are, which there are, pipelines of them, and running these."""
