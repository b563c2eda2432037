"""Dumps of the code after LLVM's own passes, beside those of the pipeline's."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.passes.dumps import numbered
from cutecc.passes.manager import Position
from cutecc.record.folder import RecordFolder
from cutecc.record.llvm_passes import SUFFIXES, LlvmPasses
from cutecc.record.naming import file_name


def write_llvm_dumps(modules: Sequence[LlvmPasses], position: Position, folder: RecordFolder) -> None:
    """Write a file for each pass of LLVM that changed something: `49-llvm-to-binary.07-InstCombine-1.ll`, in order,
    the first, `.00-input.ll`, for what LLVM was given.

    They ran in the pass at `position`, and stand before its own dump. Raises `RecordError`.
    """
    passes = [each for module in modules for each in module.passes]
    digits = max(2, len(str(len(passes))))
    stem = numbered(position.index, position.total, position.pass_.name)
    for number, each in enumerate(passes):
        name = file_name(each.selector.replace("#", "-"))
        folder.write(f"{stem}.{number:0{digits}d}-{name}{SUFFIXES[each.kind]}", each.text.encode())
