"""What operations that neither synchronise nor access memory do to values: as lines of Python, compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from cutecc.proving import composites, values
from cutecc.proving.kernel import Kernel, Operation
from cutecc.proving.values import PREDICATES, UNKNOWN, Lanes, Linear, Shifted, Value

if TYPE_CHECKING:
    from cutecc.proving.warps import Warp

Code = Callable[[list[Value], "Warp"], None]
"""Takes the values of a warp, by their numbers, and the warp."""

_FUNCTIONS = {
    "arith.addi": "add", "arith.subi": "subtract", "arith.muli": "multiply",
    "arith.divsi": "divide", "arith.divui": "divide", "arith.remsi": "remainder", "arith.remui": "remainder",
    "arith.shli": "shift_left", "arith.shrui": "shift_right", "arith.shrsi": "shift_right", "arith.select": "select",
}  # fmt: skip
_PERIODIC = tuple(f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "shli", "shrui", "shrsi"))
"""Of what grows, they may need to know a period."""
_UNSIGNED = ("arith.divui", "arith.remui", "arith.shrui")
_BITWISE = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
_EXTREMES = {"arith.minsi": "slt", "arith.minui": "slt", "arith.maxsi": "sgt", "arith.maxui": "sgt"}
_SAME = (
    *("arith.extsi", "arith.index_cast", "arith.index_castui", "llvm.ptrtoint", "llvm.inttoptr"),
    *("llvm.addrspacecast", "llvm.bitcast"),
)
_DYNAMIC = -(2**31)
"""Stands among the constant indices of a `getelementptr` for an operand."""
_BASE = 1024
"""Where dynamic shared memory begins: as aligned as the DSL asks for."""
_BLOCK = 24
"""A block's number in its cluster is in the bits of a shared address from here on."""
_HALF = (1 << 32) - 1
_PAIR = "vector<2xi32>"
"""Of 64 bits, in one number."""


def compiled(operations: Sequence[Operation], kernel: Kernel, carried: Collection[int]) -> Code:
    """One function that does what the operations do, one after the other."""
    names: dict[str, Any] = {
        **{name: getattr(values, name) for name in ("add", "subtract", "multiply", "divide", "remainder", "select")},
        **{
            name: getattr(values, name) for name in ("shift_left", "shift_right", "compare", "compare_fixed", "bitwise")
        },
        **{"UNKNOWN": UNKNOWN, "unsigned": _unsigned, "truncated": _truncated, "register": _register},
        **{"first_lane": _first_lane, "mapped": _mapped, "elected": _elected, "half": _half, "with_half": _with_half},
        "BASE": _BASE,
        **composites.FUNCTIONS,
    }
    lines = [f"    e[{result}] = {text}" for each in operations for result, text in _lines(each, kernel, carried)]
    exec("def code(e, w):\n" + "\n".join(lines or ["    pass"]), names)
    return names["code"]


def _lines(operation: Operation, kernel: Kernel, carried: Collection[int]) -> list[tuple[int, str]]:
    if operation.name == "vector.to_elements" and kernel.types[operation.operands[0]] != _PAIR:
        vector = f"e[{operation.operands[0]}]"
        return [(result, f"element_of({vector}, {at})") for at, result in enumerate(operation.results)]
    if len(operation.results) != 1:
        return [(result, "UNKNOWN") for result in operation.results]
    return [(operation.results[0], _text(operation, kernel, carried) or "UNKNOWN")]


def _text(operation: Operation, kernel: Kernel, carried: Collection[int]) -> str | None:
    given = [f"e[{value}]" for value in operation.operands]
    fixed = not any(value in carried for value in operation.operands)
    if operation.name.startswith("arith."):
        return _of_arith(operation, given, kernel, "compare_fixed" if fixed else "compare")
    if operation.name in _SAME:
        return given[0]
    if operation.name.startswith("nvvm.read.ptx.sreg."):
        return f"register(w, {operation.name.removeprefix('nvvm.read.ptx.sreg.')!r})"
    return _of_others(operation, given, kernel)


def _of_arith(operation: Operation, given: list[str], kernel: Kernel, compare: str) -> str | None:
    """Of the dialect `arith`."""
    name = operation.name
    if name in _UNSIGNED:
        given = [f"unsigned({text}, {kernel.widths.get(operation.results[0], 0)})" for text in given]
    if name in _FUNCTIONS:
        numbers = ["w.numbers"] if name in _PERIODIC else []
        return f"{_FUNCTIONS[name]}({', '.join([*given, *numbers])})"
    if name in _BITWISE:
        return f"bitwise({_BITWISE[name]!r}, {given[0]}, {given[1]}, w.numbers)"
    if name in _SAME:
        return given[0]
    if name in _EXTREMES:
        a, b = given
        return f"select({compare}({_EXTREMES[name]!r}, {a}, {b}, w.numbers), {a}, {b})"
    match name:
        case "arith.cmpi":
            predicate = PREDICATES[int(operation.attributes["predicate"])]
            return f"{compare}({predicate!r}, {given[0]}, {given[1]}, w.numbers)"
        case "arith.extui":
            return f"unsigned({given[0]}, {kernel.widths.get(operation.operands[0], 0)})"
        case "arith.trunci":
            return f"truncated({given[0]}, {kernel.widths.get(operation.results[0], 0)})"
        case _:
            return composites.text_of(operation, given, kernel)


def _of_others(operation: Operation, given: list[str], kernel: Kernel) -> str | None:
    """Of other dialects."""
    match operation.name:
        case "llvm.mlir.zero":
            return "0"
        case "llvm.mlir.addressof":
            return "w.shared_base" if kernel.types[operation.results[0]] == "!llvm.ptr<3>" else None
        case "llvm.getelementptr":
            return _element(operation, given)
        case "nvvm.shfl.sync":
            return f"first_lane({given[1]}, {given[2]})" if "idx" in operation.attributes["kind"] else None
        case "nvvm.elect.sync":
            return "elected(w)"
        case "nvvm.mapa":
            return f"mapped({given[0]}, {given[1]})"
        case "vector.extract":
            return _extracted(operation, given, kernel)
        case "vector.insert":
            place = _position(operation)
            return f"with_half({given[0]}, {given[1]}, {place})" if place is not None else None
        case _:
            return composites.text_of(operation, given, kernel)


def _element(operation: Operation, given: list[str]) -> str | None:
    size = _size_of(operation.attributes["elem_type"])
    constants = [
        int(text) for text in re.findall(r"-?\d+", operation.attributes["rawConstantIndices"].split(":", 1)[-1])
    ]
    if all(each == 0 for each in constants):
        return given[0]
    if size is None or len(constants) != 1:
        return None
    index = given[1] if constants[0] == _DYNAMIC else str(constants[0])
    return f"add({given[0]}, multiply({index}, {size}))"


def _size_of(text: str) -> int | None:
    if found := re.fullmatch(r"(?:i|f|bf|tf)(\d+)", text):
        return -(-int(found[1]) // 8)
    if re.fullmatch(r"f8E\w+", text):
        return 1
    if found := re.fullmatch(r"!llvm\.array<(\d+) x (.+)>", text):
        inner = _size_of(found[2])
        return None if inner is None else int(found[1]) * inner
    return None


def bytes_of(text: str) -> int:
    """The size of a value of this type in memory; 0 if it is not known."""
    if found := re.fullmatch(r"vector<([\dx]+)x(\w+)>", text):
        count = 1
        for each in found[1].split("x"):
            count *= int(each)
        bits = re.fullmatch(r"(?:i|f|bf|tf)(\d+)", found[2])
        return -(-count * int(bits[1]) // 8) if bits else count
    return _size_of(text) or (8 if text.startswith("!llvm.ptr") else 0)


def _position(operation: Operation) -> int | None:
    found = re.search(r":\s*(\d+)>?$", operation.attributes.get("static_position", ""))
    return int(found[1]) if found else None


def _extracted(operation: Operation, given: list[str], kernel: Kernel) -> str | None:
    place = _position(operation)
    if kernel.types[operation.operands[0]].startswith("vector<1x"):
        return given[0]
    is_half = kernel.types[operation.operands[0]] == _PAIR and place is not None
    return f"half({given[0]}, {place})" if is_half else None


def _half(value: Value, place: int) -> Value:
    if type(value) is int:
        return value >> 32 * place & _HALF
    return value if place == 0 and value is not UNKNOWN else UNKNOWN


def _with_half(half: Value, value: Value, place: int) -> Value:
    if type(value) is not int or type(half) is not int:
        return UNKNOWN
    other = value & ~(_HALF << 32 * place)
    return other | (half & _HALF) << 32 * place


def _unsigned(value: Value, width: int) -> Value:
    if not width or not isinstance(value, (int, Lanes)):
        return value
    if type(value) is int:
        return value & (1 << width) - 1 if value < 0 else value
    return values.lanewise(int.__and__, value, (1 << width) - 1)


def _truncated(value: Value, width: int) -> Value:
    if type(value) is not int or not width:
        return value
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def _first_lane(value: Value, lane: Value) -> Value:
    """`shfl.idx`: all have what one lane has."""
    if isinstance(value, Lanes):
        return value[lane] if type(lane) is int else UNKNOWN
    return value


def _mapped(address: Value, block: Value) -> Value:
    if type(block) is not int or not isinstance(address, (int, Lanes)):
        return UNKNOWN if not isinstance(block, Lanes) else values.lanewise(_in_block, address, block)
    return values.lanewise(_in_block, address, block)


def _in_block(address: int, block: int) -> int:
    return address & (1 << _BLOCK) - 1 | block << _BLOCK


def shared_base(block: int) -> int:
    """Where dynamic shared memory begins, of the block with this number in the cluster."""
    return _BASE | block << _BLOCK


def block_of(address: int) -> int:
    """The number in the cluster of the block whose shared memory has this address."""
    return address >> _BLOCK


def _elected(warp: Warp) -> Value:
    first = warp.mask & -warp.mask
    return values.uniform(int(first >> lane & 1) for lane in range(values.WARP))


def is_of_launch(operation: Operation, kernel: Kernel) -> bool:
    """Whether it reads which of all clusters this is: the launch says how many there are."""
    name = operation.name.removeprefix("nvvm.read.ptx.sreg.")
    return name.startswith(("ctaid.", "clusterid.")) and not _is_one_cluster(kernel, "xyz".index(name[-1]))


def _is_one_cluster(kernel: Kernel, mode: int) -> bool:
    """Whether there is one along this side of the grid in all launches."""
    return kernel.grid[mode] == kernel.cluster[mode]


def _register(warp: Warp, name: str) -> Value:
    kernel, (x, y, _) = warp.kernel, warp.kernel.block
    threads = range(warp.number * values.WARP, (warp.number + 1) * values.WARP)
    cluster = kernel.cluster
    place = (warp.block % cluster[0], warp.block // cluster[0] % cluster[1], warp.block // (cluster[0] * cluster[1]))
    match name:
        case "tid.x":
            return values.uniform(each % x for each in threads)
        case "tid.y":
            return values.uniform(each // x % y for each in threads)
        case "tid.z":
            return values.uniform(each // (x * y) for each in threads)
        case "ntid.x" | "ntid.y" | "ntid.z":
            return kernel.block["xyz".index(name[-1])]
        case "laneid":
            return values.uniform(range(values.WARP))
        case "cluster.ctarank":
            return warp.block
        case "cluster.nctarank":
            return cluster[0] * cluster[1] * cluster[2]
        case "cluster.ctaid.x" | "cluster.ctaid.y" | "cluster.ctaid.z":
            return place["xyz".index(name[-1])]
        case "cluster.nctaid.x" | "cluster.nctaid.y" | "cluster.nctaid.z":
            return cluster["xyz".index(name[-1])]
        case "ctaid.x" | "ctaid.y" | "ctaid.z":
            mode = "xyz".index(name[-1])
            if _is_one_cluster(kernel, mode):
                return place[mode]
            first = Linear(((values.Symbol(f"clusterid.{name[-1]}"), cluster[mode]),))
            return values.add(first, place[mode])
        case _:
            return UNKNOWN


__all__ = ["Code", "Shifted", "block_of", "bytes_of", "compiled", "is_of_launch", "shared_base"]
