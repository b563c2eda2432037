"""Fails when it is loaded."""

WIDTH = 1 / 0
