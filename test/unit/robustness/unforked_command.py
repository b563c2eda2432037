"""The `cutecc` command, whose workers are copies of a template and never of itself: those have loaded the bindings."""

from __future__ import annotations

from cutecc.__main__ import main as command
from cutecc.support import isolation


def main() -> None:
    """Run the command line."""
    isolation._can_fork = lambda: False
    command()
