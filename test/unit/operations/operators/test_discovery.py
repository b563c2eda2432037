"""Which operators fit, and why others do not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from cutecc.errors import UsageError
from cutecc.operations.gemm_problem import GemmProblem
from cutecc.operations.metadata_filter import MetadataFilter
from cutecc.operations.operators import gemm_arguments
from cutecc.operations.operators.discovery import Discovery, discover, find_operator, operators_named, reasons_against
from cutecc.target import Target

SM80, SM90 = Target.parse("sm_80"), Target.parse("sm_90a")


def found(target: str, problem: str = "8x8x8:f16", where: str = "provider=cutedsl", **rest: Any) -> Discovery:
    return discover(target, GemmProblem.parse(problem), MetadataFilter.parse(where), **rest)


def test_all_of_the_package_are_known() -> None:
    nothing = GemmProblem(types=("f16", None, None))
    assert len(discover("sm_80", nothing, MetadataFilter.parse("provider=cutedsl")).fitting) == 64
    hopper = discover("sm_90a", nothing, MetadataFilter.parse("class=Sm90StaticPersistentGemmOperator"))
    # 6 results of f32 accumulators and 1 of f16; 8 layouts; 24 tiles and clusters.
    assert len(hopper.fitting) == 7 * 8 * 24
    assert hopper.newer["PersistentDenseGemmOperator"] == 100


def test_facts_are_uniform() -> None:
    (one,) = found("sm_90a", "512x512x512:f16,f16,f32:tnt", "tile=128x64x64,cluster=2x1x1,provider=cutedsl").fitting
    assert one.facts == {
        "name": one.name,
        "class": "Sm90StaticPersistentGemmOperator",
        "provider": "cutedsl",
        "targets": "sm_90a",
        **{f"{role}.{key}": value for role in ("a", "b") for key, value in (("dtype", "f16"), ("alignment", 16))},
        **{"a.layout": "row", "b.layout": "column", "out.layout": "row", "out.dtype": "f32", "out.alignment": 16},
        **{"accumulator": "f32", "instruction": "HopperWgmma", "stages": None, "epilogue": False},
        **{"tile": "128x64x64", "tile.m": 128, "tile.n": 64, "tile.k": 64},
        **{"cluster": "2x1x1", "cluster.m": 2, "cluster.n": 1, "cluster.k": 1},
    }


def test_reasons_are_counted() -> None:
    seen = found("sm_80", "104x100x96:f16:ttt")
    own = found("sm_80", "104x100x96:f16:ttt", "provider=cutecc")
    assert not seen.fitting
    assert seen.considered == own.considered
    assert seen.rejected["A is bf16, not f16"] == 64
    assert seen.rejected["B is column-major, not row-major"] > 0
    assert any("`B` is unsupported" in reason and "divisible by 8" in reason for reason in seen.rejected)
    assert own.fitting  # they take any alignment


def test_what_the_package_makes_for_arguments_alone() -> None:
    seen = found("sm_80", "64x64x64:f16,f16,f32:ttt")
    assert len(seen.fitting) == 4
    args = gemm_arguments("f16[64,64]", "f16[64,64]", "f32[64,64]")
    where = MetadataFilter.parse("provider=cutedsl")
    assert {each.name for each in discover("sm_80", None, where, arguments=args).fitting} == {
        each.name for each in seen.fitting
    }


def test_unknown_keys() -> None:
    with pytest.raises(UsageError, match=r"no metadata is called 'tiles\.m'") as caught:
        found("sm_80", where="tiles.m=3")
    assert "did you mean tile.m?" in caught.value.hints


def test_by_name() -> None:
    problem = GemmProblem.parse("4096x4096x4096:f16")
    operator, arguments = find_operator("CLUSTER2x1x1_tile128x256x64", SM90, problem)
    name = operator.metadata.operator_name
    assert name.endswith("_ttt_AFloat16_BFloat16_outFloat16_accFloat32_cluster2x1x1_tile128x256x64")
    assert arguments.problem_size == (4096, 4096, 4096, 1)
    # A whole name counts as it is, with its own layouts and types.
    other, arguments = find_operator(name.replace("_ttt_", "_nnt_").replace("outFloat16", "outFloat32"), SM90, problem)
    assert arguments.A.stride == (1, 4096) and arguments.out.tensor.dtype.width == 32
    assert other.supports(arguments, "90a")


@pytest.mark.parametrize(
    ("name", "problem", "message", "hint"),
    [
        ("tile128x256x64", "64x64x64:f16", "is part of the names of 4 operators for sm_90a", "name more of it"),
        ("Sm90Static", "60x60x60:f16", "divisible by 8", "cutecc operators --target sm_90a --dtype f16"),
        ("Sm90Static", "64x64x64:f64", "A is f16, not f64", "lists them"),
        ("Sm90Static", "64x64x64:tf32", "A is f16, not tf32", "--where multiplied=tf32"),
        ("cutecc.gemm", "64x64x64:tf32", "has 'cutecc.gemm' in its name", "--where multiplied=tf32"),
        ("Sm90Statik", "64x64x64:f16", "has 'Sm90Statik' in its name", "did you mean Sm90StaticPersistent"),
        ("PersistentDenseGemmOp", "64x64x64:f16", "PersistentDenseGemmOperator is for sm_100 and newer", None),
    ],
)
def test_names_that_are_none(name: str, problem: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        find_operator(name, SM90, GemmProblem.parse(problem))
    assert message in caught.value.message
    assert hint is None or any(hint in each for each in caught.value.hints)


def test_arguments_that_break_what_the_compiler_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little an operator asks for itself."""
    (strict,) = operators_named("ttt_AFloat16_BFloat16_outFloat16_accFloat32_tile64x64x32", SM80)
    operands = strict.metadata.operands
    free = {role: replace(getattr(operands, role), divisibility=1) for role in ("A", "B", "out")}
    lax = type(strict)(replace(strict.metadata, operands=replace(operands, **free)))
    monkeypatch.setattr("cutecc.operations.operators.discovery._candidates", lambda *_: [lax])

    def array(*shape: int) -> Any:
        return np.zeros(shape, "f2")

    a, b, out = array(64, 68), array(64, 64), array(64, 64)
    for left, reason in (
        (a[:, :64], "A: stride 68 is no multiple of 8, which the compiler would be promised"),
        (array(64, 72)[:, :64], None),
    ):
        args = gemm_arguments(left, b, out)
        assert lax.supports(args)
        seen = discover("sm_80", arguments=args)
        assert dict(seen.rejected) == ({} if reason is None else {reason: 1})
        assert len(seen.fitting) == (reason is None)
    odd = GemmProblem.parse("64x64x63:f16:ttt")
    assert reasons_against(lax, odd, MetadataFilter(), SM80) == [
        "A: extent 63 is no multiple of 8, which the compiler would be promised"
    ]


def test_all_reasons_of_one() -> None:
    problem = GemmProblem.parse("64x64x64:bf16:nnn")
    where = MetadataFilter.parse("tile.m=128,tile.n=64,stages>=9")
    (operator,) = operators_named("ttt_AFloat16_BFloat16_outFloat16_accFloat32_tile64x64x32", SM80)
    assert reasons_against(operator, problem, where, SM90) == [
        *("A is f16, not bf16", "A is row-major, not column-major"),
        *("B is f16, not bf16", "B is row-major, not column-major", "out is row-major, not column-major"),
        *("not tile.m=128", "not stages>=9"),
    ]
    assert reasons_against(operator, GemmProblem.parse("64x64x64:f16"), MetadataFilter(), SM80) == []
