"""Each change of files in each command that writes fails once, or is the last: nothing half-written is taken for whole.

A failure is one error of cutecc's, or none where the command can do without; no file stays that is not finished, no
descriptor stays open, and the next run is right.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import attacks
from file_operations import Operation, operations_below
from power_loss import Disk
from writing_actions import ACTIONS, Action, leftovers

pytestmark = pytest.mark.slow

_CHANGES = ("open", "write", "truncate", "fsync", "replace", "unlink", "mkdir")


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _prepared(action: Action, root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    action.act(root, "old")
    return root


def _operations(action: Action, root: Path) -> list[Operation]:
    found: list[Operation] = []
    with operations_below(_prepared(action, root), found.append):
        action.act(root, "new")
    return found


def _at(number: int, kinds: tuple[str, ...], end: Callable[[Operation], None]) -> Callable[[Operation], None]:
    left = number

    def before(operation: Operation) -> None:
        nonlocal left
        if operation.kind in kinds:
            left -= 1
            if left == 0:
                end(operation)

    return before


def _check(action: Action, root: Path, where: str) -> None:
    """What is there is whole, and the next run makes it right."""
    found = action.look(root)
    allowed = ("old", "new") if action.survives else ("old", "new", None)
    assert found in allowed, f"{where}: {found}"
    wanted = _whole(action, root.with_name("whole"))
    action.act(root, "new")
    assert action.look(root) == wanted, where
    assert leftovers(root) == [], where


def _whole(action: Action, root: Path) -> str | None:
    """What is found after a run that nothing happens to."""
    _prepared(action, root)
    action.act(root, "new")
    return action.look(root)


_FAULTS: dict[str, tuple[tuple[str, ...], type[Exception], tuple[object, ...]]] = {
    "full disk": (_CHANGES, OSError, (errno.ENOSPC, os.strerror(errno.ENOSPC))),
    "broken disk": (("read", *_CHANGES), OSError, (errno.EIO, os.strerror(errno.EIO))),
    "no memory": (("read", *_CHANGES), MemoryError, ()),
}


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("name", ACTIONS)
def test_a_fault_at_each_operation(tmp_path: Path, name: str, fault: str) -> None:
    action, (kinds, error, arguments) = ACTIONS[name], _FAULTS[fault]
    count = sum(each.kind in kinds for each in _operations(action, tmp_path / "counted"))
    assert count > 2

    def fail(_: Operation) -> None:
        raise error(*arguments)

    # Every other one, and of the second fault those between: all of them in `make attacks`.
    first, step = (1, 1) if attacks(1) > 1 else (1 + [*_FAULTS].index(fault) % 2, 2)
    for number in range(first, count + 1, step):
        root = _prepared(action, tmp_path / "tried")
        before = _descriptors()
        try:
            with operations_below(root, _at(number, kinds, fail)):
                action.act(root, "new")
        except action.raises:
            pass
        except MemoryError:
            assert error is MemoryError
        assert _descriptors() == before, f"{fault} at {number}"
        assert leftovers(root) == [], f"{fault} at {number}"
        _check(action, root, f"{fault} at {number} of {count}")


@pytest.mark.parametrize("name", ACTIONS)
def test_a_kill_at_each_operation(tmp_path: Path, name: str) -> None:
    action = ACTIONS[name]
    count = sum(each.kind in _CHANGES for each in _operations(action, tmp_path / "counted"))

    def die(_: Operation) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    # Each ends a copy of this process: all of them where there is time, as in `make attacks`.
    for number in range(1, count + 1, max(1, 4 // attacks(1))):
        root = _prepared(action, tmp_path / "tried")
        child = os.fork()
        if not child:
            with operations_below(root, _at(number, _CHANGES, die)):
                action.act(root, "new")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"{number} of {count}"
        assert os.WTERMSIG(status) == signal.SIGKILL
        _check(action, root, f"killed at {number} of {count}")


@pytest.mark.parametrize("name", ACTIONS)
def test_a_loss_of_power_at_each_operation(tmp_path: Path, name: str) -> None:
    action, chance = ACTIONS[name], random.Random(28)
    root = _prepared(action, tmp_path / "tried")
    disk = Disk(root)
    after = tmp_path / "after"
    seen: set[int] = set()

    def look(operation: Operation) -> None:
        disk.done(operation)
        for state in disk.states(chance, attacks(4)):
            digest = hash(tuple(sorted(state.items())))
            if digest in seen:
                continue
            seen.add(digest)
            states.append(state)

    states: list[dict[str, bytes]] = []
    with operations_below(root, lambda _: None, look):
        action.act(root, "new")
    assert states
    for state in states:
        shutil.rmtree(after, ignore_errors=True)
        for path, content in state.items():
            (after / path).parent.mkdir(parents=True, exist_ok=True)
            (after / path).write_bytes(content)
        after.mkdir(exist_ok=True)
        found = action.look(after)
        allowed = ("old", "new") if action.survives and action.lasts else ("old", "new", None)
        assert found in allowed, f"{found} in {sorted(state)}"
