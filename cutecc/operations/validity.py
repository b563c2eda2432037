"""Whether there is a kernel for a description; if not, why, and which description is nearest to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

from cutecc.errors import UsageError
from cutecc.operations import rules, tile_rules
from cutecc.operations.alternatives import with_tile
from cutecc.operations.any_description import AnyDescription
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.family import Refusal, TilePart
from cutecc.operations.nearest import Distance, Rule, nearest

RULES: tuple[Rule, ...] = (
    rules.multiplied_types,
    rules.types_exist,
    rules.target_has_it,
    rules.arithmetic_exists,
    rules.accumulator_exists,
    rules.shape_exists,
    rules.layouts,
    *(partial(rules.alignment, name=name) for name in "ABCD"),
    rules.results,
    rules.epilogue_fits,
    rules.modes,
    tile_rules.orientation,
    tile_rules.schedule,
    tile_rules.cluster,
    tile_rules.stages,
    tile_rules.warps,
    *(partial(tile_rules.extent, axis=axis) for axis in range(3)),
    *(partial(tile_rules.contiguous_run, name=name) for name in "AB"),
    tile_rules.registers,
)
"""In the order in which they are asked."""
FAMILY_RULES: tuple[Rule, ...] = (tile_rules.shared_memory, tile_rules.family_takes_it)
"""What a family is asked, once all others hold."""


@dataclass(frozen=True)
class Verdict(Generic[AnyDescription]):
    """An answer about a description; true when it is accepted."""

    accepted: bool
    reason: str = ""
    """Why not, in one sentence; empty when accepted."""
    nearest: AnyDescription | None = None
    """The description itself when it is accepted; else the nearest that is. `None` where the search found none."""
    changes: tuple[str, ...] = ()
    """What `nearest` has different, such as `stages 3, not 9`."""
    distance: Distance = (0, 0, 0)
    """How far `nearest` is."""

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return "accepted" if self.accepted else "\n".join([f"refused: {self.reason}", *self.hints])

    @property
    def hints(self) -> list[str]:
        """What to change, as errors say it."""
        return [f"the nearest that there is has {'; '.join(self.changes)}"] if self.changes else []

    def require(self) -> None:
        """Raise `UsageError` with the reason and what to change, unless accepted."""
        if not self.accepted:
            raise UsageError(self.reason, hints=self.hints)


def refusal(description: GemmDescription) -> Refusal | None:
    """Why there is no kernel for a description, `None` if there is one. Looks for no other description."""
    compiled = description.compiled()
    return next((found for rule in (*RULES, *FAMILY_RULES) if (found := rule(compiled)) is not None), None)


def check(description: GemmDescription, free: frozenset[TilePart] = frozenset()) -> Verdict[GemmDescription]:
    """Whether there is a kernel for a description, with the reason and the nearest description if not.

    The nearest one changes as few parts of the problem as possible (target, types, layouts, alignments, accumulator,
    arithmetic, mode, epilogue), of those with the same number the fewest parts of the means (instruction, tile,
    swizzle), and of those the least, as `alternatives.changes` measures it. It is accepted itself. The `free` parts of
    the tile are not asked for: they do not count, and are not to blame where other values of theirs would do.
    """
    refused = refusal(description)
    if refused is None:
        return Verdict(True, nearest=description)
    is_transposed = description.is_compiled_transposed
    compiled = description.compiled()
    answer = nearest(compiled, RULES, FAMILY_RULES, frozenset(free))
    if answer is not None and free:
        compiled = with_free(compiled, answer[0], free)
        refused = refusal(compiled) or refused
        description = compiled.transposed() if is_transposed else compiled
    reason = as_asked(refused.reason, description)
    if answer is None:
        return Verdict(False, reason)
    found, distance = answer
    found = found.transposed() if is_transposed else found
    return Verdict(False, reason, found, tuple(differences(description, found)), distance)


def as_asked(reason: str, description: GemmDescription) -> str:
    """The reason why what is compiled of a description is refused, in terms of the description."""
    if not description.is_compiled_transposed:
        return reason
    whose = "a swapped tile" if description.tile.swapped else f"a {rules.LAYOUT_WORDS[description.d.layout]} D"
    return f"{whose} is computed as Dᵀ = Bᵀ Aᵀ, and of that, {reason}"


def with_free(description: GemmDescription, found: GemmDescription, free: frozenset[TilePart]) -> GemmDescription:
    """A description with the parts of its tile that are not asked for as in what was found."""
    old, new = description.tile, found.tile
    sizes = zip("mnk", old.threadblock, new.threadblock, strict=True)
    m, n, k = [there if f"tile.{letter}" in free else here for letter, here, there in sizes]
    others = ("stages", "warps", "cluster", "schedule")
    taken: dict[str, Any] = {name: getattr(new, name) for name in others if f"tile.{name}" in free}
    return with_tile(description, replace(old, threadblock=(m, n, k), **taken))


def differences(before: GemmDescription, after: GemmDescription) -> Iterator[str]:
    """The parts that `after` has different from `before`, each as `part new, not old`."""
    old, new = _parts(before), _parts(after)
    if _takes_n_of_tile(before) and _takes_n_of_tile(after):
        del old["instruction"], new["instruction"]
    yield from _changes(old, new)
    # The epilogue's operands and accumulator follow those of the description, and what is multiplied the types.
    changed = {part.partition(".")[0] for part in {**old, **new} if old.get(part) != new.get(part)}
    if before.epilogue != after.epilogue and changed.isdisjoint(("c", "d", "accumulator")):
        yield "an epilogue that fits"
    here, there = (f"{each.instruction.a} by {each.instruction.b}" for each in (before, after))
    # With an arithmetic that rounds on the way, another unit gets the same numbers.
    is_same = "instruction" in changed and before.instruction.multiplies == after.instruction.multiplies
    if here != there and not is_same and changed.isdisjoint(("a", "b", "arithmetic")):
        yield f"an instruction on {there}, not {here}"


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """What becomes of each part that is not as it was."""
    for part in new:
        if old.get(part) != new[part]:
            yield f"{part} {new[part]}, not {old[part]}" if part in old else f"{part} {new[part]}"
    yield from (f"no {part}" for part in old if part not in new)


def _takes_n_of_tile(description: GemmDescription) -> bool:
    """Whether nothing but the tile has to be said of the instruction: a `wgmma` as wide as that."""
    unit, (_, n, k) = description.instruction.unit, description.instruction.shape
    return unit == "wgmma" and n == description.tile.threadblock[1] and k * description.a.bits == 256


def _parts(description: GemmDescription) -> dict[str, str]:
    """A description in words, part by part; all but the epilogue."""
    tile, instruction = description.tile, description.instruction
    found = {
        "target": description.target,
        "instruction": f"{instruction.unit} {'x'.join(map(str, instruction.shape))}",
        "accumulator": instruction.accumulator,
        "arithmetic": instruction.arithmetic,
        "tile": "x".join(map(str, tile.threadblock)),
        "stages": str(tile.stages),
        "warps": "x".join(map(str, tile.warps)),
        "cluster": "x".join(map(str, tile.cluster)),
        "schedule": tile.schedule,
        "swapped": str(tile.swapped).lower(),
        "swizzle": description.swizzle,
        "mode": description.mode,
    }
    for name in ("a", "b", "c", "d"):
        if (operand := getattr(description, name)) is not None:
            found |= {f"{name}.{part}": str(getattr(operand, part)) for part in ("dtype", "layout", "alignment")}
    return found
