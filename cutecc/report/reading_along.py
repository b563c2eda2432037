"""Reading what passes did while later ones run: half of what a report takes is done by the time that it is written."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from queue import SimpleQueue

from cutecc.record.stages import Block, Stage, Stages, read_places, read_stage
from cutecc.report.pass_effects import PassEffect, effects_of
from cutecc.support.locations import Place


class ReadingAlong:
    """What is read of a file of stages that grows, in a thread of its own."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Block | None] = SimpleQueue()
        self._read: list[Block] = []
        self._places: list[Place] = []
        self._effects: list[PassEffect] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def add(self, blocks: Iterable[Block]) -> None:
        """More of the file."""
        for block in blocks:
            self._waiting.put(block)

    def end(self) -> None:
        """That was all: wait until it is read."""
        self._waiting.put(None)
        self._thread.join()

    def effects(self, stages: Stages) -> list[PassEffect] | None:
        """What passes did, if what was read are these very stages."""
        is_whole = [effect.step for effect in self._effects] == stages.indices
        return self._effects if is_whole and self._read == _to_read(stages.blocks) else None

    def _run(self) -> None:
        try:
            self._effects += effects_of(self._stages(), self._places)
        except Exception:
            # Whoever writes the report reads the stages himself then, and says what is wrong with them.
            self._effects.clear()

    def _stages(self) -> Iterator[Stage]:
        while block := self._waiting.get():
            self._read += _to_read([block])
            if block.kind == "P":
                self._places += read_places(block)
            elif block.kind == "S":
                yield read_stage(block, len(self._places))


def _to_read(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.kind in ("P", "S")]
