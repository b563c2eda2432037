"""What the prover says of kernels of others: the tables of docs/proving.md.

    cutecc prove traces/*.mlirbc --json > proofs.json
    python tools/public_proofs.py proofs.json             # prints them
    python tools/public_proofs.py proofs.json --write     # replaces them

Of each file the package is what stands before the first `-` of its name, and the kernel what stands before the target.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "proving.md"
MARKS = ("<!-- public proofs: begin -->", "<!-- public proofs: end -->")
_ANSWERS = ("proved", "refuted", "suspicious", "cannot tell")
Result = Mapping[str, Any]


def counts(results: Sequence[Result]) -> str:
    """How many kernels of each package have which answer."""
    packages: dict[str, Counter[str]] = {}
    for each in results:
        packages.setdefault(Path(each["file"]).name.partition("-")[0], Counter())[_answer(each)] += 1
    total = sum(packages.values(), Counter[str]())
    rows = [*sorted(packages.items()), ("all", total)]
    shown = [answer for answer in _ANSWERS if total[answer]]
    lines = [f"| package | kernels | {' | '.join(shown)} |", f"|---|--:|{'--:|' * len(shown)}"]
    for name, count in rows:
        lines.append(f"| {name} | {count.total()} | {' | '.join(str(count[each]) for each in shown)} |")
    return "\n".join(lines)


def reasons(results: Sequence[Result]) -> str:
    """Of what is not proved: what is said, at which line, of which kernels."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for each in results:
        if (answer := _answer(each)) != "proved":
            for what, place in _said(each):
                said.setdefault((answer, place, what), []).append(_name(each))
    lines = ["| answer | line | why | kernels |", "|---|---|---|---|"]
    for (answer, place, what), names in sorted(said.items(), key=lambda each: (-len(each[1]), each[0])):
        lines.append(f"| {answer} | {place} | {what} | {', '.join(dict.fromkeys(names))} |")
    return "\n".join(lines)


def _answer(result: Result) -> str:
    return result.get("answer", "cannot tell")


def _name(result: Result) -> str:
    return Path(result["file"]).name.rpartition(".")[0].rpartition(".")[0]


def _said(result: Result) -> Iterable[tuple[str, str]]:
    """What is wrong or not known, and where: the first thing of each kind."""
    problems = {each["kind"]: each for each in reversed(result.get("problems", []))}
    if not problems:
        yield result.get("reason") or result["error"]["message"].partition("\n")[0], _place(result.get("location"))
    for kind, each in problems.items():
        yield kind, _place(each["location"])


def _place(location: Mapping[str, Any] | None) -> str:
    return f"{Path(location['file']).name}:{location['line']}" if location else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help="replace the tables of docs/proving.md")
    arguments = parser.parse_args()
    results = [result for path in arguments.results for result in json.loads(path.read_text())]
    text = f"{counts(results)}\n\n{reasons(results)}"
    if arguments.write:
        begin, end = MARKS
        before, _, rest = PAGE.read_text().partition(begin)
        today = datetime.datetime.now(datetime.UTC).date()
        PAGE.write_text(f"{before}{begin}\nAs of {today}:\n\n{text}\n{end}{rest.partition(end)[2]}")
    else:
        print(text)


if __name__ == "__main__":
    main()
