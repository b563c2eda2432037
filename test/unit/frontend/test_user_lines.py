"""Each operation of a trace has the user's line, and the way there is kept."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import pickle
import re
import threading
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import line_library
import line_samples
import pytest
from conftest import EXAMPLES, TracedKernels, names_in
from cutlass import cute
from cutlass._mlir import ir, passmanager

import cutecc.frontend.trace as trace_module
from cutecc.errors import TraceError
from cutecc.frontend import user_lines as lines_module
from cutecc.frontend.failures import trace_error
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace, trace_file
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.frontend.user_lines import user_lines
from cutecc.ir.located_text import separate_locations
from cutecc.record.stages import CallFrame, UserLines
from cutecc.report.comparing import Abstraction
from cutecc.support.locations import Place
from cutecc.target import Target

SM80 = Target.parse("sm_80")
SAMPLES, LIBRARY = line_samples.__file__, line_library.__file__


def number(text: str, file: str = SAMPLES) -> int:
    """The line of the first statement that begins with `text`."""
    lines = Path(file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.strip().startswith(text))


def text_of(module: TracedModule, *, locations: bool) -> str:
    with ir.Context():
        return ir.Module.parse(module.bytecode).operation.get_asm(enable_debug_info=locations)


def operations(module: TracedModule) -> list[tuple[str, Place | None]]:
    """Name and place of each operation."""
    plain = text_of(module, locations=False)
    placed = separate_locations(text_of(module, locations=True), lambda: plain)
    found: list[tuple[str, Place | None]] = []
    for line, place in zip(placed.text.splitlines(), placed.places, strict=True):
        if match := re.match(r"\s*(?:%[^=]*= )?\"?([a-z_]+\.[\w.]+)", line):
            found.append((match[1], place))
    return found


def lines_with(module: TracedModule, name: str) -> list[int]:
    """The user's lines of the operations of that name, in order."""
    return [place[-1].line for operation, place in operations(module) if operation == name and place]


@pytest.fixture(scope="module")
def traced() -> TracedModule:
    with installed("line_library.py"):
        return trace(line_samples.many_ways, "f32[?]", target=SM80)


@contextlib.contextmanager
def installed(name: str) -> Iterator[None]:
    """Has files of that name count as those of an installed package."""
    with pytest.MonkeyPatch.context() as patch:
        before = lines_module.is_installed
        patch.setattr(lines_module, "is_installed", lambda path: path.endswith(name) or before(path))
        yield


def chain(*calls: tuple[str, str]) -> list[tuple[int, str]]:
    return [(number(text), function) for text, function in calls]


def test_ways_through_functions(traced: TracedModule) -> None:
    ways = [[(frame.line, frame.function) for frame in each] for each in traced.lines.chains]
    assert (
        chain(
            ("return value + 1.0", "plus_one"),
            ("return plus_one", "twice_removed"),
            ("x[i] = (lambda", "<lambda>"),
            ("x[i] = (lambda", "many_ways_kernel"),
        )
        in ways
    )
    # The bodies of loops and branches are functions to the DSL, and not to the user.
    assert chain(("return value * 2.0", "inner"), ("x[i] = (lambda", "many_ways_kernel")) in ways
    assert chain(("value = value + 2.0", "raised"), ("x[i] = raised", "many_ways_kernel")) in ways
    recursion = chain(
        ("return value * 7.0", "recursive"),
        ("return recursive", "recursive"),
        ("return recursive", "recursive"),
        ("x[bound] = recursive", "many_ways_kernel"),
    )
    assert recursion in ways
    assert {function for way in ways for _, function in way} == {
        *("plus_one", "twice_removed", "<lambda>", "inner", "raised", "recursive", "scaled", "shifted"),
        "many_ways_kernel",
    }
    assert all(len(way) > 1 and way[-1][1] == "many_ways_kernel" for way in ways)


def test_columns_count_from_one(traced: TracedModule) -> None:
    [way] = [each for each in traced.lines.chains if each[0].function == "inner"]
    assert way[0] == CallFrame(SAMPLES, number("return value * 2.0"), 16, "inner")
    line = Path(SAMPLES).read_text().splitlines()[way[1].line - 1]
    assert line[way[1].column - 1 :].startswith("inner(x[i])")


def test_a_librarys_operation_is_at_the_users_line(traced: TracedModule) -> None:
    call = number("x[bound + 2]")
    places = {place for _, place in operations(traced) if place and place[0].file == LIBRARY}
    inner = {number("product = x * factor", LIBRARY), number("return x + factor", LIBRARY)}
    assert {place[0].line for place in places} == inner
    assert {(place[-1].file, place[-1].line, len(place)) for place in places} == {(SAMPLES, call, 2)}
    ways = [[(frame.file, frame.function) for frame in each] for each in traced.lines.chains]
    kernel = (SAMPLES, "many_ways_kernel")
    assert [(LIBRARY, "shifted"), (LIBRARY, "scaled"), kernel] in ways
    assert [(LIBRARY, "scaled"), kernel] in ways


def test_operations_without_a_line_of_the_dsls_get_one(traced: TracedModule) -> None:
    assert lines_with(traced, "scf.for") == [number("for i in range")]
    assert number("while thread < 10") in lines_with(traced, "scf.while")
    assert lines_with(traced, "scf.if")[0] == number("if i < cute.size")
    names = [name for name, _ in operations(traced)]
    inside = operations(traced)[names.index("cuda.kernel") + 1 : names.index("func.func")]
    head, end = number("def many_ways_kernel"), number("x[bound + 2]")
    statements = {*range(head + 1, end + 1), *range(1, head - 2)}
    assert len(inside) > 50
    elsewhere = [
        (name, place and place[-1].line) for name, place in inside if not place or place[-1].line not in statements
    ]
    # What takes in the arguments, which the DSL does at the launch.
    launch = number("many_ways_kernel(x).launch")
    assert elsewhere == [("cute.get_iter", launch), ("cute.get_iter", launch), ("cute.get_layout", launch)]


def test_the_end_of_a_kernel(traced: TracedModule) -> None:
    """It is built when the kernel is left, at the launch, and goes with the last statement."""
    placed = separate_locations(text_of(traced, locations=True), lambda: text_of(traced, locations=False))
    ends = [
        place[-1].line
        for line, place in zip(placed.text.splitlines(), placed.places, strict=True)
        if line.strip() == "return" and place
    ]
    assert ends == [number("x[bound + 2]")]


def test_sources_are_those_that_ran(traced: TracedModule) -> None:
    assert traced.lines.sources == {file: Path(file).read_text() for file in (SAMPLES, LIBRARY)}
    assert pickle.loads(pickle.dumps(traced)).lines == traced.lines


def test_a_kernel_of_an_installed_package() -> None:
    with installed("line_library.py"):
        module = trace(line_library.library_function, "f32[?]", target=SM80)
    # There, the package is the user's: its own functions are lines to look at.
    places = [place for name, place in operations(module) if name in ("arith.mulf", "arith.addf")]
    assert [place and [frame.line for frame in place] for place in places] == [
        [number("product = x * factor", LIBRARY)],
        [number("return x + factor", LIBRARY)],
    ]


def test_methods() -> None:
    module = trace(line_samples.Scaler(), "f32[?]", target=SM80)
    [way] = module.lines.chains
    assert [frame.function for frame in way] == ["Scaler.scaled", "Scaler.kernel"]


def test_a_method_has_its_class_also_in_a_loop() -> None:
    module = trace(line_samples.Inherited(), "f32[?]", target=SM80)
    # Of the class that defines it; the function of the same name has none.
    assert {tuple(frame.function for frame in way) for way in module.lines.chains} == {("kernel", "Doubler.kernel")}


GENERATED = """
def make(cute, bias):
    @cute.kernel
    def kernel(x: cute.Tensor):
        x[0] = x[1] + bias

    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

    return host
"""


def test_generated_code_in_a_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "<generated kernel 7>"
    monkeypatch.setitem(linecache.cache, file, (len(GENERATED), None, GENERATED.splitlines(keepends=True), file))
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(GENERATED, file, "exec", dont_inherit=True), namespace)
    module = trace(namespace["make"](cute, 2.0), "f32[?]", target=SM80)
    assert lines_with(module, "arith.addf") == [5]
    assert module.lines == UserLines([], {file: GENERATED})


def test_without_locations_nothing_is_kept() -> None:
    assert trace(line_samples.Scaler(), "f32[?]", target=SM80, locations=False).lines == UserLines()


def test_the_module_is_the_same(traced: TracedModule) -> None:
    plain = trace(line_samples.many_ways, "f32[?]", target=SM80, locations=False)
    assert text_of(plain, locations=False) == text_of(traced, locations=False)


def distinct_operations(bytecode: bytes) -> list[str]:
    """The operations without the names of their values, those alike once, in no order that counts."""
    with ir.Context():
        module = ir.Module.parse(bytecode)
        passmanager.PassManager.parse("builtin.module(cse)").run(module.operation)
        lines = module.operation.get_asm().splitlines()
    abstraction = Abstraction(lines)
    return sorted(abstraction.of(line).key for line in lines if not line.startswith(("!", "#")))


@pytest.mark.parametrize("name", [*names_in(EXAMPLES), "control_flow", "experimental_copy", "tma_copy"])
def test_lines_change_no_operation(name: str, traced_kernels: TracedKernels) -> None:
    """The DSL keeps what it reads of a tensor by place, so that with lines it reads some things once more."""
    kernel = traced_kernels[name]
    header = read_header(kernel.source)
    request = TraceRequest(str(kernel.source), None, header.entry, header.args, kernel.target, header.arg_sources)
    plain, with_lines = trace_file(replace(request, locations=False)).bytecode, kernel.bytecode
    assert with_lines != plain
    assert distinct_operations(plain) == distinct_operations(with_lines)


def state() -> list[Any]:
    dsl: Any = importlib.import_module("cutlass._mlir_helpers.op")
    names = ("_get_caller_frame_info", "_get_location_from_frame_info")
    return [ir.OpView.__init__, *(getattr(dsl, name, None) for name in names)]


def test_everything_is_put_back() -> None:
    before = state()
    trace(line_samples.Scaler(), "f32[?]", target=SM80)
    assert state() == before
    with pytest.raises(TraceError, match="not today"):
        trace(line_samples.fails, "f32[?]", target=SM80)
    assert state() == before


def test_other_threads_are_left_alone() -> None:
    def build() -> None:
        with ir.Context() as context, ir.Location.file("own.py", 3, 4):
            context.allow_unregistered_dialects = True
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                constant = importlib.import_module("cutlass._mlir.dialects.arith").constant
                found.append(str(constant(ir.IntegerType.get_signless(32), 1).owner.location))

    found: list[str] = []
    with user_lines():
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    assert found == ['loc("own.py":3:4)']


@pytest.mark.parametrize(("step", "often"), [("_make", 1), ("_make", 2), ("_next", 2), ("_last_location", 1)])
def test_a_failure_disturbs_no_trace(step: str, often: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trace(line_samples.many_ways, "f32[?]", target=SM80)
    places = lines_module._Places  # pyright: ignore[reportPrivateUsage]
    real = getattr(places, step)
    calls = 0

    def failing(self: object, *args: object) -> object:
        nonlocal calls
        calls += 1
        if calls % often == 0:
            raise RuntimeError("lost")
        return real(self, *args)

    monkeypatch.setattr(places, step, failing)
    module = trace(line_samples.many_ways, "f32[?]", target=SM80)
    assert calls >= often
    assert text_of(module, locations=False) == text_of(expected, locations=False)
    assert module.lines.failure == "RuntimeError: lost" and expected.lines.failure is None
    assert [each.message for each in module.warnings] == ["some operations have no line of yours: RuntimeError: lost"]


def test_another_version_of_the_dsl(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(trace_module, "user_lines", lambda: contextlib.nullcontext(UserLines()))
        expected = trace(line_samples.Scaler(), "f32[?]", target=SM80)
    _rename(monkeypatch, "_is_framework_stack_frame", used_by="_find_user_frame")
    before = state()
    module = trace(line_samples.Scaler(), "f32[?]", target=SM80)
    assert (module.lines, module.warnings) == (UserLines(), ())
    assert text_of(module, locations=False) == text_of(expected, locations=False)
    assert state() == before


def test_lines_are_the_same_where_the_dsl_describes_frames_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before 4.8."""
    expected = trace(line_samples.Scaler(), "f32[?]", target=SM80)
    if hasattr(importlib.import_module("cutlass._mlir_helpers.op"), "_fast_frameinfo"):
        _rename(monkeypatch, "_fast_frameinfo", used_by="_get_caller_frame_info")
    module = trace(line_samples.Scaler(), "f32[?]", target=SM80)
    assert module.lines == expected.lines and module.lines.chains
    assert text_of(module, locations=True) == text_of(expected, locations=True)


def _rename(monkeypatch: pytest.MonkeyPatch, name: str, *, used_by: str) -> None:
    """Have a function of the DSL's be called otherwise there."""
    dsl: Any = importlib.import_module("cutlass._mlir_helpers.op")
    function = getattr(dsl, used_by)
    there = {**vars(dsl), "other": getattr(dsl, name)}
    code = function.__code__.replace(
        co_names=tuple("other" if each == name else each for each in function.__code__.co_names)
    )
    monkeypatch.setattr(dsl, used_by, types.FunctionType(code, there, function.__name__))
    monkeypatch.delattr(dsl, name)


@pytest.mark.parametrize("inner", ['"{file}":{line}:0', '"product = x * factor"("{library}":8:14)'])
def test_errors_at_a_call_site_are_at_the_users_line(inner: str) -> None:
    line = number("x[bound] = recursive")
    place = inner.format(file=SAMPLES, line=line, library=LIBRARY)
    said = f'Verification failed: error: callsite({place} at "{SAMPLES}":{line}:15): op is wrong'
    error = type("MLIRError", (Exception,), {})(said)
    found = trace_error(error, "kernel does not trace", SAMPLES)
    assert found.location is not None
    assert (found.location.file, found.location.line, found.location.column) == (SAMPLES, line, 16)
    assert "callsite" not in str(found) and "op is wrong" in str(found)
