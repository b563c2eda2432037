"""Everything in cutecc that writes files, in runs of milliseconds, and what has to hold whenever one is cut off."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cutecc.cache import cache_file
from cutecc.cache.entries import decode, encode
from cutecc.cache.store import Store
from cutecc.cli.files import read_arrays, save_arrays
from cutecc.cli.main import main
from cutecc.errors import Error, RecordError
from cutecc.operations import winners
from cutecc.operations.winners import Winner
from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.bundle import read_bundle, write_bundle
from cutecc.record.counters import KeptCounters, LineCounts, keep_counters, read_counters
from cutecc.record.folder import RecordFolder, read_folder
from cutecc.record.stages import StageWriter, create, stages_of
from cutecc.report.writing import encode_report, write_report
from cutecc.watching import folder as watch_folder
from cutecc.watching.index import index_data, write_index
from cutecc.watching.journal import Journal
from cutecc.watching.recording import Recording, read
from cutecc.workbench.plan import Plan, PlannedKernel, read_plan, write_plan
from cutecc.workbench.reduction.output import Origin, Output

ENTRY = f"{'1' * 64}.record"
_GENERATIONS = ("old", "new")


@dataclass(frozen=True)
class Action:
    """Something that writes below a folder."""

    name: str
    act: Callable[[Path, str], Any]
    """Writes the generation `old` or `new`. Raises `Error`; some `OSError`, as they say."""
    look: Callable[[Path], str | None]
    """Which generation cutecc finds there; `None` when it finds none, or refuses what there is as damaged."""
    survives: bool = True
    """Whether a failure leaves the old generation, not none."""
    lasts: bool = True
    """Whether it is synced, so that it survives a loss of power as it does a failure."""
    raises: tuple[type[Exception], ...] = (Error,)


def _text(generation: str) -> bytes:
    return f"// {generation}\n".encode() * 3000


def _generation(data: bytes | None) -> str | None:
    if data is None:
        return None
    found = [each for each in _GENERATIONS if data == _text(each)]
    assert found, f"neither old nor new: {data[:100]!r} and so on, {len(data)} bytes"
    return found[0]


def _compilation(generation: str) -> Compilation:
    made = Compilation("k", "sm_80" if generation == "old" else "sm_90", "cse", Versions("0", "3", "4.8.1", "built in"))
    made.artifacts = [Artifact("ptx", "k.ptx"), Artifact("cubin", "k.cubin")]
    made.files = {"k.ptx": _text(generation), "k.cubin": _text(generation)}
    return made


def _write_record(root: Path, generation: str) -> None:
    folder = RecordFolder(root / "record")
    try:
        compilation = _compilation(generation)
        folder.save(Compilation(compilation.name, compilation.target, compilation.pipeline, compilation.versions))
        stages = folder.reserve("k.stages")
        try:
            create(stages)
            with contextlib.closing(StageWriter(stages)) as writer:
                writer.add_stage(0, f"module @{generation} {{\n}}\n", [None, None])
        except OSError as failure:  # as its callers do
            raise RecordError(f"cannot write {stages}: {failure.strerror}") from None
        compilation.artifacts.append(Artifact("stages", "k.stages"))
        folder.save_progress(compilation)
        compilation.status = "ok"
        folder.save(compilation)
    finally:
        folder.close()


def _record(root: Path) -> str | None:
    try:
        record = read_folder(root / "record")
        if record.status == "running":
            return None
        generation = "old" if record.target == "sm_80" else "new"
        assert _generation(record.artifact("ptx")) == _generation(record.artifact("cubin")) == generation
        assert stages_of(record).after(0).text == f"module @{generation} {{\n}}\n"
    except RecordError:
        return None
    return generation


def _bundle(root: Path) -> str | None:
    try:
        (record,) = read_bundle(root / "k.cutecc")
    except RecordError:
        return None
    return _generation(record.artifact("ptx"))


def _ok(generation: str) -> Compilation:
    compilation = _compilation(generation)
    compilation.status = "ok"
    return compilation


def _report(root: Path) -> str | None:
    try:
        data = (root / "k.html").read_bytes()
    except FileNotFoundError:
        return None
    return next(each for each in _GENERATIONS if data == encode_report(_ok(each)))


def _keep(root: Path, generation: str) -> None:
    if not (root / "record" / "manifest.json").exists():
        _write_record(root, "old")
    keep_counters(root / "record", KeptCounters(generation, [LineCounts("k", "k.py", 1, {})]))


def _counters(root: Path) -> str | None:
    try:
        found = read_counters(read_folder(root / "record"))
    except RecordError:
        return None
    return found.title if found else None


def _write_index(root: Path, generation: str) -> None:
    write_index(root, index_data(Recording(root), [], {"command": generation, "status": 0, "ended": ""}))


def _index(root: Path) -> str | None:
    try:
        return json.loads((root / "index.json").read_bytes())["program"]["command"]
    except FileNotFoundError:
        return None


def _write_journal(root: Path, generation: str) -> None:
    journal = Journal(str(root / "seen"))
    try:
        journal.write("note", message=generation)
        journal.keep(f"{'0' * 32}.mlirbc", _text("old"))
    finally:
        # It is open as long as its process lives.
        journal._folder.close()
        if journal._file >= 0:
            os.close(journal._file)


def _journal(root: Path) -> str | None:
    try:
        recording = read(root / "seen")
    except RecordError:
        return None
    with contextlib.suppress(RecordError):
        _generation(recording.module("0" * 32))
    notes = [note for note in recording.notes if "cannot be read" not in note]
    assert {*notes} <= {*_GENERATIONS}
    return notes[-1] if notes else None


def _prepare(root: Path, generation: str) -> None:
    watch_folder.prepare(root / "seen")


def _winner(generation: str) -> Winner:
    return Winner("a", generation, "", msgspec.Raw(b"{}"), 1.0, (1, 1, 1, 1), 1, "")


def _remember(root: Path, generation: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winners, "_folder", lambda: root / "tuned")
        winners.remember("key", _winner(generation))


def _remembered(root: Path) -> str | None:
    try:
        return msgspec.json.decode((root / "tuned" / "key.json").read_bytes(), type=Winner).asked
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _save(root: Path, generation: str) -> None:
    save_arrays(root / "x.npz", {"x": np.full(1000, _GENERATIONS.index(generation))})


def _saved(root: Path) -> str | None:
    if not (root / "x.npz").exists():
        return None
    values = read_arrays(root / "x.npz")["x"]
    assert values.shape == (1000,)
    assert len({*values}) == 1
    return _GENERATIONS[values[0]]


def _reduce(root: Path, generation: str) -> None:
    Output(root / "out.mlir", Origin("a", "b")).write(_text(generation).decode())


def _reduced(root: Path) -> str | None:
    found = Output(root / "out.mlir", Origin("a", "b")).earlier()
    return _generation(found.partition(b"\n")[2]) if found else None


def _write_plan(root: Path, generation: str) -> None:
    write_plan(root, Plan([PlannedKernel(generation, "", "", [])]))


def _plan(root: Path) -> str | None:
    try:
        return read_plan(root).kernels[0].name
    except RecordError:
        return None


def _put(root: Path, generation: str) -> None:
    Store(root / "v1", 150_000).put(ENTRY, _text(generation))


def _get(root: Path) -> str | None:
    return _generation(Store(root / "v1", 150_000).get(ENTRY))


def _cache(root: Path, generation: str) -> Store:
    """A cache with one kernel."""
    store = Store(root / generation / "v1", 150_000)
    store.put(ENTRY, encode(_ok(generation), ENTRY, "", ("ptx", "cubin"), own_warnings=0))
    return store


def _export(root: Path, generation: str) -> None:
    kernel = cache_file.portable(_cache(root.with_name(f"{root.name}-from"), generation), ENTRY.partition(".")[0])
    assert kernel is not None
    cache_file.write(root / "k.cache", [kernel])


def _exported(root: Path) -> str | None:
    try:
        ((kernel,), refused) = cache_file.read(root / "k.cache")
    except RecordError:
        return None
    assert refused == []
    return _generation(kernel.stored.record.artifact("ptx"))


def _import(root: Path, generation: str) -> None:
    file = root.with_name(f"{root.name}-of-{generation}")
    kernel = cache_file.portable(_cache(file / "from", generation), ENTRY.partition(".")[0])
    assert kernel is not None
    cache_file.write(file / "k.cache", [kernel])
    Store(root / "v1", 150_000).remove(ENTRY)
    cache_file.keep(Store(root / "v1", 150_000), cache_file.read(file / "k.cache")[0])


def _imported(root: Path) -> str | None:
    content = Store(root / "v1", 150_000).get(ENTRY)
    return _generation(decode(content).record.artifact("ptx")) if content else None


def command(*words: str) -> None:
    """Run `cutecc` in this process. Raises `Error` with what it says when it fails, which has to be one message."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        patch.setattr(sys, "argv", ["cutecc", *words])
        patch.setattr(sys, "stdin", io.StringIO())
        try:
            main()
        except SystemExit as end:
            text = said.getvalue()
            assert "Traceback" not in text, text
            assert "internal error" not in text, text
            if end.code:
                assert text.count("error: ") == 1, text
                raise Error(text) from None


def _clear(root: Path, generation: str) -> None:
    _put(root, "old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTECC_CACHE_DIR", str(root))
        command("cache", "clear")


def _draw(root: Path, generation: str) -> None:
    command("layout", f"({8 if generation == 'old' else 4},2):(1,8)", "-o", str(root / "x.svg"))


def _drawn(root: Path) -> str | None:
    if not (root / "x.svg").exists():
        return None
    text = (root / "x.svg").read_text()
    assert text.endswith("</svg>\n") or text.endswith("</svg>")
    return "old" if "(8,2)" in text else "new"


def _report_command(root: Path, generation: str) -> None:
    if not (root / "record" / "manifest.json").exists():
        _write_record(root, "old")
    command("report", str(root / "record"), "-o", str(root / "r.html"))


def _report_of_command(root: Path) -> str | None:
    if not (root / "r.html").exists():
        return None
    assert (root / "r.html").read_text().endswith("</html>\n")
    return "new"


ACTIONS = {
    action.name: action
    for action in (
        Action("cache put", _put, _get),
        Action("cache clear", _clear, lambda root: None, survives=False),
        Action("cache export", _export, _exported),
        Action("cache import", _import, _imported, survives=False),
        Action("record", _write_record, _record, survives=False),
        Action("bundle", lambda root, each: write_bundle(root / "k.cutecc", [_ok(each)]), _bundle),
        Action("report", lambda root, each: write_report(_ok(each), root / "k.html"), _report),
        Action("report command", _report_command, _report_of_command, survives=False),
        Action("run --keep", _keep, _counters, survives=False),
        Action("run --save", _save, _saved),
        Action("watch index", _write_index, _index),
        Action("watch folder", _prepare, lambda root: None, survives=False),
        Action("watched program", _write_journal, _journal, lasts=False, raises=(OSError,)),
        Action("autotune", _remember, _remembered),
        Action("reduce", _reduce, _reduced),
        Action("diff-test plan", _write_plan, _plan),
        Action("layout -o", _draw, _drawn),
    )
}


def leftovers(root: Path) -> list[str]:
    """Names of files that are being written, or were."""
    return [os.path.relpath(path, root) for path in root.rglob("*") if "partial" in path.name]
