"""All events that the prover models."""

from __future__ import annotations

from collections.abc import Mapping

from cutecc.proving.cluster_effects import CLUSTER_EFFECTS
from cutecc.proving.effects import EFFECTS, Effect
from cutecc.proving.tensor_effects import TENSOR_EFFECTS

MODELLED: Mapping[str, Effect] = {**EFFECTS, **CLUSTER_EFFECTS, **TENSOR_EFFECTS}
"""By the names of operations."""
