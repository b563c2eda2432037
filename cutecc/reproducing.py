"""Saving a reproducer for a pass that failed: the module before it, and the command that makes it fail again."""

from __future__ import annotations

import os
import pickle
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from cutecc import isolation
from cutecc.errors import Error, PassError
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.base import ModulePass
from cutecc.passes.observers import VerifyEach
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.plugins import is_from_file
from cutecc.record import Artifact, Compilation
from cutecc.record.folder import RecordFolder, file_name
from cutecc.record.reproducer import Reproducer
from cutecc.request import CompileRequest


def save(
    request: CompileRequest,
    pipeline: Pipeline,
    index: int,
    error: PassError,
    compilation: Compilation,
    folder: RecordFolder | None,
    *,
    expected: Literal["failed", "aborted"] = "failed",
) -> None:
    """Write the reproducer of the `index`-th pass (from 1), into `folder` or the system's temporary folder.

    Puts its path into `error` and its name into the record. Says in a note of `error` when the failure did not come
    back from the saved module.
    """
    try:
        # In a fresh process: what aborts after `index` passes may abort before that too.
        earlier = Pipeline(pipeline.passes[: index - 1])
        before: str = isolation.call("cutecc.reproducing:module_after", request.module, request.source, earlier)
    except (pickle.PicklingError, AttributeError, TypeError) as failure:
        error.notes.append(f"no reproducer: a pass before it cannot be sent to another process ({failure})")
        return
    except Error as failure:
        error.notes.append(f"no reproducer: the passes before it failed when run again ({failure.message})")
        return
    pass_text = str(pipeline.passes[index - 1])
    verify_each = request.options.verify_each
    reproducer = Reproducer(
        "opt",
        {"pipeline": pass_text, **({"verify-each": True} if verify_each else {})},
        expected,
        error.pass_name,
        error.message.partition("\n")[0],
        compilation.versions,
        load=_files(pipeline.passes[index - 1]),
    )
    name = f"reproducer-{index:02d}-{file_name(error.pass_name)}.mlir"
    directory = folder.path if folder else Path(tempfile.mkdtemp(prefix="cutecc-", dir=isolation.lasting_folder()))
    path = directory / name
    data = (reproducer.header(str(path)) + before).encode()
    if folder:
        folder.write(name, data)
        compilation.artifacts.append(Artifact("reproducer", name))
        if compilation.failure:
            compilation.failure = replace(compilation.failure, reproducer=name)
    else:
        path.write_bytes(data)
    error.reproducer = os.path.relpath(path) if folder else str(path)
    error.command = shlex.join(reproducer.command(error.reproducer))
    if (outcome := _outcome(data, pass_text, verify_each)) != expected:
        error.notes.append(f"the saved module does not show this failure on its own: pass {error.pass_name} {outcome}")


def _files(pass_: ModulePass) -> tuple[str, ...]:
    """The file that has to be loaded for `pass_` to be known."""
    file = sys.modules[type(pass_).__module__].__file__ if is_from_file(type(pass_).__module__) else None
    return (os.path.relpath(file),) if file else ()


def module_after(module: bytes, source: str, pipeline: Pipeline) -> str:
    """The module that `pipeline` makes of `module`, as text with its locations."""
    with fresh_context():
        parsed = parse(module, source)
        manager.run(pipeline, parsed)
        return to_text(parsed, locations=True)


def run_text(module: bytes, pass_text: str, verify_each: bool) -> None:
    """Run one pass on a module, for what comes of it."""
    with fresh_context():
        manager.run(Pipeline.parse(pass_text), parse(module), [VerifyEach()] if verify_each else [])


def _outcome(module: bytes, pass_text: str, verify_each: bool) -> str:
    try:
        isolation.call("cutecc.reproducing:run_text", module, pass_text, verify_each)
    except isolation.ProcessDied:
        return "aborted"
    except PassError:
        return "failed"
    except Error as failure:
        return f"cannot be run again ({failure.message})"
    return "succeeded"
