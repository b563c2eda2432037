"""Every planted bug is found, as what it is and at its line; its clean twin is right, and nothing is found."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path

import marks
import pytest
from filelock import FileLock

import cutecc
from cutecc.frontend.companions import call_reference
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.on_device import compare_outputs
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.record import Remark

NAMES = [f"{path.parent.name}/{path.stem}" for path in marks.FILES]
OF_RUNS = [name for name, path in zip(NAMES, marks.FILES, strict=True) if marks.Marks.read(path).bugs]
"""The others are for `cutecc check` alone."""
CHECKS = (
    *("check-bulk-copies", "check-divergent-barriers", "check-partial-warps", "check-uninitialised-fragments"),
    *("check-barrier-bytes", "check-arrival-counts", "check-first-waits", "check-named-barriers", "check-barrier-init"),
    *("check-register-budget", "check-barrier-scopes", "check-proxy-fences", "check-tensor-memory"),
)
"""The analyses that warn of what is wrong."""
OPTIONS = cutecc.CompileOptions(
    wheel=WheelOptions(preserve_line_info=True, enable_assertions=True), analyses=CHECKS, locations=True
)
OF_LAUNCHES = replace(OPTIONS, analyses=(*CHECKS, "check-launch"), observe=True)
"""For the bugs of launches: the analysis of those needs a cubin, whose making takes longer than all the rest."""

STATIC = {
    "blackwell/columns_not_deallocated": ("check-tensor-memory", "alloc_tmem(", "64 columns", "0 deallocated"),
    "clusters/arrive_relaxed": ("check-barrier-scopes", "cluster_arrive_relaxed()", "cluster_arrive()"),
    "clusters/remote_arrive_before_init": ("check-barrier-init", "mbarrier_arrive(", "cluster_wait()"),
    "deadlocks/barrier_counts_differ": ("check-named-barriers", "barrier(barrier_id", "for 64 threads", "for 96"),
    "mbarriers/announced_by_all_lanes": ("check-barrier-bytes", "expect_tx(", "32 threads", "256 bytes each"),
    "mbarriers/announces_padding_too": ("check-barrier-bytes", "expect_tx(", "320 bytes", "announce 256 bytes"),
    "mbarriers/arrival_count_too_large": ("check-arrival-counts", "mbarrier_init(full", "64 arrivals", "2 come"),
    "mbarriers/arrival_count_too_small": ("check-arrival-counts", "mbarrier_init(full", "2 arrivals", "3 come"),
    "mbarriers/arrives_at_the_other_one": ("check-arrival-counts", "mbarrier_init(", "32 arrivals", "nobody"),
    "mbarriers/arrives_for_two": ("check-arrival-counts", "mbarrier_init(", "2 arrivals", "3 come"),
    "mbarriers/arrives_too_often": ("check-arrival-counts", "mbarrier_arrive(", "counts 3 arrivals"),
    "mbarriers/arrives_with_all_lanes": ("check-barrier-bytes", "expect_tx(", "32 threads"),
    "mbarriers/more_arrive_than_named": ("check-arrival-counts", "mbarrier_arrive(empty)", "32 threads", "2 arrivals"),
    "mbarriers/no_barrier_after_init": ("check-barrier-init", "mbarrier_arrive(full)", "warp 1 initialises"),
    "mbarriers/nobody_arrives": ("check-arrival-counts", "mbarrier_init(", "nobody arrives"),
    "mbarriers/producer_starts_with_parity_0": ("check-first-waits", "mbarrier_wait(empty", "begin with parity 1"),
    "mbarriers/second_copy_at_the_other_one": ("check-barrier-bytes", "expect_tx(", "512 bytes", "bring 256"),
    "mbarriers/second_operand_not_announced": ("check-barrier-bytes", "expect_tx(", "256 bytes", "announce 512"),
    "tma/fence_before_stores": ("check-proxy-fences", "cute.copy(store", "a bulk copy", "line 23"),
    "tma/fence_by_one_warp": ("check-proxy-fences", "cute.copy(store", "a bulk copy", "line 21"),
    "tma/stmatrix_without_fence": ("check-proxy-fences", "cute.copy(", "line 38"),
    "tma/store_without_fence": ("check-proxy-fences", "cute.copy(store", "line 21"),
    "tma/too_few_bytes": ("check-barrier-bytes", "expect_tx(full", "2,048 bytes", "announce 4,096 bytes"),
    "tma/too_many_bytes": ("check-barrier-bytes", "expect_tx(full", "4,096 bytes", "announce 2,048 bytes"),
    "tma/wrong_phase": ("check-first-waits", "mbarrier_wait(full", "takes parity 1", "parity 0"),
    "wgmma/operands_without_proxy_fence": ("check-proxy-fences", "cute.gemm(", "wgmma", "line 23"),
}
"""Of bugs that show without a run: the analysis that warns, what stands at the line that it names, and words of it."""

Twins = dict[tuple[str, bool], cutecc.Kernel]


@dataclass(frozen=True)
class Tried:
    """One run with all checks."""

    arguments: Arguments
    findings: list[marks.Finding]
    expected: list[object]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Twins:
    """All kernels, with their bug and without, compiled at once, by one process for all of pytest's workers."""
    base = tmp_path_factory.getbasetemp()
    stored = (base if worker_id == "master" else base.parent) / "twins.pickle"
    with FileLock(f"{stored}.lock"):
        if not stored.exists():
            stored.write_bytes(pickle.dumps(_compile()))
    return pickle.loads(stored.read_bytes())


def _compile() -> Twins:
    wanted = [(name, path, bug) for name, path in zip(NAMES, marks.FILES, strict=True) for bug in (True, False)]
    jobs = [
        cutecc.Job(
            str(path),
            args={"bug": f"const({bug})"},
            options=OF_LAUNCHES if path.parent.name == "launches" else OPTIONS,
        )
        for _, path, bug in wanted
    ]
    compiled: Twins = {}
    for (name, _, bug), result in zip(wanted, cutecc.compile_many(jobs), strict=True):
        if isinstance(result, cutecc.Error):
            raise result
        compiled[name, bug] = result
    return compiled


def test_there_are_enough() -> None:
    """And their marks can be read."""
    assert len(marks.FILES) >= 150
    assert sum(marks.Marks.read(path).mend is not None for path in marks.FILES) >= 65
    assert all(each.bugs or each.checks for each in map(marks.Marks.read, marks.FILES))


@pytest.mark.parametrize("name", OF_RUNS)
def test_bug(name: str, twins: Twins) -> None:
    """The findings are those that the file marks, at their lines."""
    path = marks.FOLDER / f"{name}.py"
    wanted = marks.Marks.read(path)
    problems = wanted.problems(path, _try(twins[name, True], path).findings)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", NAMES)
def test_check(name: str, twins: Twins) -> None:
    """`cutecc check` warns of what the file marks, at its line, and of nothing in the clean twin."""
    path = marks.FOLDER / f"{name}.py"
    problems = marks.Marks.read(path).check_problems(path, _warnings(twins[name, True]))
    assert not problems, "\n".join(problems)
    told = [f"{each.location}: {each.message}" for each in _warnings(twins[name, False])]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", STATIC)
def test_found_without_a_run(name: str, twins: Twins) -> None:
    """The one warning of the checks of synchronisation is of the right line, and has the right numbers."""
    path = marks.FOLDER / f"{name}.py"
    analysis, statement, *words = STATIC[name]
    found = [each for each in _warnings(twins[name, True]) if each.analysis in CHECKS[4:]]
    assert [each.analysis for each in found] == [analysis], found
    line = marks.warned_line(path, found[0])
    assert line is not None and statement in path.read_text().splitlines()[line - 1]
    assert all(each in found[0].message for each in words), found[0].message


@pytest.mark.parametrize("schedule", ["round-robin", "random", "adversarial"])
@pytest.mark.parametrize("name", NAMES)
def test_clean_twin(name: str, schedule: str, twins: Twins) -> None:
    """Nothing is found, and what the kernel writes is what the reference expects."""
    path = marks.FOLDER / f"{name}.py"
    kernel = twins[name, False]
    tried = _try(kernel, path, schedule, seed=1)
    told = [marks.describe(finding) for finding in tried.findings]
    assert not told, "\n".join(told)
    workload = kernel.compilation.workload
    assert workload is not None
    for comparison in compare_outputs(tried.arguments, tried.expected, workload, {}):
        assert comparison.ok, comparison.problems()


def _warnings(kernel: cutecc.Kernel) -> list[Remark]:
    assert all(each.failure is None for each in kernel.compilation.analyses)
    found = [each for analysis in kernel.compilation.analyses for each in analysis.remarks]
    return [each for each in found if each.severity == "warning"]


def _try(kernel: cutecc.Kernel, path: Path, schedule: str = "round-robin", seed: int = 0) -> Tried:
    """Run a kernel on the emulator, with inputs that its file describes."""
    assert kernel.signature is not None and kernel.compilation.workload is not None
    outputs = kernel.compilation.workload.outputs
    arguments = make_arguments(specs_of(kernel.signature), outputs)
    arguments.randomize(0)
    expected = call_reference(str(path), "reference", arguments.values(), [tensor.name for tensor in arguments.outputs])
    emulation = kernel.emulate(
        **arguments.mapped(lambda tensor: tensor.codes), check="all", schedule=schedule, seed=seed
    )
    return Tried(arguments, emulation.findings, expected)
