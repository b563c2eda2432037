"""The processes that LLVM runs in: shared by threads, and replaced when they die."""

import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from cutecc.backend.llvm import generators
from cutecc.backend.llvm.generation import Job
from cutecc.backend.llvm.libdevice import libdevice
from cutecc.backend.llvm.translation import DATA_LAYOUT, SHORT_POINTERS
from cutecc.errors import ToolError
from cutecc.support.isolation import Worker

OPTIONS = ("-nvptx-short-ptr",)


def job(name: str, body: str = "") -> Job:
    text = f"{body}\ndefine ptx_kernel void @{name}() {{\n  ret void\n}}\n"
    return Job(text, "sm_80", 88, 3)


def workers() -> list[Worker]:
    pool = generators._pools[OPTIONS]
    return [worker for worker in pool._workers.values() if worker]


@pytest.mark.parametrize(("options", "layout"), [((), DATA_LAYOUT), (OPTIONS, SHORT_POINTERS)])
def test_the_data_layout_is_llvms(options: tuple[str, ...], layout: str) -> None:
    # In a process of its own, for its options are the whole process's.
    program = (
        "from cutecc.backend.llvm import generation\n"
        f"generation.start({options!r})\n"
        "print(generation._machine(generation.Job('', 'sm_90a', 88, 3)).target_data)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == layout


@pytest.mark.slow
def test_threads_share_a_process():
    names = [f"kernel_{index}" for index in range(8)]
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda name: generators.generate(OPTIONS, job(name)), names))
    for name, each in zip(names, made, strict=True):
        assert f".entry {name}()" in each.ptx
    assert len(workers()) == 1


def test_it_outlives_the_thread_that_started_it():
    thread = threading.Thread(target=generators.generate, args=(OPTIONS, job("first")))
    thread.start()
    thread.join()
    (before,) = workers()
    generators.generate(OPTIONS, job("second"))
    assert workers() == [before]


def test_one_that_was_killed_is_replaced():
    generators.generate(OPTIONS, job("before"))
    (worker,) = workers()
    worker.kill()
    assert ".entry after()" in generators.generate(OPTIONS, job("after")).ptx
    assert workers() != [worker]


# Nobody can lower this: it stands for what is not known to end the process.
ENDS = Job(
    "define ptx_kernel void @k(ptr %p) {\n"
    '  %1 = call <4096 x i32> asm "", "=r"()\n'
    "  store <4096 x i32> %1, ptr %p\n  ret void\n}\n",
    *("sm_80", 88, 3),
)


def test_what_ends_llvm_is_an_error_with_the_reason_and_no_more():
    with pytest.raises(ToolError) as caught:
        generators.generate(OPTIONS, ENDS)
    assert caught.value.message == "LLVM ended while it generated code"
    assert caught.value.notes
    assert ".entry fine()" in generators.generate(OPTIONS, job("fine")).ptx


def test_llvm_ir_that_is_wrong_is_an_error_in_llvms_words():
    with pytest.raises(ToolError, match="LLVM rejects the LLVM IR") as caught:
        generators.generate(OPTIONS, Job("define void @k() {", "sm_80", 88, 3))
    assert "expecting more instructions" in caught.value.notes[0]


def test_unknown_intrinsics_are_named_and_nothing_is_generated():
    text = (
        "declare float @llvm.nvvm.of.a.later.chip(float)\ndeclare float @llvm.log.f32(float)\n"
        "declare float @llvm.sqrt.f32(float)\n"
        "define ptx_kernel void @k(ptr %p, float %a) {\n"
        "  %1 = call float @llvm.nvvm.of.a.later.chip(float %a)\n  %2 = call float @llvm.log.f32(float %1)\n"
        "  %3 = call float @llvm.sqrt.f32(float %2)\n  store float %3, ptr %p\n  ret void\n}\n"
    )
    made = generators.generate(OPTIONS, Job(text, "sm_80", 88, 3))
    assert made.unknown == ("llvm.nvvm.of.a.later.chip", "llvm.log.f32")
    assert not made.ptx


@pytest.mark.parametrize(
    ("chip", "version"), [("sm_80", 80), ("sm_90", 88), ("sm_90a", 88), ("sm_100a", 88), ("sm_120a", 88)]
)
def test_the_ptx_is_for_the_chip(chip: str, version: int):
    ptx = generators.generate(OPTIONS, Job(job("k").text, chip, version, 3)).ptx
    assert f".version {version // 10}.{version % 10}\n.target {chip}\n" in ptx


def test_a_ptx_version_newer_than_llvms_is_llvms_newest():
    assert ".version 9.0\n" in generators.generate(OPTIONS, Job(job("k").text, "sm_80", 99, 3)).ptx


def test_a_chip_that_llvm_does_not_know_is_an_error():
    with pytest.raises(ToolError, match="LLVM 22 generates no code for sm_999"):
        generators.generate(OPTIONS, Job(job("k").text, "sm_999", 88, 3))


def test_what_one_process_optimised_another_generates_code_from():
    body = "  %1 = load i32, ptr %p\n  %2 = add i32 %1, 1\n  %3 = add i32 %2, 1\n  store i32 %3, ptr %p\n"
    text = f"define ptx_kernel void @k(ptr %p) {{\n{body}  ret void\n}}\n"
    first = generators.generate(OPTIONS, Job(text, "sm_80", 88, 3))
    other = ("-nvptx-short-ptr", "-nvptx-sched4reg")
    # Only what was optimised can have come from the text: this job's has another kernel.
    second = generators.generate(other, replace(job("another"), optimised=first.optimised))
    assert second.ptx == first.ptx
    assert re.search(r"add\.s32 .*, 2;", first.ptx)


def test_what_a_library_of_the_users_calls_of_libdevice_is_linked(tmp_path: Path):
    text = (
        "declare float @__nv_expf(float)\n"
        "define float @of_the_library(float %a) {\n  %1 = call float @__nv_expf(float %a)\n  ret float %1\n}\n"
    )
    library = tmp_path / "library.bc"
    library.write_bytes(llvm.parse_assembly(text).as_bitcode())
    kernel = (
        "declare float @of_the_library(float)\n"
        "define ptx_kernel void @k(ptr %p, float %a) {\n"
        "  %1 = call float @of_the_library(float %a)\n  store float %1, ptr %p\n  ret void\n}\n"
    )
    made = Job(kernel, "sm_80", 88, 3, libdevice=libdevice(), libraries=(str(library),))
    ptx = generators.generate(OPTIONS, made).ptx
    assert "ex2.approx" in ptx and "call" not in ptx and ".func" not in ptx
    with pytest.raises(ToolError, match="libdevice, which is not installed"):
        generators.generate(OPTIONS, replace(made, libdevice=None))


@pytest.mark.parametrize("with_code", [True, False])
def test_watching_changes_no_code(with_code: bool) -> None:
    text = """
    define ptx_kernel void @f(ptr addrspace(1) %out, i32 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %next, %loop ]
      %doubled = mul i32 %n, 2
      %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
      store i32 %doubled, ptr addrspace(1) %at
      %next = add i32 %i, 1
      %more = icmp slt i32 %next, %n
      br i1 %more, label %loop, label %end
    end:
      ret void
    }
    """
    asked = Job(text, "sm_80", 88, 3)
    made = generators.generate(OPTIONS, replace(asked, timed=True))
    watched = generators.watch(OPTIONS, asked, with_code=with_code, times=made.times)
    assert watched.ptx == made.ptx == generators.generate(OPTIONS, asked).ptx
    seconds = {each.name: each.seconds for each in watched.passes.passes}
    assert ("LICM" in seconds, "nvptx-isel" in seconds) == (with_code, with_code)
    assert not with_code or None not in (seconds["LICM"], seconds["nvptx-isel"])


def test_times_are_taken_where_they_are_asked_for_and_change_no_code() -> None:
    text = "define ptx_kernel void @f(ptr %p, i32 %n) {\n  store i32 %n, ptr %p\n  ret void\n}\n"
    job = Job(text, "sm_80", 88, 3)
    first, timed, again = (generators.generate(OPTIONS, replace(job, timed=timed)) for timed in (False, True, True))
    assert first.times == ()
    assert len(timed.times) == len(again.times) == 3
    assert first.ptx == timed.ptx == again.ptx
    rest = generators.generate(OPTIONS, replace(job, timed=True, optimised=timed.optimised))
    assert (len(rest.times), rest.ptx) == (1, first.ptx)
    assert "NVPTX" in rest.times[0]


def test_of_a_large_module_only_the_most_important_passes_are_looked_at() -> None:
    lines = "".join(f"  %{number} = add i32 %{number - 1}, 1\n" for number in range(2, 4000))
    comment = f"; {'long ' * 120_000}\n"  # which is the size of the module, and costs nothing
    body = f"  %1 = add i32 %n, 1\n{lines}  store i32 %3999, ptr %p\n  ret void\n"
    text = f"{comment}define ptx_kernel void @f(ptr %p, i32 %n) {{\n{body}}}\n"
    watched = generators.watch(OPTIONS, Job(text, "sm_80", 88, 3), with_code=True)
    names = {each.name for each in watched.passes.passes}
    assert watched.passes.partly
    assert "EarlyCSE" in names or "InstCombine" in names
    assert not names & {"GlobalOpt", "PostOrderFunctionAttrs", "IPSCCP"}


def test_what_ends_llvm_ends_no_more_while_it_is_watched() -> None:
    with pytest.raises(ToolError, match="while its passes were watched"):
        generators.watch(OPTIONS, ENDS, with_code=True)
