"""From the lowered host function to a host program: `translate`."""

from __future__ import annotations

from cutecc.backend.host.failure import UntranslatableError
from cutecc.backend.host.translation import launches_kernels, translate

__all__ = ["UntranslatableError", "launches_kernels", "translate"]
