"""What the processes of a profiled program leave behind, in one folder.

NAME.json     the samples of a process, NAME its number and a random part
CRC.cubin     code that was sampled
CRC.cutecc    the record of a kernel that cutecc compiled, as a bundle
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from cutecc.errors import Error, RecordError
from cutecc.profiling.kernels import ProfiledKernel, profiled
from cutecc.profiling.samples import Samples
from cutecc.record import Compilation
from cutecc.record.bundle import read_bundle, write_bundle
from cutecc.support.malformed import MALFORMED


def write_process(
    folder: Path, samples: Samples, cubins: Mapping[int, bytes], compilations: Mapping[int, Compilation]
) -> None:
    """Write what one process has sampled. Raises `OSError`."""
    for crc in {kernel.crc for kernel in samples.kernels}:
        # Without them there are samples still.
        with suppress(Error, OSError):
            if crc in cubins:
                _put(folder / f"{crc}.cubin", cubins[crc])
            if crc in compilations:
                write_bundle(folder / f"{crc}.cutecc", [compilations[crc]], dumps=True)
    _put(folder / f"{os.getpid()}-{secrets.token_hex(4)}.json", msgspec.json.encode(samples))


def read_processes(folder: Path) -> list[Samples]:
    """The samples of each process, the most sampled first. Raises `RecordError` for a file that is damaged."""
    found: list[Samples] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Samples))
        except (OSError, *MALFORMED) as failure:
            raise RecordError(f"{path.name} cannot be read: {failure}") from None
    return sorted(found, key=lambda each: -each.total)


def kernels_of(folder: Path, samples: Samples) -> list[ProfiledKernel]:
    """The kernels of a process with their code, as far as it is there."""
    kernels: list[ProfiledKernel] = []
    for each in samples.kernels:
        compilation, cubin = None, None
        with suppress(Error, OSError):
            compilation = read_bundle(folder / f"{each.crc}.cutecc")[0]
        with suppress(OSError):
            cubin = (folder / f"{each.crc}.cubin").read_bytes()
        try:
            kernels.append(profiled(each, compilation, cubin))
        except Error:  # a cubin that this nvdisasm does not know
            kernels.append(profiled(each, None, None))
    return kernels


def _put(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
