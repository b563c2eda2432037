"""All orders of some blocks: dynamic partial order reduction, each order executed from the start.

Source sets with sleep sets: P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, "Optimal Dynamic Partial Order Reduction",
POPL 2014 (Algorithm 1), after C. Flanagan and P. Godefroid, POPL 2005. Of each class of equivalent orders exactly one
is executed to its end. Some more may be begun, and are abandoned where everybody sleeps: what they would come to was
executed before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cutecc.emulator.orders.dependence import Effects, depend
from cutecc.emulator.orders.director import Director
from cutecc.emulator.orders.trace import Event, Process


class Abandoned(BaseException):
    """An order that is not worth its end. No error: nobody but who explores catches it."""


@dataclass(slots=True)
class _Node:
    """A state on the way that was taken last, and what is to be done from there."""

    choice: Process
    sleep: dict[Process, Effects]
    """Who need not go next: what comes of it was explored already; with what they would do."""
    backtrack: set[Process] = field(default_factory=set[Process])
    """Who has to go next in some order."""
    done: dict[Process, Effects] = field(default_factory=dict[Process, Effects])
    """Who has, with what they did."""
    impossible: set[Process] = field(default_factory=set[Process])
    """Who was to go next, and has to wait."""


class Explorer:
    """What is left to do. Each execution is one call of `begin` and, behind it, of `end` or `abandon`."""

    def __init__(self, ask: Callable[[], None] = lambda: None) -> None:
        """`ask` is called at each choice, and may raise."""
        self._ask = ask
        self.finished = 0
        """Orders that were executed to their end."""
        self.abandoned = 0
        self.is_complete = False
        self._nodes: list[_Node] = []
        self._known = 0
        """So many choices are given at the start of the next execution."""
        self._asked: Process | None = None
        """Who was chosen last, and has come to nothing so far."""
        self._director = Director(self)

    # An execution.

    def begin(self) -> Director:
        """What directs the next order."""
        self._asked = None
        self._director = Director(self)
        return self._director

    def end(self) -> None:
        """It has run to its end."""
        self.finished += 1
        self._learn()

    def abandon(self) -> None:
        """It was abandoned."""
        self.abandoned += 1
        self._director.tell_blocked()
        self._learn()

    # The policy.

    def choose(self, position: int, offered: Sequence[Process]) -> Process | None:
        self._ask()
        asked, self._asked = self._asked, None
        if position < self._known:
            chosen = self._nodes[position].choice
            if chosen == asked or chosen._replace(answer=0) not in offered:
                self._nodes[position].impossible.add(chosen)
                raise Abandoned
            self._asked = chosen
            return chosen
        sleep = self._sleep(position)
        chosen = next((each for each in offered if each not in sleep), None)
        if chosen is None and sleep and any(each in sleep for each in offered):
            raise Abandoned
        self._asked = chosen
        return chosen

    def committed(self, event: Event) -> None:
        self._asked = None
        position, process = event.position, event.process
        if position < self._known:
            node = self._nodes[position]
        else:
            node = _Node(process, self._sleep(position), {process})
            self._nodes.append(node)
        node.done[process] = tuple(event.effects)
        if event.has_alternative:
            node.backtrack.add(process._replace(answer=1))

    def _sleep(self, position: int) -> dict[Process, Effects]:
        """Who sleeps at a state that is come to for the first time."""
        if not position:
            return {}
        node, event = self._nodes[position - 1], self._director.trace.events[position - 1]
        asleep = {**node.sleep, **node.done}
        asleep.pop(event.process, None)
        return {
            process: effects
            for process, effects in asleep.items()
            if process[:4] != event.process[:4] and not depend(effects, event.effects)
        }

    # What comes next.

    def _learn(self) -> None:
        trace = self._director.trace
        del self._nodes[max(len(trace.events), self._known) :]
        for race in trace.races:
            if race.second >= self._known - 1:
                node, initials = self._nodes[race.first], trace.initials(race)
                # Where one of them sleeps, all that comes of it was explored.
                if not any(each in node.backtrack or each in node.sleep for each in initials):
                    node.backtrack.add(initials[0])
        self._turn_back()

    def _turn_back(self) -> None:
        while self._nodes:
            node = self._nodes[-1]
            left = sorted(node.backtrack - node.done.keys() - node.sleep.keys() - node.impossible)
            if left:
                node.choice = left[0]
                self._known = len(self._nodes)
                return
            self._nodes.pop()
        self.is_complete = True
