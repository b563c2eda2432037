"""Attack cutecc with inputs that nobody means well with, until the time is over.

python tools/fuzz.py --seconds 600 --memory 2G [ptx bundles specs headers manifests]

Each input is read by a process that may take so much memory and time. It has to be taken or refused, with one of
cutecc's own errors. What gets through (another exception, an abort, too much memory or time) is made small, kept in
`test/unit/robustness/corpus`, which a test replays, and the status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fuzzing.cases import THROUGH, Case, Result, Subject, data_of, run, shrunk
from fuzzing.subjects import NAMES, SUFFIXES, Inputs, subject
from fuzzing.texts import headers_of

import cutecc
from cutecc.config import read_size
from cutecc.record.bundle import encode_bundle

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "test" / "unit" / "robustness" / "corpus"
KERNELS = (
    *("vector_copy", "block_scan", "histogram", "warp_ops", "fp8_convert", "mma_int8", "gemm_sm80", "device_print"),
    *("cluster_reduce", "tma_copy", "tma_reduce", "wgmma_registers"),
)
"""Of test/kernels: small ones, which have each kind of instruction."""
HEADER = """# cutecc: args.a = "f16[?M=64,?N{div=8}=32]:(?LDA{i64 div=8}=32,1) align=16"
# cutecc: args.b = "f16[?M,?N]"
# cutecc: args.alpha = "f32=2.0"
# cutecc: outputs = ["b"]
# cutecc: tolerance = 1e-3
# cutecc: bytes = "2 * M * N * 2"
# cutecc: flops = "M * N"
"""
_ROUND = 400
"""Cases of a subject before the next one's turn."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"what to attack: {', '.join(NAMES)}; by default all"
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long")
    parser.add_argument("--cases", type=int, help="how many of each subject, if the time suffices")
    parser.add_argument("--memory", type=size, default=size("2G"), help="of one process, beside what it starts with")
    parser.add_argument("--start", type=int, help="the number of the first case; by default another one each time")
    parser.add_argument("--bundle", type=Path, help="make inputs from this one, and compile nothing")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the folder for inputs that get through")
    options = parser.parse_args()
    if unknown := {*options.subjects} - {*NAMES}:
        parser.error(f"no subject is called {min(unknown)}: there are {', '.join(NAMES)}")
    first = int(time.time()) * 1000 if options.start is None else options.start
    end = time.monotonic() + options.seconds
    names = [name for name in NAMES if name in (options.subjects or NAMES)]
    inputs = make_inputs() if options.bundle is None else Inputs([options.bundle.read_bytes()], [HEADER])
    subjects = [subject(name, inputs) for name in names]
    counts: dict[str, Counter[Result]] = {name: Counter() for name in names}
    seen: set[tuple[str, str]] = set()
    last = first + (options.cases or sys.maxsize)
    while first < last and time.monotonic() < end:
        numbers = range(first, min(first + _ROUND, last))
        for each in subjects:
            for case in run(each, numbers, options.memory):
                counts[each.name][case.result] += 1
                if case.result in THROUGH and (each.name, case.place) not in seen:
                    seen.add((each.name, case.place))
                    tell(each, case, options.memory, options.corpus)
                if time.monotonic() > end:
                    break
        first = numbers.stop
    for name, count in counts.items():
        told = ", ".join(f"{number:,} {result}" for result, number in count.most_common())
        print(f"{name}: {count.total():,} cases: {told}")
    return 1 if seen else 0


def size(text: str) -> int:
    """The bytes that `2G` or `500M` are."""
    found = read_size(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no size")
    return found


def make_inputs(kernels: Iterable[str] = KERNELS) -> Inputs:
    """Kernels of the repository, compiled."""
    files = [ROOT / "test" / "kernels" / f"{name}.py" for name in kernels]
    compiled = cutecc.compile_many([cutecc.Job(str(file)) for file in files], workers=2)
    bundles: list[bytes] = []
    for each in compiled:
        if isinstance(each, cutecc.Error):
            raise each
        bundles.append(encode_bundle([each.compilation]))
    return Inputs(bundles, [headers_of(file.read_text()) for file in files])


def tell(attacked: Subject, case: Case, memory: int, corpus: Path) -> None:
    """Show what has got through, and keep a small input that does so too."""
    data = shrunk(attacked, data_of(attacked, case.number), case, memory)
    name = f"{hashlib.sha256(data).hexdigest()[:12]}{SUFFIXES[attacked.name]}"
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / name).write_bytes(data)
    print(f"{attacked.name} case {case.number}: {case.result}, kept as {corpus / name}\n{case.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
