"""Proving the kernels that a call of a function would launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecc.driver import one_target, trace
from cutecc.proving.modules import prove_apart

if TYPE_CHECKING:
    from cutecc.proving.proof import Proof
    from cutecc.target import Target


def prove(
    fn: Any, /, *args: Any, target: str | Target | None = None, seconds: float = 60.0, **kwargs: Any
) -> list[Proof]:
    """What can be said of each kernel that a call launches, for every schedule and every size.

    Arguments and errors as `compile`; `seconds` is the time for each kernel, at most. Nothing is compiled or run: an
    answer is `proved`, `suspicious` or `cannot tell`; `cutecc prove` looks for a run that shows what is suspicious. The
    work is done in other processes: what aborts there is an answer too. `docs/proving.md` says what a proof rests on.
    """
    chosen = one_target(target)
    traced = trace(fn, *args, target=chosen, **kwargs)
    return prove_apart(traced.bytecode, chosen.name, seconds)
