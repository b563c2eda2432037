"""Kernels of the repository with the wheel of this environment: what `make test-versions` runs in each of its own.

python tools/version_kernels.py                     # all kernels
python tools/version_kernels.py gemm_sm80 warp_ops  # these
python tools/version_kernels.py --write             # with the newest wheel: has the file of results say what it gives

A kernel is compiled through `nvidia`, which has to give the bytes of the wheel's single run, and through `open`, and
run on the emulator both ways, which has to give the bits that test/versions/bits.json has.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.harness.arguments import Arguments, make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.ir.version import installed_version
from cutecc.workbench.parity import ParityTask, compare

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "test" / "gpu"))
from kernels import FILES, points  # noqa: E402  # pyright: ignore[reportMissingImports]

BITS = ROOT / "test" / "versions" / "bits.json"
MOST_BYTES = 200_000
"""Of a run's tensors, where there are sizes so small."""
BLACKWELL = ROOT / "test" / "kernels" / "blackwell"
SPELLED_OTHERWISE = ("gemm_int8",)
"""Kernels for Blackwell of which releases have the same operations by other names."""
KERNELS = (*FILES, *(BLACKWELL / f"{name}.py" for name in SPELLED_OTHERWISE))
PIPELINES = ("nvidia", "open")
NOT_RUN = ("large_unrolled",)
"""What takes as long on the emulator as ten others."""


def _steps_of_pipeline_states() -> bool:
    from cutlass.pipeline import PipelineState

    return len(inspect.signature(PipelineState.advance).parameters) > len(("self", "loc", "ip"))


def _second_fast_division() -> bool:
    from cutlass import cute

    return hasattr(cute, "FastDivmodDivisorV2")


LACKING: dict[str, tuple[str, Callable[[], bool]]] = {
    "fast_division": ("there is no FastDivmodDivisorV2", _second_fast_division),
    "gemm_pingpong": ("PipelineState.advance takes no number of steps", _steps_of_pipeline_states),
}
"""What a kernel needs of the DSL and not all releases have: what is said where it is missing; whether it is there."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="file names without .py")
    parser.add_argument("--write", action="store_true", help="write the results")
    arguments = parser.parse_args()
    known: dict[str, str] = json.loads(BITS.read_text()) if BITS.exists() else {}
    files = {file.stem: file for file in KERNELS}
    failed = False
    for name in arguments.kernels or [name for name in files if name != "bring_your_own_kernel"]:
        begun = time.perf_counter()
        lacking, is_there = LACKING.get(name, ("", lambda: True))
        if not is_there():
            print(f"{name:24} left out: {lacking}")
            continue
        try:
            problems, found = _checked(files[name], None if arguments.write else known)
        except Error as failure:
            problems, found = [str(failure)], {}
        known |= found if arguments.write else {}
        failed |= bool(problems)
        print(f"{name:24} {time.perf_counter() - begun:6.1f} s  {'; '.join(problems) or 'ok'}", flush=True)
    if arguments.write:
        BITS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    sys.exit(f"nvidia-cutlass-dsl {installed_version()}: not as expected" if failed else 0)


def _checked(file: Path, known: Mapping[str, str] | None) -> tuple[list[str], dict[str, str]]:
    """What is wrong with a kernel, and its results, by kernel and pipeline; with `None` any results are right."""
    header = read_header(file)
    target = header.target or "sm_80"
    request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
    traced = trace_file(request)
    problems = list(_parity(traced, target))
    found: dict[str, str] = {}
    for pipeline in PIPELINES:
        try:
            bits = _bits(traced, header, file, target, pipeline)
        except Error as failure:
            if pipeline == "open" and "open lowering does not know" in failure.message:
                continue  # in no release
            raise
        if bits is not None:
            found[f"{file.stem} {pipeline}"] = bits
    if known is not None:
        problems += differences({key: bits for key, bits in known.items() if key.split()[0] == file.stem}, found)
    return problems, found


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Results that are not as expected, those that are missing, and those of which nothing is expected."""
    for key in sorted(expected.keys() | found.keys()):
        if key not in found:
            yield f"{key}: no results"
        elif key not in expected:
            yield f"{key}: its results are not known: --write"
        elif found[key] != expected[key]:
            yield f"{key}: other results"


def _parity(traced: TracedModule, target: str) -> Iterator[str]:
    with tempfile.NamedTemporaryFile(suffix=".mlirbc") as module:
        Path(module.name).write_bytes(traced.bytecode)
        row = compare(ParityTask(module.name, target, line_info=False))
    if row.result not in ("identical", "composite"):
        yield f"parity: {row.result} {row.message or row.diff or ''}"


def _bits(traced: TracedModule, header: Header, file: Path, target: str, pipeline: str) -> str | None:
    """The digest of what the kernel writes on the emulator; `None` of one that is not run."""
    options = CompileOptions(pipeline=pipeline, artifacts=("ptx", "cubin", "host-program"))
    kernel = cutecc.compile_module(traced.bytecode, target=target, signature=traced.signature, options=options)
    if file.stem in NOT_RUN:
        return None
    assert isinstance(kernel, cutecc.Kernel)
    arguments = _arguments(file, header)
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        kernel.emulate(**on_cpu.by_name)
        on_cpu.download()
    return hashlib.sha256(b"".join(tensor.to_bytes().tobytes() for tensor in arguments.compared)).hexdigest()[:16]


def _arguments(file: Path, header: Header) -> Arguments:
    tried = [make_arguments(header.args, header.outputs, sizes=sizes) for sizes in points(file)]
    tried.sort(key=lambda each: each.bytes)
    chosen = next((each for each in reversed(tried) if each.bytes <= MOST_BYTES), tried[0])
    chosen.randomize(1)
    return chosen


if __name__ == "__main__":
    main()
