"""The names of the named pipelines."""

NAMED = {"nvidia": "the installed wheel's own pipeline, each pass on its own"}
"""Each named pipeline and what it is."""
