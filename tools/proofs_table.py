"""What the prover says of the kernels of this repository: a table.

    python tools/proofs_table.py              # prints the table of docs/proving.md
    python tools/proofs_table.py --write      # replaces it

Kernels without a loop over a number of the launch and without mbarriers are proved at once, and left out. The status is
1 where an answer is another one than `test/unit/proving/answers.py` expects.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from cutecc.cli.inputs import KernelFile, choose
from cutecc.compilation.from_file import trace_apart
from cutecc.config import Settings
from cutecc.proving.modules import prove_apart
from cutecc.proving.proof import Proof

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "proving.md"
MARKS = ("<!-- proofs: begin -->", "<!-- proofs: end -->")
SECONDS = 100.0
"""For each kernel, at most."""


@dataclass(frozen=True)
class Said:
    """What is said of a file's kernels."""

    answer: str
    why: str = ""
    """The kinds of what is wrong and at which lines, a reason, or the precondition."""

    def __str__(self) -> str:
        return f"{self.answer}: {self.why}" if self.why else self.answer


def said_of(name: str, seconds: float = SECONDS) -> Said:
    """What is said of the kernels of a file, by its path in the repository: the worst of them."""
    from dataclasses import replace

    chosen = choose(str(ROOT / name), (), None, None, Settings.from_environment())
    assert isinstance(chosen, KernelFile)
    target = chosen.targets[0]
    traced = trace_apart(replace(chosen.request, target=target.name, locations=True))
    return worst([_said(each) for each in prove_apart(traced.bytecode, target.name, seconds)])


def worst(said: list[Said]) -> Said:
    """That which is least proved."""
    order = ("refuted", "suspicious", "cannot tell", "proved")
    return min(said, key=lambda each: order.index(each.answer))


def _said(proof: Proof) -> Said:
    if proof.problems:
        places = [f"{each.kind} at line {each.location.line}" for each in proof.problems if each.location]
        return Said(proof.answer, ", ".join(dict.fromkeys(places)))
    if proof.reason:
        line = f" (line {proof.location.line})" if proof.location else ""
        return Said(proof.answer, proof.reason + line)
    least = ", ".join(f"{number} at least {least}" for number, least in proof.least.items())
    return Said(proof.answer, least)


def table(answers: dict[str, Said]) -> str:
    """A line for each kernel, and how many there are of each answer."""
    lines = ["| kernel | answer | what is wrong, why it cannot tell, or what a launch has to have |", "|---|---|---|"]
    lines += [f"| `{name}` | {said.answer} | {said.why} |" for name, said in answers.items()]
    counts = {said.answer: 0 for said in answers.values()}
    for said in answers.values():
        counts[said.answer] += 1
    told = ", ".join(f"{answer}: {count}" for answer, count in sorted(counts.items()))
    return "\n".join([*lines, "", f"Of {len(answers)} kernels, {told}."])


def main() -> int:
    sys.path.insert(0, str(ROOT / "test" / "unit" / "proving"))
    expected: dict[str, Said] = importlib.import_module("answers").ANSWERS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table of docs/proving.md")
    arguments = parser.parse_args()
    found = {name: said_of(name) for name in expected}
    # Their class is another module's, which has this one imported.
    others = {name: said for name, said in found.items() if str(said) != str(expected[name])}
    for name, said in others.items():
        print(f"{name}: {said}, not {expected[name]}", file=sys.stderr)
    text = table(found)
    if arguments.write:
        begin, end = MARKS
        before, _, rest = PAGE.read_text().partition(begin)
        today = datetime.datetime.now(datetime.UTC).date()
        block = f"{begin}\n{text}\n\nAs of {today}, with at most {SECONDS:.0f} s for each.\n{end}"
        PAGE.write_text(f"{before}{block}{rest.partition(end)[2] or chr(10)}")
    else:
        print(text)
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
