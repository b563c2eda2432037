"""Generating code once more while LLVM tells of its passes: what runs in a process of its own, for one job.

What LLVM prints is an option of the whole process, which stays on, and printing takes longer than what is printed. So
the code that is kept is generated in the usual process, which takes the times; here it is generated again, where a
failure of LLVM's printers loses nothing, and only once it is known which of LLVM's options gave the best code.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from cutecc.backend.llvm import generation
from cutecc.backend.llvm.generation import Job
from cutecc.backend.llvm.watched_text import REMARKS_OF, Places, read
from cutecc.record.llvm_passes import LlvmPasses

_REMARKS = ("-print-pass-numbers", f"-pass-remarks-missed={REMARKS_OF}", "-print-inst-debug-locs")
_OF_CODE_GENERATION = (
    *("nvptx-lower-args", "nvptx-lower-alloca", "infer-address-spaces", "separate-const-offset-from-gep", "slsr"),
    *("nary-reassociate", "load-store-vectorizer", "nvptx-tag-invariant-loads", "nvptx-ir-peephole", "codegenprepare"),
    "nvptx-lower-aggr-copies",
)
"""Passes on LLVM IR that belong to the code generator, which does not say what they changed: what they left is
compared here."""
_PASSES = ("-print-changed=quiet", "-print-loop-func-scope", f"-print-after={','.join(_OF_CODE_GENERATION)}")
_LARGE = 600_000
"""Characters of LLVM IR from which on only some passes are looked at: of each that is, LLVM prints the module twice."""
_OF_LARGE = (
    *("sroa", "early-cse", "instcombine", "aggressive-instcombine", "simplifycfg", "gvn", "dse", "reassociate", "sccp"),
    *("jump-threading", "correlated-propagation", "speculative-execution", "slp-vectorizer", "vector-combine"),
    *("loop-unroll", "inline", "nvptx-isel", "early-machinelicm", "machine-cse", "peephole-opt", "register-coalescer"),
    *("phi-node-elimination", "block-placement"),
)


@dataclass(frozen=True)
class Watched:
    """What came of a job that was watched."""

    ptx: str
    passes: LlvmPasses


def watch(options: tuple[str, ...], job: Job, with_code: bool, times: Sequence[str]) -> Watched:
    """Generate the PTX of `job`, and tell what LLVM did: what it missed, and `with_code` its passes too.

    `times` are LLVM's reports of the first time. Once in a process. Raises as `generation.generate`, which has made the
    same code before.
    """
    generation.start(options)
    # Before anything runs: LLVM reads it once.
    is_filtered = with_code and len(job.text) > _LARGE
    if is_filtered:
        _set(f"-filter-passes={','.join(_OF_LARGE)}")
    _set(*_REMARKS, *(_PASSES if with_code else ()))
    module = _llvm().parse_assembly(f'target triple = "{generation.TRIPLE}"\n{job.text}')
    before = str(module)
    places = Places(job.text)
    with _hearing() as heard:
        made = generation.generate(options, job)
        told = heard()
    found = read(told, places, before, times)
    passes = found.passes if with_code else []
    return Watched(made.ptx, LlvmPasses(places.table, passes, found.missed, partly=is_filtered))


def _llvm() -> Any:
    return importlib.import_module("llvmlite.binding")


def _set(*options: str) -> None:
    for option in options:
        _llvm().set_option("cutecc", option)


@contextlib.contextmanager
def _hearing() -> Generator[Callable[[], str]]:
    """What is written to standard error meanwhile, which in this process is nobody else's."""
    with tempfile.TemporaryFile() as file:
        usual = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: _read(file)
        finally:
            os.dup2(usual, 2)
            os.close(usual)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
