"""Exact arithmetic on arrays, without any PTX: number formats, compiled element-wise functions, matrix fragments."""
