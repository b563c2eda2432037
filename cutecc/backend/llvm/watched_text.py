"""What LLVM prints while somebody watches its passes, as data: the code after each, times, what was missed.

LLVM numbers debug information and attributes anew in each text that it prints: those numbers are left out here, so that
two texts differ in what a pass changed. Where an instruction comes from, LLVM says in a comment, which becomes a place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from cutecc.errors import SourceLocation
from cutecc.record.llvm_passes import GIVEN, CodeKind, LlvmPass, MissedOptimisation
from cutecc.support.locations import Frame, Place, place_of

_EVENT = re.compile(
    r"^(?:# )?(?:\*\*\* IR Dump After (?P<dumped>\S.*) \*\*\*:?"
    r"| Running pass (?P<number>\d+) (?P<running>\S+) on .*"
    r"|(?:remark|warning): (?P<where>\S*:\d+:\d+): (?P<message>.*))$",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"(?P<title>.*) \((?P<argument>[\w-]+)\)(?: on (?P<function>.*))?")
"""Of the code generator's passes: `Register Coalescer (register-coalescer) on f`; of those on LLVM IR no `on f`."""
_DEFINE = re.compile(r'define\s[^@]*@("[^"]*"|[\w.$-]+)\(')
_MACHINE = "# Machine code for function "
_PLACE = re.compile(r" ?; ?([^;\"]*:\d+(?::\d+)?(?: @\[ .*\])?)$")
_DEBUG = re.compile(r",? ?(?:!dbg|debug-location) !\d+")
_NUMBERED = re.compile(r"(?<= )(![A-Za-z][\w.]*) !\d+|(?<=[)\w]) #\d+(?=,| \{|$)")
_FILE = re.compile(r'!DIFile\(filename: "([^"]*)", directory: "([^"]*)"')
_ROW = re.compile(r"^ +(?:\d+\.\d+ \( *[\d.]+%\) +)*?(\d+\.\d+) \( *[\d.]+%\)  (\S.*)$", re.MULTILINE)
"""Of a report of times, wall time last."""
_TELLING = {
    "GVN": re.compile(" in favor of "),
    "LICM": re.compile(""),
    "Inliner": re.compile(""),
    "AlwaysInliner": re.compile(""),
    "LoopUnroll": re.compile(""),
    "LoopFullUnroll": re.compile(""),
    "WarnMissedTransformations": re.compile("unroll"),
}
"""Of passes, which of what they could not do matters to a kernel: what stays in a loop that a thread goes through, a
loop that was to be unrolled and is not, a call, and a load again of what another load or store has at hand.

Left out: loops that are not vectorised, as threads are a GPU's vectors; all other loads that are there for the first
time; and what else LLVM's passes say of code for CPUs.
"""
REMARKS_OF = "^(gvn|licm|inline|loop-unroll|transform-warning)$"
"""The passes that are asked, as LLVM names them there."""


class Places:
    """Numbers for the places that LLVM names, by the names of files alone."""

    def __init__(self, module: str) -> None:
        """`module` is the LLVM IR, whose debug information says in which folders they are."""
        folders: dict[str, set[str]] = {}
        for name, folder in _FILE.findall(module):
            folders.setdefault(name, set()).add(f"{folder}/{name}" if folder and not name.startswith("/") else name)
        # Of two files of one name, it does not say which one it means.
        self._files = {name: paths.pop() for name, paths in folders.items() if len(paths) == 1}
        self._places: dict[Place, int] = {}
        self._numbers: dict[str, int] = {}
        self._by_frame: dict[str, int] = {}

    @property
    def table(self) -> list[Place]:
        return [*self._places]

    def number(self, text: str) -> int:
        """Of `callee.py:3:4 @[ caller.py:5 ]`; -1 for what is no place."""
        if text not in self._numbers:
            self._numbers[text] = number = self._number(text)
            self._by_frame.setdefault(text.partition(" @[ ")[0], number)
        return self._numbers[text]

    def of_frame(self, text: str) -> int:
        """Of `callee.py:3:4`, as a remark has it, which says nothing of who called; -1 where nothing is from there."""
        return self._by_frame.get(text.removesuffix(":0"), -1)

    def _number(self, text: str) -> int:
        parts = text.replace(" ]", "").split(" @[ ")
        inner, outer = self._frame(parts[0]), self._frame(parts[-1])
        if outer is None:  # whose line it is, nobody knows
            return -1
        place = place_of((outer,) if inner is None or inner == outer else (inner, outer))
        return self._places.setdefault(place, len(self._places))

    def _frame(self, text: str) -> Frame | None:
        match = re.fullmatch(r"(.*?):(\d+)(?::(\d+))?", text)
        if match is None or match[1] not in self._files or match[2] == "0":
            return None
        file, line, column = self._files[match[1]], int(match[2]), int(match[3] or 0)
        return Frame(file, line, SourceLocation.of_debug_information(file, line, column).column or 0)


@dataclass(frozen=True)
class _Text:
    """A function."""

    text: str
    """Each line ends in a newline."""
    places: list[int]


@dataclass(frozen=True)
class Heard:
    """What LLVM has told of a module."""

    passes: list[LlvmPass]
    """The first is what LLVM was given."""
    missed: list[MissedOptimisation]


def read(heard: str, places: Places, before: str, reports: Sequence[str]) -> Heard:
    """The passes that changed something, and what was missed, in what LLVM has printed.

    `before` is the module that it was given, and `reports` are its reports of times: of each pass manager that ran, and
    last of the code generator.
    """
    reader = _Reader(places, before, [_seconds(report) for report in reports])
    for event, text in _events(heard):
        if event["running"]:
            reader.begin(event["running"], int(event["number"]))
        elif event["message"]:
            reader.hear(event["where"], event["message"])
        else:
            reader.look(event["dumped"], text)
    return Heard(_selectable(reader.passes), _merged(reader.missed))


def _events(heard: str) -> Iterator[tuple[re.Match[str], str]]:
    """What LLVM tells, each with the text up to the next."""
    event = None
    for following in _EVENT.finditer(heard):
        if event:
            yield event, heard[event.end() + 1 : following.start()]
        event = following
    if event:
        yield event, heard[event.end() + 1 :]


class _Reader:
    """Follows the code through the passes."""

    def __init__(self, places: Places, before: str, seconds: list[dict[str, float]]) -> None:
        self._places = places
        self._seconds = seconds
        self._functions = dict(_functions(before, places))
        self._machine: dict[str, _Text] = {}
        self._running = ""
        self._manager = -1
        self._runs = Counter[str]()
        self._was_loop = False
        given = _joined(self._functions.values())
        self.passes = [LlvmPass(GIVEN, "", "llvm-ir", None, None, *given)]
        self._heard = Counter[MissedOptimisation]()
        """By the run of the pass that runs."""
        self.missed: dict[MissedOptimisation, int] = {}
        """How often each was said in one run, at most: many passes run again, and meet what they have met."""

    def begin(self, title: str, number: int) -> None:
        """A pass of a pass manager runs, as its `number`th, from 1."""
        if number == 1:
            self._manager += 1
            self._runs.clear()
        self._running = title
        self._runs[title] += 1
        self._heard.clear()

    def hear(self, where: str, message: str) -> None:
        """The pass that runs says that it could not do something."""
        name = self._running.removesuffix("Pass")
        if is_telling(name, message):
            missed = MissedOptimisation(name, message, self._places.of_frame(where))
            self._heard[missed] += 1
            self.missed[missed] = max(self.missed.get(missed, 0), self._heard[missed])

    def look(self, dumped: str, text: str) -> None:
        """LLVM has printed the code after a pass."""
        of_codegen = _ARGUMENT.fullmatch(dumped)
        if of_codegen:
            self._running = ""
            title, name = of_codegen["title"], of_codegen["argument"]
            seconds = self._time(len(self._seconds) - 1, title)
        else:
            title = dumped.partition(" on ")[0]
            name, seconds = title.removesuffix("Pass"), self._time(self._manager, title)
        if found := dict(_machine_functions(text, self._places)):
            function, new = next(iter(found.items()))
            changed = self._machine.get(function) != new
            self._machine[function] = new
            shown = [new]
        else:
            found = dict(_functions(text, self._places))
            changed = any(self._functions.get(function) != new for function, new in found.items())
            function = next(iter(found)) if len(found) == 1 else None
            self._functions |= found
            shown = [*self._functions.values()]
        of_loop = " on loop " in dumped
        if changed:
            kind: CodeKind = "machine-ir" if function in self._machine else "llvm-ir"
            self._add(LlvmPass(name, "", kind, function, seconds, *_joined(shown)), of_loop)

    def _time(self, manager: int, title: str) -> float | None:
        """How long this run took; those of the code generator are counted here."""
        if manager == len(self._seconds) - 1:
            self._runs[title] += 1
        if not 0 <= manager < len(self._seconds):
            return None
        number = self._runs[title]
        found = self._seconds[manager]
        return found.get(f"{title} #{number}", found.get(title) if number == 1 else None)

    def _add(self, made: LlvmPass, of_loop: bool) -> None:
        """Of several runs on the loops of a function, one after the other, the last stands for all."""
        last = self.passes[-1] if self.passes else None
        if of_loop and self._was_loop and last and (last.name, last.function) == (made.name, made.function):
            times = [each for each in (last.seconds, made.seconds) if each is not None]
            made = msgspec.structs.replace(made, seconds=sum(times) if times else None)
            self.passes.pop()
        self._was_loop = of_loop
        self.passes.append(made)


def is_telling(pass_name: str, message: str) -> bool:
    """Whether it says something of a GPU's kernel that LLVM's pass could not do something."""
    pattern = _TELLING.get(pass_name)
    return pattern is not None and pattern.search(message) is not None


def _selectable(passes: Sequence[LlvmPass]) -> list[LlvmPass]:
    """The same with selectors, as those of a pipeline's passes: `gvn#2` where there are several."""
    names = Counter(each.name for each in passes)
    seen = Counter[str]()
    found: list[LlvmPass] = []
    for each in passes:
        seen[each.name] += 1
        selector = f"{each.name}#{seen[each.name]}" if names[each.name] > 1 else each.name
        found.append(msgspec.structs.replace(each, selector=selector))
    return found


def _merged(missed: Mapping[MissedOptimisation, int]) -> list[MissedOptimisation]:
    """The same of the same place once, with all passes that said it, and how often.

    That a loop is not unrolled is left out where a pass has said why.
    """
    explained = {each.place for each in missed if each.pass_name in ("LoopUnroll", "LoopFullUnroll")}
    passes: dict[tuple[str, int], dict[str, int]] = {}
    for each, times in missed.items():
        if each.pass_name != "WarnMissedTransformations" or each.place not in explained:
            passes.setdefault((each.message, each.place), {})[each.pass_name] = times
    return [
        MissedOptimisation(", ".join(found), message, place, max(found.values()))
        for (message, place), found in passes.items()
    ]


def _seconds(report: str) -> dict[str, float]:
    """Wall time by title and number of the run, as `EarlyCSEPass #2`; that of analyses, in a report of its own, too."""
    return {name: float(seconds) for seconds, name in _ROW.findall(report)}


def _joined(functions: Iterable[_Text]) -> tuple[str, list[int]]:
    texts, places = list[str](), list[int]()
    for each in functions:
        if texts:
            texts.append("\n")
            places.append(-1)
        texts.append(each.text)
        places += each.places
    return "".join(texts), places


def _functions(text: str, places: Places) -> Iterator[tuple[str, _Text]]:
    """The functions that LLVM IR defines, by their names."""
    yield from _bodies(text, places, _defined, "}")


def _machine_functions(text: str, places: Places) -> Iterator[tuple[str, _Text]]:
    """The functions whose instructions are selected."""
    if _MACHINE in text:
        yield from _bodies(text, places, _selected, "# End machine code for function ")


def _defined(line: str) -> str | None:
    """The function that LLVM IR defines from this line on."""
    match = _DEFINE.match(line)
    return match[1].strip('"') if match else None


def _selected(line: str) -> str | None:
    """The function whose machine instructions begin with this line."""
    return line.removeprefix(_MACHINE).partition(":")[0] if line.startswith(_MACHINE) else None


def _bodies(text: str, places: Places, begins: Callable[[str], str | None], end: str) -> Iterator[tuple[str, _Text]]:
    name, lines, numbers = None, list[str](), list[int]()
    for line in text.split("\n"):
        if name is None:
            name = begins(line)
        if name is None:
            continue
        place = _PLACE.search(line)
        numbers.append(places.number(place[1]) if place else -1)
        lines.append(_plain(line[: place.start()] if place else line))
        if line.startswith(end):
            yield name, _Text("\n".join(lines) + "\n", numbers)
            name, lines, numbers = None, [], []


def _plain(line: str) -> str:
    """A line without what only numbers metadata and attributes."""
    if "!" not in line and "#" not in line:
        return line
    return _NUMBERED.sub(r"\1", _DEBUG.sub("", line))
