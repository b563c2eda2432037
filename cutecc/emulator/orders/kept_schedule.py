"""One order of a launch, in a file: `cutecc sanitize --schedule replay:FILE` repeats it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cutecc import __version__
from cutecc.emulator.grid import cluster_of
from cutecc.emulator.orders.trace import Event, Process
from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.emulator.launch import Work

_FORMAT = 1
_WHO = re.compile(r"block (\d+), warp (\d+)(?: from lane (\d+))?(?:, operation (\d+)(?:, refused)?)?")


@dataclass(frozen=True)
class Step:
    """One choice."""

    process: Process
    text: str
    """What is done, for people."""

    @classmethod
    def of(cls, event: Event) -> Step:
        return cls(event.process, event.text)


@dataclass(frozen=True)
class KeptSchedule:
    """The choices of one execution of some blocks."""

    kernel: str
    digest: str
    """Of the kernel, its launch and cutecc's version: the schedule is of nothing else."""
    launch: int
    """Which launch of the call, from 0 on."""
    blocks: Sequence[int]
    """Linear indices."""
    steps: Sequence[Step]

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        steps = [{"who": _who(each.process), "does": each.text} for each in self.steps]
        found = {
            "cutecc-schedule": _FORMAT,
            "version": __version__,
            "kernel": self.kernel,
            "digest": self.digest,
            "launch": self.launch,
            "blocks": list(self.blocks),
            "order": steps,
        }
        Path(path).write_text(json.dumps(found, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> KeptSchedule:
        """Raises `UsageError` for a file that holds none."""
        try:
            found = json.loads(Path(path).read_text())
        except OSError as error:
            raise UsageError(f"cannot read the schedule {path}: {error.strerror}") from None
        except ValueError:
            raise _malformed(path) from None
        return cls._of(found, path)

    @classmethod
    def _of(cls, found: Any, path: str | Path) -> KeptSchedule:
        try:
            if found["cutecc-schedule"] != _FORMAT:
                raise UsageError(f"{path} is a schedule of another version of cutecc, {found['version']}")
            steps = [Step(_process(each["who"]), str(each["does"])) for each in found["order"]]
            blocks = [int(each) for each in found["blocks"]]
            return cls(str(found["kernel"]), str(found["digest"]), int(found["launch"]), blocks, steps)
        except (KeyError, TypeError, ValueError):
            raise _malformed(path) from None

    def check(self, work: Work, path: str) -> None:
        """Raise `UsageError` if it is of another kernel or launch, or was written by another version."""
        if self.digest != digest_of(work, self.blocks):
            raise UsageError(
                f"{path} is a schedule of another kernel, launch or version of cutecc: it was kept of {self.kernel}",
                hints=["--schedule all finds one anew"],
            )


def digest_of(work: Work, blocks: Sequence[int]) -> str:
    """Of what a schedule is of: not of the arguments, which lie elsewhere in each process."""
    launch = work.launch
    parts = [
        __version__,
        work.ptx.text,
        launch.kernel.name,
        launch.grid,
        launch.block,
        cluster_of(launch),
        launch.shared_bytes,
        list(blocks),
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _who(process: Process) -> str:
    text = f"block {process.block}, warp {process.warp}"
    if process.lane:
        text += f" from lane {process.lane}"
    if process.operation >= 0:
        text += f", operation {process.operation}{', refused' if process.answer else ''}"
    return text


def _process(text: object) -> Process:
    match = _WHO.fullmatch(cast("str", text))
    if match is None:
        raise ValueError(text)
    block, warp, lane, operation = (None if each is None else int(each) for each in match.groups())
    answer = int(match[0].endswith("refused"))
    return Process(block or 0, warp or 0, lane or 0, -1 if operation is None else operation, answer)


def _malformed(path: str | Path) -> UsageError:
    return UsageError(
        f"{path} holds no schedule", hints=["cutecc sanitize --schedule all writes one for what it finds"]
    )
