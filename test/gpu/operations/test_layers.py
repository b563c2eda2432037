"""Grouped products and convolutions on a device against float64: ragged sizes, poison, the same bits again."""

# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from device_products import ACCUMULATION, APPROXIMATE, ROUNDING, SMALLEST
from layer_cases import RESULTS, LayerCase, layer_cases

torch: Any = pytest.importorskip("torch", reason="not run: torch is not installed")

_TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "tf32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i32": torch.int32,
    "f8E4M3FN": torch.float8_e4m3fn,
}
_ALPHA, _BETA = 0.75, -1.5
_POISON = -(1 << 30)
_GUARD = 64
"""Elements around what is written."""


@dataclass
class Call:
    """Arguments in memory, and what has to come out."""

    arguments: dict[str, Any]
    outputs: list[Any]
    """The matrices or the tensor of D."""
    buffers: list[Any]
    """The memory around each."""
    expected: list[Any]
    """In float64, on the CPU."""
    magnitude: list[Any]
    """The same of absolute values: what sums may err by a part of."""

    def poison(self) -> None:
        """Make all that is written, and the memory around it, wrong."""
        for each in self.buffers:
            each.fill_(math.nan if each.is_floating_point() else _POISON)

    def bits(self) -> list[bytes]:
        """Of all memory that is written, or around that."""
        return [each.cpu().view(torch.uint8).numpy().tobytes() for each in self.buffers]


@pytest.mark.parametrize("name", layer_cases())
def test_it_agrees_with_float64(name: str, load_layer: Any, device: str) -> None:
    case, op = layer_cases()[name], load_layer(name)
    generator = np.random.default_rng(len(name))
    calls = [_grouped(case, each, device, generator) for each in _group_sizes(device)] if case.is_grouped else []
    calls += (
        [] if case.is_grouped else [_convolution(case, each, device, generator) for each in _geometries(case, device)]
    )
    options = {"device": device} if device == "cpu" else {}
    for number, call in enumerate(calls):
        call.poison()
        op.run(**call.arguments, **options)
        op.sync()
        _check(f"{name} {number}", case, call)
        if device == "cuda":
            found = call.bits()
            call.poison()
            op.run(**call.arguments)
            op.sync()
            assert call.bits() == found, f"{name} {number}: other bits the second time"


def _check(where: str, case: LayerCase, call: Call) -> None:
    dtype = RESULTS.get(case.dtype, case.dtype)
    for index, (found, exact, magnitude) in enumerate(zip(call.outputs, call.expected, call.magnitude, strict=True)):
        value = found.cpu().double()
        error = ACCUMULATION[case.dtype] * magnitude + ROUNDING[dtype] * exact.abs() + SMALLEST.get(dtype, 0.0)
        error = error + (APPROXIMATE * magnitude if case.epilogue == "bias" else 0.0)
        wrong = ~((value - exact).abs() <= error)
        assert not wrong.any(), (
            f"{where}[{index}]: {int(wrong.sum())} of {wrong.numel()} wrong, the first at "
            f"{wrong.nonzero()[0].tolist()}: {value[wrong][0]}, exactly {exact[wrong][0]}"
        )
    for buffer in call.buffers:
        poisoned = buffer.isnan() if buffer.is_floating_point() else buffer == _POISON
        stray = 2 * _GUARD - int(poisoned[:_GUARD].sum()) - int(poisoned[-_GUARD:].sum())
        assert stray == 0, f"{where}: {stray} elements written outside of D"


# Grouped products.


def _group_sizes(device: str) -> list[list[int]]:
    if device == "cpu":
        return [[8, 0, 40]]
    # Multiples of 8 are what matrices that are contiguous along what varies take.
    generator = np.random.default_rng(0)
    return [
        [0, 40, 8, 0, 136, 64, 0],
        [0, 0, 0],
        [296],
        (8 * generator.integers(0, 4, 300)).tolist(),
        (8 * generator.integers(0, 40, 17)).tolist(),
    ]


def _grouped(case: LayerCase, sizes: Sequence[int], device: str, generator: np.random.Generator) -> Call:
    """A call with groups of these sizes along what varies."""
    fixed = {"m": 72, "n": 88, "k": 112}
    varies = {"rows": "m", "columns": "n", "depth": "k", "list": "m"}[case.kind]
    problems = [{**fixed, varies: size} for size in sizes]
    if case.kind == "list":
        problems = [{"m": size, "n": 16 * (1 + index % 5), "k": 16 * (index % 4)} for index, size in enumerate(sizes)]
    a = [_values(case.dtype, (each["m"], each["k"]), generator) for each in problems]
    b = [_values(case.dtype, (each["k"], each["n"]), generator) for each in problems]
    c = [_values(_result(case), (each["m"], each["n"]), generator) for each in problems]
    bias = [_values(_result(case), (each["n"],), generator) for each in problems]
    found = [_epilogue(case, *each) for each in zip(a, b, c, bias, strict=True)]
    expected, magnitude = [each[0] for each in found], [each[1] for each in found]
    arguments: dict[str, Any] = {}
    if case.kind == "list":
        a_columns, b_columns = case.make().description.gemm.a.layout == "column", False
        outputs, buffers = _guarded([(each["m"], each["n"]) for each in problems], _result(case), device)
        arguments |= {
            "A": [_laid(each, device, a_columns) for each in a],
            "B": [_laid(each, device, b_columns) for each in b],
        }
        arguments |= {
            "D": outputs,
            **({"C": [_laid(each, device, False) for each in c]} if case.epilogue == "source" else {}),
        }
    else:
        ends = torch.tensor(np.cumsum(sizes, dtype=np.int32), device="cpu" if "host" in case.name else device)
        arguments["offsets"] = ends.numpy() if "host" in case.name else ends
        packed_a = {"rows": 0, "columns": None, "depth": 1}[case.kind]
        packed_b = {"rows": None, "columns": 1, "depth": 0}[case.kind]
        packed_d = {"rows": 0, "columns": 1, "depth": None}[case.kind]
        description = case.make().description.gemm
        arguments["A"] = _packed(a, packed_a, device, description.a.layout == "column")
        arguments["B"] = _packed(b, packed_b, device, description.b.layout == "column")
        (whole,), buffers = _guarded([tuple(_joined(c, packed_d).shape)], _result(case), device)
        arguments["D"], outputs = whole, [whole]
        if case.epilogue == "source":
            arguments["C"] = _packed(c, packed_d, device, False)
        if case.epilogue == "bias":
            arguments["bias"] = torch.stack(bias).to(device) if bias else None
        expected, magnitude = [_joined(expected, packed_d)], [_joined(magnitude, packed_d)]
    if case.epilogue == "source":
        arguments |= {"alpha": _ALPHA, "beta": _BETA}
    return Call(arguments, outputs, buffers, expected, magnitude)


def _joined(matrices: Sequence[Any], axis: int | None) -> Any:
    return torch.stack([*matrices]) if axis is None else torch.cat([*matrices], axis)


def _packed(matrices: Sequence[Any], axis: int | None, device: str, is_column: bool) -> Any:
    return _laid(_joined(matrices, axis), device, is_column)


def _laid(values: Any, device: str, is_column: bool) -> Any:
    values = values.to(device)
    return values.mT.contiguous().mT if is_column else values.contiguous()


def _epilogue(case: LayerCase, a: Any, b: Any, c: Any, bias: Any) -> tuple[Any, Any]:
    product, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    return _finished(case, product, magnitude, c, bias)


def _finished(case: LayerCase, product: Any, magnitude: Any, c: Any, bias: Any) -> tuple[Any, Any]:
    match case.epilogue:
        case "source":
            return _ALPHA * product + _BETA * c.double(), magnitude + 2 * c.double().abs()
        case "bias":
            return (product + bias.double()).clamp(min=0.0), magnitude + bias.double().abs()
        case _:
            return product, magnitude


# Convolutions.


@dataclass(frozen=True)
class Geometry:
    """Of a convolution: extents are spatial, padding is before and behind each."""

    image: tuple[int, ...]
    filter: tuple[int, ...]
    channels: int
    filters: int
    padding: tuple[tuple[int, int], ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    batch: int = 2


def _geometries(case: LayerCase, device: str) -> Iterator[Geometry]:
    generator = np.random.default_rng(1)
    facts = case.facts
    groups = 3 if facts["groups"] == "many" else 1
    is_depthwise = facts["groups"] == "depthwise"
    for number in range(1 if device == "cpu" else 6):

        def drawn(least: int, most: int) -> tuple[int, ...]:
            return tuple(int(each) for each in generator.integers(least, most + 1, case.rank))

        size = 8 if device == "cpu" else (60, 18, 9)[case.rank - 1]
        several = (1, 2, 4) if facts["channels"] > 16 else (3, 9, 16)
        channels = facts["channels"] * (1 if facts["exact"] else several[number % 3])
        filters = 8 * ((2, 9, 17)[number % 3])
        if is_depthwise:
            channels = filters = groups = 8 * (1 + number)
        elif groups > 1:
            channels, filters = 3 * 8 * (1 + number % 3), 3 * 8 * (1 + number % 2)
        stride = (1,) * case.rank if facts["unity"] or number == 1 else drawn(1, 3)
        padding = tuple(zip(drawn(0, 2), drawn(0, 2), strict=True))
        image = tuple(size + each for each in drawn(0, 5))
        yield Geometry(image, drawn(1, 3), channels, filters, padding, stride, drawn(1, 2), groups, 1 + number % 3)


def _convolution(case: LayerCase, geometry: Geometry, device: str, generator: np.random.Generator) -> Call:
    each = geometry
    spatial = [
        (size + sum(pad) - dilation * (taps - 1) - 1) // step + 1
        for size, pad, dilation, taps, step in zip(
            each.image, each.padding, each.dilation, each.filter, each.stride, strict=True
        )
    ]
    shapes = {
        "x": (each.batch, each.channels, *each.image),
        "w": (each.filters, each.channels // each.groups, *each.filter),
        "y": (each.batch, each.filters, *spatial),
    }
    names = {"fprop": ("x", "w", "y"), "dgrad": ("y", "w", "x"), "wgrad": ("y", "x", "w")}[case.kind]
    a, b = (_values(case.dtype, shapes[name], generator) for name in names[:2])
    c = _values(_result(case), shapes[names[2]], generator)
    bias = _values(_result(case), (shapes[names[2]][1],), generator)
    product, magnitude = (
        _convolved(case, each, left, right, shapes)
        for left, right in ((a.double(), b.double()), (a.double().abs(), b.double().abs()))
    )
    expected, allowed = _finished(case, product, magnitude, c, bias.view(-1, *(1,) * case.rank))
    outputs, buffers = _guarded([_last(shapes[names[2]])], _result(case), device)
    result = _first(outputs[0])
    arguments = {"A": _channels_last(a.to(device)), "B": _channels_last(b.to(device)), "D": result}
    arguments |= (
        {"C": _channels_last(c.to(device)), "alpha": _ALPHA, "beta": _BETA} if case.epilogue == "source" else {}
    )
    arguments |= {"bias": bias.to(device)} if case.epilogue == "bias" else {}
    steps = {"stride": each.stride, "dilation": each.dilation, "padding": each.padding, "groups": each.groups}
    return Call({**arguments, **steps}, [result], buffers, [expected], [allowed])


def _convolved(case: LayerCase, geometry: Geometry, a: Any, b: Any, shapes: dict[str, tuple[int, ...]]) -> Any:
    """In float64, through activations that are padded."""
    padding = [number for pair in reversed(geometry.padding) for number in pair]
    turned = tuple(range(2, 2 + case.rank)) if case.facts["turned"] else ()
    x = torch.zeros(shapes["x"], dtype=torch.float64)
    w = torch.zeros(shapes["w"], dtype=torch.float64)
    if case.kind == "fprop":
        x, w = a, b
    elif case.kind == "dgrad":
        w = b
    else:
        x = b
    padded = torch.nn.functional.pad(x, padding)
    w = w.flip(turned) if turned else w
    ways = [*map(list, (geometry.stride, (0,) * case.rank, geometry.dilation))]
    if case.kind == "fprop":
        convolve = getattr(torch.nn.functional, f"conv{case.rank}d")
        return convolve(padded, w, None, geometry.stride, 0, geometry.dilation, geometry.groups)
    found = torch.ops.aten.convolution_backward(
        *(a, padded, w, None, *ways, False, [0] * case.rank, geometry.groups),
        [case.kind == "dgrad", case.kind == "wgrad", False],
    )
    if case.kind == "wgrad":
        return found[1].flip(turned) if turned else found[1]
    inside = [slice(pair[0], pair[0] + size) for pair, size in zip(geometry.padding, geometry.image, strict=True)]
    return found[0][(slice(None), slice(None), *inside)]


# Memory.


def _result(case: LayerCase) -> str:
    return RESULTS.get(case.dtype, case.dtype)


def _values(dtype: str, shape: Sequence[int], generator: np.random.Generator) -> Any:
    if dtype in ("i8", "i32"):
        return torch.from_numpy(generator.integers(-8, 9, shape)).to(_TYPES[dtype])
    values = torch.from_numpy(generator.standard_normal(shape))
    if dtype == "tf32":  # no more digits than are multiplied
        bits = values.float().view(torch.int32) & -0x2000
        return bits.view(torch.float32)
    return values.to(_TYPES[dtype])


def _guarded(shapes: Sequence[tuple[int, ...]], dtype: str, device: str) -> tuple[list[Any], list[Any]]:
    """Tensors of these shapes, contiguous, and the memory that each lies in the middle of."""
    outputs: list[Any] = []
    buffers: list[Any] = []
    for shape in shapes:
        buffers.append(torch.zeros(math.prod(shape) + 2 * _GUARD, dtype=_TYPES[dtype], device=device))
        outputs.append(buffers[-1][_GUARD : _GUARD + math.prod(shape)].view(shape))
    return outputs, buffers


def _last(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *shape[2:], shape[1])


def _first(tensor: Any) -> Any:
    return tensor.movedim(-1, 1)


def _channels_last(tensor: Any) -> Any:
    return _first(tensor.movedim(1, -1).contiguous())
