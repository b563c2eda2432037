"""The wheel's own pipeline, one pass at a time."""
