"""Why a call is not made in machine code."""

from __future__ import annotations


class Unsupported(Exception):
    """Why a call stays in Python; never shown to the user as an error."""
