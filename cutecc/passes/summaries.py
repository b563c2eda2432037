"""What each pass does, in one sentence."""

from __future__ import annotations

from cutecc.passes.base import Pass
from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, EARLIER, OTHER_REGISTERED
from cutecc.passes.wheel import WheelPass

WHEEL_SUMMARIES = DESCRIPTIONS | OTHER_REGISTERED | EARLIER
"""By name, of every pass of the wheel's that is known here."""


def summary_of(pass_: Pass) -> str:
    """What the pass does; empty where nobody says, as of a pass that a later wheel has."""
    definition = pass_.definition
    return WHEEL_SUMMARIES.get(pass_.name, "") if issubclass(definition, WheelPass) else definition.summary()
