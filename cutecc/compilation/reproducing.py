"""Saving what failed: a module and the command that makes it fail again, in one file.

A pass that fails is saved with the module before it. What goes wrong elsewhere, and is no mistake of the user's, is
saved with the module that was to be compiled.
"""

from __future__ import annotations

import os
import pickle
import shlex
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.compilation.versions import current_versions
from cutecc.config import Settings
from cutecc.errors import Error, InternalError, PassError, RecordError, describe
from cutecc.ir.modules import BYTECODE_MAGIC, fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.base import Pass
from cutecc.passes.instrumentation import VerifyEach
from cutecc.passes.named import NAMED
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.passes.registrations import ATOMS, definitions, is_from_file
from cutecc.passes.sources import meets_atoms
from cutecc.record import Artifact, Compilation
from cutecc.record.folder import RecordFolder, file_name
from cutecc.record.reproducer import MARK, Expected, Reproducer
from cutecc.support import isolation
from cutecc.target import Target


def save(
    request: CompileRequest,
    pipeline: Pipeline,
    index: int,
    error: PassError,
    compilation: Compilation,
    folder: RecordFolder | None,
    *,
    expected: Expected = "failed",
) -> None:
    """Write the reproducer of the `index`-th pass (from 1), into `folder` or the system's temporary folder.

    Puts its path into `error` and its name into the record. Says in a note of `error` when the failure did not come
    back from the saved module.
    """
    try:
        # In a fresh process: what aborts after `index` passes may abort before that too.
        earlier = Pipeline(pipeline.passes[: index - 1])
        before: str = isolation.call(
            "cutecc.compilation.reproducing:module_after", request.module, request.source, earlier
        )
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
    )
    name = f"reproducer-{index:02d}-{file_name(error.pass_name)}.mlir"
    load = _files(pipeline.passes[index - 1])
    data = _write(reproducer, before, name, error, folder, load)
    if folder:
        compilation.artifacts.append(Artifact("reproducer", name))
        if compilation.failure:
            compilation.failure = replace(compilation.failure, reproducer=name, load=[*load])
    if (outcome := _outcome(data, pass_text, verify_each)) != expected:
        error.notes.append(f"the saved module does not show this failure on its own: pass {error.pass_name} {outcome}")


def save_whole(
    module: bytes,
    reproducer: Reproducer,
    error: Error,
    folder: RecordFolder | None = None,
    load: Sequence[str] = (),
) -> str | None:
    """Write a reproducer of `error` with the whole `module`, text or bytecode, and put its path into `error`.

    Into `folder`, or the system's temporary folder. Returns the file's name; `None` with a note of `error` where there
    can be none: a reproducer is text, and the module itself may be what cannot be read.
    """
    if module.startswith(MARK.encode()):
        return None  # it is one
    try:
        if module.startswith(BYTECODE_MAGIC):
            text: str = isolation.call("cutecc.compilation.reproducing:module_after", module, "-", Pipeline())
        else:
            text = module.decode()
        name = f"reproducer-{file_name(reproducer.pass_name or reproducer.subcommand)}.mlir"
        _write(reproducer, text, name, error, folder, load)
    except (Error, UnicodeDecodeError, OSError) as failure:
        error.notes.append(f"no reproducer: the module cannot be saved as text ({failure})")
        return None
    return name


def internal_error(failure: Exception) -> InternalError:
    """What to tell of a mistake of cutecc's own."""
    error = InternalError(
        f"internal error: {describe(failure)}",
        hints=["this is a bug in cutecc, or versions do not fit (cutecc doctor says); --debug shows where"],
    )
    error.add_note("".join(traceback.format_exception(failure)))
    return error


def spelled(pipeline: str | Pipeline, target: str) -> str:
    """A pipeline by its name or its passes: it may be in a file, which a reproducer cannot name.

    Raises `UsageError` for one that there is not.
    """
    if isinstance(pipeline, Pipeline) or pipeline in NAMED:
        return str(pipeline)
    return str(choose_pipeline(pipeline, Target.parse(target)))


def _asked_for(options: CompileOptions, target: str, planned: str | None) -> str:
    whole = not (options.edits or options.start_after or options.stop_after)
    if planned is None or (whole and options.pipeline in NAMED):
        return spelled(options.pipeline, target)
    return planned


def save_internal(
    request: CompileRequest, error: Error, pipeline: str | None, expected: Expected = "failed"
) -> str | None:
    """Save what failed for no reason of the user's, with the module that was to be compiled, into its folder.

    `pipeline` is the text of the passes that were to run; `None` where they had not been chosen yet. The file's name in
    the folder, if it is there. Raises `UsageError` for a pipeline that there is not.
    """
    chosen = request.options
    options: dict[str, str | bool | int] = {
        "target": request.target,
        "pipeline": _asked_for(chosen, request.target, pipeline),
        **({"backend": chosen.backend} if chosen.backend else {}),
        **({"opt-level": chosen.wheel.opt_level} if chosen.wheel != WheelOptions() else {}),
        **({"verify-each": True} if chosen.verify_each else {}),
    }
    reproducer = Reproducer("compile", options, expected, "", error.message.partition("\n")[0], current_versions())
    try:
        output = request.output
        is_there = output is not None and Path(request.output_handle or output).is_dir()
        folder = RecordFolder.reopen(output, request.output_handle) if output and is_there else None
    except (OSError, RecordError):
        folder = None
    name = save_whole(request.module, reproducer, error, folder, named_files())
    if folder:
        folder.close()
    return name if folder else None


def _write(
    reproducer: Reproducer, text: str, name: str, error: Error, folder: RecordFolder | None, load: Sequence[str]
) -> bytes:
    """Write the file called `name`, and put its path and command into `error`; what the file holds."""
    directory = folder.path if folder else Path(tempfile.mkdtemp(prefix="cutecc-", dir=isolation.lasting_folder()))
    path = directory / name
    data = (reproducer.header(str(path)) + text).encode()
    if folder:
        folder.write(name, data)
    else:
        path.write_bytes(data)
    error.reproducer = os.path.relpath(path) if folder else str(path)
    error.command = shlex.join(reproducer.command(error.reproducer, load))
    return data


def named_files() -> list[str]:
    """The files of `--load`, as the user has to name them here."""
    return [os.path.relpath(file) for file in Settings.from_environment().load]


def _files(pass_: Pass) -> tuple[str, ...]:
    """The files that have to be loaded for `pass_` to be known, and the rows of atoms that it may meet."""
    rows = definitions(ATOMS).values() if meets_atoms([pass_]) else ()
    modules = dict.fromkeys(each.__module__ for each in (pass_.definition, *rows))
    files = [sys.modules[module].__file__ for module in modules if is_from_file(module)]
    return tuple(os.path.relpath(file) for file in files if file)


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
        isolation.call("cutecc.compilation.reproducing:run_text", module, pass_text, verify_each)
    except isolation.ProcessDied:
        return "aborted"
    except PassError:
        return "failed"
    except Error as failure:
        return f"cannot be run again ({failure.message})"
    return "succeeded"
