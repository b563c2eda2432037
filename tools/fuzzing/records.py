"""Bundles and manifests that nobody means well with, and all that cutecc does with one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import Error, UsageError
from cutecc.harness.arguments import check_memory, make_arguments, specs_of
from cutecc.harness.choosing import choose_values
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.kernel import Kernel
from cutecc.record import archive, manifest
from cutecc.record.bundle import decode_bundle
from cutecc.record.compilation import Compilation
from cutecc.report.writing import encode_report
from fuzzing.changes import changed_bytes, changed_json, changed_text
from fuzzing.emulation import LIMITS
from fuzzing.ptx import Texts

_MOST = 1 << 26
"""Bytes of arguments that a kernel is run with."""

Files = list[tuple[str, bytes]]


def forged(bundle: bytes, random: Random, texts: Texts) -> bytes:
    """The bundle with some of its files changed and a hash that is right, or with some of its bytes changed."""
    if random.random() < 0.1:
        return changed_bytes(bundle, random)
    files = _unpacked(bundle)
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(files))
        name, data = files[place]
        files[place] = (name, _changed_file(name, data, random, texts))
    if random.random() < 0.05:
        place = random.randrange(len(files))
        name, data = files[place]
        renamed = changed_text(name, random)[:1000].encode("ascii", "replace").decode()
        files[place] = (renamed, data)
    return archive.pack(_hashed(files))


def _changed_file(name: str, data: bytes, random: Random, texts: Texts) -> bytes:
    if name.endswith(".json") and random.random() < 0.95:
        return changed_json(data, random)
    if name.endswith(".ptx"):
        mutant = texts.changed(data.decode(errors="replace"), random)
        return mutant.encode(errors="replace")
    return changed_bytes(data, random)


@cache
def _unpacked_once(bundle: bytes) -> tuple[tuple[str, bytes], ...]:
    entries = archive.unpack(bundle, "bundle")
    return tuple((entry.name, bundle[entry.offset : entry.offset + entry.size]) for entry in entries)


def _unpacked(bundle: bytes) -> Files:
    return [*_unpacked_once(bundle)]


def _hashed(files: Files) -> Files:
    """The files with the content hash in the first one, `bundle.json`, that docs/bundles.md describes."""
    name, index = files[0]
    try:
        digest = json.loads(index)["sha256"].encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return files
    if len(digest) != 64:
        return files
    index = index.replace(digest, b"0" * 64)
    state = hashlib.sha256()
    for each, data in [(name, index), *files[1:]]:
        state.update(each.encode(errors="replace") + b"\0" + len(data).to_bytes(8, "little") + data)
    return [(name, index.replace(b"0" * 64, state.hexdigest().encode(), 1)), *files[1:]]


def manifests_of(bundle: bytes) -> list[bytes]:
    """The manifests in a bundle."""
    return [data for name, data in _unpacked(bundle) if name.endswith("/manifest.json")]


def check_bundle(data: bytes) -> None:
    """Do with a bundle what the commands do that read one."""
    for compilation in decode_bundle(data, "kernel.cutecc"):
        use(compilation)


def check_manifest(data: bytes) -> None:
    """The same with a manifest whose record has lost its files."""
    compilation = manifest.decode(data)
    compilation.files = {}
    use(compilation)


def use(compilation: Compilation) -> None:
    """Report a record, and run its kernel on the emulator. What one of them refuses the other may take."""
    steps: Sequence[Callable[[Compilation], object]] = (encode_report, _emulate)
    refused: list[Error] = []
    for step in steps:
        try:
            step(compilation)
        except Error as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _emulate(compilation: Compilation) -> None:
    kernel, signature = Kernel(compilation), compilation.signature
    if signature is None:
        raise UsageError("no signature")
    specs = choose_values(specs_of(signature)).specs
    if check_memory(specs, {}, on_cpu=True, compared=False) > _MOST:
        raise UsageError("larger than is run here")
    outputs = compilation.workload.outputs if compilation.workload else []
    with HostMemory() as memory, memory.scope():
        arguments = DeviceArguments(make_arguments(specs, outputs), memory)
        arguments.upload()
        options = EmulatorOptions(check="bounds", blocks="0:2", limits=LIMITS)
        kernel.emulator.emulate([], arguments.by_name, options)
