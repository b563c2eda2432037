"""Texts that the compiler writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import cutecc
from cutecc.ptx.parse import parse_module
from cutecc.ptx.syntax import Address, Function, Module, Register, Symbol, Vector

KERNELS = Path(__file__).parents[2] / "kernels"


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    names = ("device_print", "inline_ptx", "cluster_reduce")
    jobs = [cutecc.Job(str(KERNELS / f"{name}.py"), target="sm_90a") for name in names]
    found: dict[str, Module] = {}
    for name, result in zip(names, cutecc.compile_many(jobs, workers=1), strict=True):
        assert not isinstance(result, cutecc.Error), result
        assert result.ptx is not None
        found[name] = parse_module(result.ptx)
    return found


def entry(module: Module) -> Function:
    (found,) = (function for function in module.functions.values() if function.is_entry)
    return found


def test_calls_of_printf(modules: dict[str, Module]) -> None:
    module = modules["device_print"]
    assert module.functions["vprintf"].is_declaration
    calls = [each for each in entry(module).instructions if each.opcode == "call"]
    assert len(calls) > 1
    assert {each.operands[1] for each in calls} == {Symbol("vprintf")}
    assert len({each.operands[2] for each in calls}) == len(calls)
    assert any((variable.initial or b"").startswith(b"row %d of %d") for variable in module.variables.values())


def test_inline_code(modules: dict[str, Module]) -> None:
    kernel = entry(modules["inline_ptx"])
    opcodes = Counter(each.opcode for each in kernel.instructions)
    assert opcodes["prmt"] == opcodes["fma"] == 4
    assert sum(name.startswith("bits") for name in kernel.registers) == 4
    (load,) = (each for each in kernel.instructions if each.name == "ld.global.cs.v4.f32")
    vector, address = load.operands
    assert isinstance(vector, Vector)
    assert isinstance(address, Address)
    assert len(vector.items) == 4


@pytest.mark.parametrize("name", ["device_print", "inline_ptx", "cluster_reduce"])
def test_everything_named_is_declared(modules: dict[str, Module], name: str) -> None:
    module = modules[name]
    kernel = entry(module)
    known = {
        *(variable.name for variable in (*kernel.parameters, *kernel.variables)),
        *(*module.variables, *module.functions, *kernel.labels),
    }
    for each in kernel.instructions:
        assert each.guard is None or kernel.registers[each.guard.register.name] == "pred"
        for operand in each.operands:
            base = operand.base if isinstance(operand, Address) else operand
            assert not isinstance(base, Symbol) or base.name in known
            assert not isinstance(base, Register) or base.name in kernel.registers
