"""Samples on the instructions and lines of a kernel, in words, on a terminal, as JSON and as a measure of a report."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
import pytest

import cutecc
from cutecc.benchmarking.results import Measurement, Rates
from cutecc.cli.console import Console
from cutecc.cli.profile_text import show
from cutecc.compilation.request import CompileOptions
from cutecc.errors import UsageError
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
from cutecc.profiling.folder import kernels_of, read_processes, write_process
from cutecc.profiling.kernels import ProfiledKernel, profiled
from cutecc.profiling.limits import fillings, limits_of
from cutecc.profiling.results import Profiled, profile_dict, write_roofline
from cutecc.profiling.samples import KernelSamples, Samples
from cutecc.report.measures import Measure
from cutecc.report.pair_profiles import pair_costs
from cutecc.report.profile_file import read_profiles
from cutecc.report.profile_measures import profile_measures
from cutecc.report.stalls import STALLS, explain
from cutecc.runtime.launch import Launch
from cutecc.runtime.timing import Samples as Times

SOFTMAX = Path(__file__).parents[3] / "examples" / "softmax.py"
CRC = 0xABCD


@pytest.fixture(scope="module")
def kernel() -> cutecc.Kernel:
    header = read_header(SOFTMAX)
    traced = trace_file(TraceRequest(str(SOFTMAX), None, header.entry, header.args, "sm_90a", header.arg_sources))
    return cutecc.compile_module(
        traced.bytecode, target="sm_90a", signature=traced.signature, options=CompileOptions(report=True)
    )


@pytest.fixture(scope="module")
def sampled(kernel: cutecc.Kernel) -> ProfiledKernel:
    """A thousand samples of each load from global memory, waiting for the one before, and one of everything else."""
    plain = profiled(KernelSamples(_symbol(kernel), CRC, {}), kernel.compilation, None)
    offsets = {
        each.offset: {"long_scoreboard": 1000} if " LDG." in f" {each.text}" else {"selected": 1}
        for each in plain.instructions
    }
    return profiled(KernelSamples(_symbol(kernel), CRC, offsets), kernel.compilation, None)


def _symbol(kernel: cutecc.Kernel) -> str:
    return kernel.compilation.resources[0].kernel


def _samples(*kernels: KernelSamples, **facts: object) -> Samples:
    return Samples("NVIDIA H200", (9, 0), 2048, 0.5, 7, [*kernels], **facts)  # type: ignore[arg-type]


def _measures(kernel: cutecc.Kernel, file: Path) -> list[Measure]:
    return profile_measures(kernel.compilation, read_profiles(file), file)


def _text(found: Profiled, capsys: pytest.CaptureFixture[str], width: int = 80, **how: object) -> list[str]:
    show(found, Console(width=width), top=3, **how)  # type: ignore[arg-type]
    return [click.unstyle(line) for line in capsys.readouterr().out.splitlines()]


def test_every_sample_is_of_one_line(sampled: ProfiledKernel) -> None:
    lines = sampled.lines()
    assert sum(line.samples for line in lines) == sampled.total
    assert [line.samples for line in lines] == sorted((line.samples for line in lines), reverse=True)
    load = next(line for line in lines if "LDG" in line.instructions[0].text)
    assert load.file == str(SOFTMAX)
    assert load.text == SOFTMAX.read_text().splitlines()[load.line - 1].strip()
    assert load.stalls[0][0] == STALLS["long_scoreboard"]


def test_the_owner_of_an_instruction_is_the_inspectors(sampled: ProfiledKernel) -> None:
    assert {each.owner for each in sampled.instructions} >= {"exact", "operands", "compiler"}


def test_a_cubin_alone_has_the_lines_of_its_table(kernel: cutecc.Kernel) -> None:
    found = profiled(KernelSamples(_symbol(kernel), CRC, {0: {"selected": 1}}), None, kernel.cubin)
    assert found.has_lines
    assert {each.owner for each in found.instructions} == {"order"}


def test_a_kernel_without_code_has_its_reasons_alone() -> None:
    found = profiled(KernelSamples("f", CRC, {0: {"selected": 1, "barrier": 3}}), None, None)
    assert (found.instructions, found.lines(), found.has_lines) == ([], [], False)
    assert found.reasons == {"barrier": 3, "selected": 1}


@pytest.mark.parametrize(
    ("reason", "instruction", "awaited", "source", "waits"),
    [
        ("long_scoreboard", "FADD R0, R1, R2", ("LDG.E R1, [R2]",), "",
         "waits for a value from global or local memory"),
        ("long_scoreboard", "@!P0 BRA `(.L)", ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2",), "",
         "waits for an mbarrier"),
        ("long_scoreboard", "@!P0 BRA `(.L)", ("@P1 SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4], R2",),
         "mbarrier_wait(full + stage, phase)", "waits for shared memory to be filled (mbarrier)"),
        ("long_scoreboard", "@!P0 BRA `(.L)", ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4], R2",),
         "pipeline.consumer_wait(state)", "waits for shared memory to be filled (mbarrier)"),
        ("long_scoreboard", "@!P0 BRA `(.L)", ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4], R2",),
         "pipeline.producer_acquire(state)", "waits for shared memory to be free (mbarrier)"),
        ("selected", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4], R2", (), "", "issues this instruction"),
        ("barrier", "WARPGROUP.DEPBAR.LE gsb0, 0x1", (), "", "waits for products of its warpgroup (wgmma)"),
        ("barrier", "BAR.SYNC.DEFER_BLOCKING 0x0", (), "", "waits at a barrier of its block"),
        ("some_new_reason", "NOP", (), "", "waits: some new reason"),
    ],
)  # fmt: skip
def test_reasons_in_words(reason: str, instruction: str, awaited: tuple[str, ...], source: str, waits: str) -> None:
    assert explain(reason, instruction, awaited=awaited, source=source).waits == waits


def test_on_a_terminal(sampled: ProfiledKernel, capsys: pytest.CaptureFixture[str]) -> None:
    found = Profiled("M=8, N=8", _samples(sampled.samples), [sampled], launches=1200)
    text = _text(found, capsys, instructions=True)
    assert text[:4] == [
        "M=8, N=8 on NVIDIA H200",
        f"{sampled.total:,} samples of 1,200 launches, one of each scheduler every 2,048 cycles",
        "",
        "softmax_kernel: 100.0% of the samples",
    ]
    first = sampled.lines()[0]
    assert text[4].endswith(f"softmax.py:{first.line}  {first.text}"[:60]) or text[4].endswith("…")
    assert any("LDG" in line and line.endswith("100.0 % long_scoreboard") for line in text), text
    assert all(len(line) <= 80 for line in text if "●" in line or line[:3].strip().isdigit())
    assert text[-1].endswith("more lines")


def test_what_was_lost_is_said(sampled: ProfiledKernel, capsys: pytest.CaptureFixture[str]) -> None:
    found = Profiled("", _samples(sampled.samples, dropped=1234, was_full=True), [sampled])
    text = "\n".join(_text(found, capsys))
    assert "dropped 1,234 samples" in text and "buffer was full" in text


def test_a_kernel_without_lines_says_why(kernel: cutecc.Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = profiled(KernelSamples("f", CRC, {0: {"selected": 1}}), None, None)
    assert "loaded before the profile began" in "\n".join(
        _text(Profiled("", _samples(unknown.samples), [unknown]), capsys)
    )


def test_as_json(sampled: ProfiledKernel, kernel: cutecc.Kernel) -> None:
    launch = Launch(kernel.host_program.kernels[0], (264, 1, 1), (128, 1, 1), 0, 0, {}, bytearray())
    times = Measurement("softmax", Times([10.0], "events", 1), Rates(4000.0, 700.0), "warm", bytes=3.2e7, flops=1e6)
    limits = limits_of(times, fillings(kernel.compilation, [launch], 132))
    found = json.loads(json.dumps(profile_dict(Profiled("M=8", _samples(sampled.samples), [sampled], limits))))
    assert found["samples"] == sampled.total == found["kernels"][0]["samples"]
    assert sum(line["samples"] for line in found["kernels"][0]["lines"]) == sampled.total
    assert found["limits"]["bound"] == "memory" and found["limits"]["percent_of_copy"] == pytest.approx(80)
    (filling,) = found["limits"]["fillings"]
    assert filling["waves"] == pytest.approx(264 / 132 / filling["blocks_per_sm"])


def test_as_a_roofline(sampled: ProfiledKernel, tmp_path: Path) -> None:
    times = Measurement("softmax", Times([10.0], "events", 1), Rates(4000.0, 700.0), "warm", bytes=3.2e7, flops=1e6)
    found = Profiled("M=8", _samples(sampled.samples), [sampled], limits_of(times, []))
    write_roofline([found], tmp_path / "softmax.svg")
    text = (tmp_path / "softmax.svg").read_text()
    assert "Roofline of NVIDIA H200" in text and "copy: 4,000 GB/s" in text and "product: 700 TFLOP/s" in text
    assert "1: M=8: 0.0312 FLOP/byte, 0.1 TFLOP/s, 80 % of its roof, limited by memory." in text
    with pytest.raises(UsageError, match="says not how many bytes"):
        write_roofline([Profiled("M=8", _samples(sampled.samples), [sampled])], tmp_path / "none.svg")


def test_the_last_wave(kernel: cutecc.Kernel) -> None:
    program = kernel.host_program
    assert program is not None
    launch = Launch(program.kernels[0], (132 * 16 * 2 + 132 * 4, 1, 1), (128, 1, 1), 0, 0, {}, bytearray())
    (filling,) = fillings(kernel.compilation, [launch], 132)
    assert filling.blocks_per_sm == 16
    assert filling.waves == pytest.approx(2.25) and filling.last_wave == pytest.approx(0.25)


def test_processes_leave_their_samples_and_code(kernel: cutecc.Kernel, sampled: ProfiledKernel, tmp_path: Path) -> None:
    other = KernelSamples("other", 5, {16: {"barrier": 2}})
    write_process(tmp_path, _samples(sampled.samples, other), {CRC: kernel.cubin}, {CRC: kernel.compilation})
    (samples,) = read_processes(tmp_path)
    mine, foreign = kernels_of(tmp_path, samples)
    assert [line.samples for line in mine.lines()] == [line.samples for line in sampled.lines()]
    assert [each.owner for each in mine.instructions] == [each.owner for each in sampled.instructions]
    assert foreign.instructions == [] and foreign.total == 2


def test_a_damaged_file_of_a_process_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "7-ab.json").write_text("{")
    with pytest.raises(cutecc.RecordError, match=r"7-ab\.json cannot be read"):
        read_processes(tmp_path)


@pytest.fixture
def file(tmp_path: Path, sampled: ProfiledKernel) -> Path:
    path = tmp_path / "softmax.json"
    samples = Samples("NVIDIA H200", (9, 0), 2048, 0.5, 7, [sampled.samples])
    path.write_text(json.dumps([profile_dict(Profiled("M=8", samples, [sampled]))]))
    return path


def test_samples_are_of_instructions_with_their_reasons(
    file: Path,
    kernel: cutecc.Kernel,
    sampled: ProfiledKernel,
) -> None:
    (measure,) = _measures(kernel, file)
    (points,) = measure.points
    assert sum(points.values) == sampled.total
    assert measure.description.title == "samples, M=8" and measure.description.is_sampled
    assert measure.description.source == "cutecc profile, softmax.json, M=8, NVIDIA H200"
    assert set(points.parts) == {"selected", "long_scoreboard"} == set(measure.description.parts)
    assert [sum(each) for each in zip(*points.parts.values(), strict=True)] == points.values


def test_a_page_has_them(file: Path, kernel: cutecc.Kernel, tmp_path: Path) -> None:
    report = cutecc.write_report(kernel, tmp_path / "page.html", _measures(kernel, file))
    assert b'data-chunk="measures"' in report.path.read_bytes()


def test_a_page_of_two_has_what_lines_cost(file: Path, kernel: cutecc.Kernel, tmp_path: Path) -> None:
    times = Measurement("softmax", Times([10.0], "events", 1), Rates(4000.0, 700.0), "warm", bytes=3.2e7, flops=1e6)
    found = json.loads(file.read_text())
    found[0]["limits"] = json.loads(msgspec.json.encode(limits_of(times, [])))
    timed = tmp_path / "timed.json"
    timed.write_text(json.dumps(found))
    ours, theirs = pair_costs((kernel.compilation, kernel.compilation), (timed, timed))
    assert ours == theirs and (ours.unit, ours.total, ours.device) == ("µs", 10.0, "NVIDIA H200")
    assert sum(each.cost for each in ours.lines) == pytest.approx(10, abs=0.01 * len(ours.lines))
    first = max(ours.lines, key=lambda each: each.cost)
    assert first.file == str(SOFTMAX) and STALLS["long_scoreboard"].waits in first.waits
    # One that nobody timed is told in shares.
    assert [each.unit for each in pair_costs((kernel.compilation, kernel.compilation), (timed, file))] == ["%", "%"]
    report = cutecc.write_pair_report(kernel, kernel, tmp_path / "pair.html", profiles=(timed, timed))
    assert b'data-chunk="a:costs"' in report.path.read_bytes()
    found[0]["title"] = "M=9"
    timed.write_text(json.dumps([*found, *found]))
    with pytest.raises(UsageError, match="no profile of the same sizes"):
        pair_costs((kernel.compilation, kernel.compilation), (timed, file))


def test_another_build_is_refused(file: Path, kernel: cutecc.Kernel) -> None:
    found = json.loads(file.read_text())
    found[0]["kernels"][0]["lines"][0]["instructions"][0]["text"] = "HFMA2 R0, R1, R2, R3"
    file.write_text(json.dumps(found))
    with pytest.raises(UsageError, match=r"is of another build of softmax_kernel: \d+ of \d+ instructions agree"):
        _measures(kernel, file)


def test_an_offset_beyond_the_code_is_another_build(file: Path, kernel: cutecc.Kernel) -> None:
    found = json.loads(file.read_text())
    found[0]["kernels"][0]["lines"][0]["instructions"][0]["offset"] = 1 << 20
    file.write_text(json.dumps(found))
    with pytest.raises(UsageError, match="is of another build"):
        _measures(kernel, file)


def test_other_kernels_and_other_files_are_refused(file: Path, kernel: cutecc.Kernel) -> None:
    found = json.loads(file.read_text())
    found[0]["kernels"][0]["symbol"] = "another"
    file.write_text(json.dumps(found))
    with pytest.raises(UsageError, match="has no samples of this record's kernels") as caught:
        _measures(kernel, file)
    assert caught.value.notes == ["it has another"]
    for text in ("", "{", "[1]", '[{"title": 1}]', "\xff"):
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(UsageError, match=r"is no profile: "):
            _measures(kernel, file)
    with pytest.raises(UsageError, match="cannot read"):
        _measures(kernel, file.with_name("nothing.json"))
