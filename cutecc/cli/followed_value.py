"""`cutecc explain --value`: one operation through the passes, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.report.following import Passed
from cutecc.report.stage_text import fold_types
from cutecc.report.values import Value

MOST_TEXTS = 4
"""Operations whose text is shown after a pass."""


def value_rows(value: Value, passed: Sequence[Passed], passes: dict[int, str], most: int | None) -> Iterator[str]:
    """The value where it begins, and what each pass that changed it made of it; `most` operations at a time."""
    shown = [each for each in passed if each.fates]
    names = {each.step: passes.get(each.step, "") for each in shown}
    longest = max(len(name) for name in (passes[value.stage], *names.values()))
    yield f"{value.stage:>4}  {passes[value.stage]:<{longest}}  {fold_types(value.text)}"
    for each in shown:
        is_code = names[each.step] in CODE_GENERATION and set(each.fates) == {"removed"}
        yield f"{each.step:>4}  {names[each.step]:<{longest}}  {'code generated' if is_code else _said(each)}"
        before = 0 if most is None else max(0, len(each.texts) - most)
        if before:
            yield f"{'':>8}… {before} more: --all shows them"
        # The value itself is made last.
        for text in each.texts[before:]:
            yield f"{'':>8}{fold_types(text)}"


def _said(passed: Passed) -> str:
    parts = [_part(passed, fate, count) for fate, count in passed.fates.items()]
    if passed.others:
        parts.append(f"together with {passed.others} other{'' if passed.others == 1 else 's'} of its line")
    return ", ".join(parts)


def _part(passed: Passed, fate: str, count: int) -> str:
    after = len(passed.texts)
    if fate == "rewritten" and len(passed.fates) == 1:
        return f"rewritten {passed.before} → {after}"
    if fate in ("unrolled", "copied") and count == passed.before and after % count == 0:
        return f"{fate} ×{after // count}"
    return fate if count == passed.before else f"{count} {fate}"
