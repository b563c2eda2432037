"""Loading compiled kernels: from a bundle, or from the folder that a run has written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from cutecc.errors import RecordError, UsageError
from cutecc.kernel import Kernel, KernelSet
from cutecc.record.bundle import read_bundle
from cutecc.record.compilation import Compilation

if TYPE_CHECKING:
    from pathlib import Path


def load(path: str | Path, *, untrusted: bool = False, sha256: str | None = None) -> Kernel | KernelSet:
    """The kernel in the bundle or record folder `path`; for several targets a `KernelSet`, which picks by device.

    Needs neither the DSL nor MLIR nor a GPU. A bundle is code: loading checks that it is whole, not who made it, and
    calling the kernel runs what it holds. `sha256` says which bundle it has to be: the digest of the file, as
    `sha256sum` prints it. An `untrusted` kernel runs on the emulator alone, in a process that can do nothing else,
    within `cutecc.STRICT_LIMITS`; `docs/security.md` says what that promises.

    Raises `RecordError` for what is damaged, unfinished, newer, another file or no record, and `UsageError` for a
    digest that is none, or of a folder, and a path that is none.
    """
    if not isinstance(cast(object, path), str | os.PathLike):
        raise UsageError(f"a bundle or record folder is named by its path, not by {path!r}")
    if os.path.isdir(path):
        if sha256 is not None:
            raise UsageError(f"{path} is a folder, and sha256= is of a bundle", hints=["kernel.save(FILE) makes one"])
        compilations = _read_folders(path)
    else:
        compilations = read_bundle(path, sha256=sha256)
    for compilation in compilations:
        if compilation.status not in ("ok", "stopped"):
            raise RecordError(
                f"{path}: the compilation for {compilation.target} "
                f"{'is still running' if compilation.status == 'running' else f'has status {compilation.status}'}",
                hints=["compile the kernel again"],
            )
    if untrusted:
        from cutecc.emulator.untrusted.confinement import confinement

        confinement.start()
    kernels = {compilation.target: Kernel(compilation, untrusted) for compilation in compilations}
    return KernelSet(kernels) if len(kernels) > 1 else kernels[compilations[0].target]


def include_path() -> Path:
    """The folder of `cutecc_bundle.h`, with which C and C++ read bundles: for a compiler's `-I`."""
    from pathlib import Path

    import cutecc.runtime

    return Path(cutecc.runtime.__path__[0]) / "include"


def _read_folders(place: str | Path) -> list[Compilation]:
    """The record in the folder `place`, or those below it: what a run for several targets writes."""
    from pathlib import Path

    from cutecc.record.assembly import check_assembly
    from cutecc.record.folder import folders_of_records, read_folder

    path = Path(place)
    folders = folders_of_records(path, "*")
    compilations = [read_folder(folder) for folder in folders or [path]]
    for compilation in compilations:
        check_assembly(compilation, str(compilation.read_from))
    if len({compilation.name for compilation in compilations}) > 1:
        raise RecordError(f"{path} holds records of several kernels", hints=[f"name one of them: {folders[0]}"])
    if len({compilation.target for compilation in compilations}) < len(compilations):
        raise RecordError(f"{path} holds several records for one target", hints=[f"name one of them: {folders[0]}"])
    return compilations
