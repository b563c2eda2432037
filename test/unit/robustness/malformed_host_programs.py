"""Host programs that no compiler makes: of unknown form, cyclic, without an end, out of all bounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Change = Callable[[dict[str, Any]], object]
"""Changes the JSON of a program in place, or returns what stands in its place."""


def _instruction(**fields: Any) -> Change:
    """Put an instruction before all others."""
    return lambda body: body["body"]["instructions"].insert(0, fields)


def _loop(rounds_end: bool, nested: int = 0) -> Change:
    """Begin with a loop, which ends never, or after 2**63 rounds."""

    def change(body: dict[str, Any]) -> None:
        types = body["types"]

        def value(kind: str) -> int:
            types.append(kind)
            return len(types) - 1

        def make(depth: int) -> list[dict[str, Any]]:
            start, bound, one, index, more, inner, following = (value(k) for k in ("i64",) * 4 + ("i1", "i64", "i64"))
            result = value("i64")
            return [
                {"op": "constant", "results": [start], "immediate": 0},
                {"op": "constant", "results": [bound], "immediate": 2**63 if rounds_end else 2**64 - 1},
                {"op": "constant", "results": [one], "immediate": 1 if rounds_end else 0},
                {
                    "op": "while",
                    "operands": [start],
                    "results": [result],
                    "blocks": [
                        {
                            "parameters": [index],
                            "instructions": [{"op": "ult", "operands": [index, bound], "results": [more]}],
                            "yields": [more, index],
                        },
                        {
                            "parameters": [inner],
                            "instructions": [
                                *(make(depth - 1) if depth else []),
                                {"op": "add", "operands": [inner, one], "results": [following]},
                            ],
                            "yields": [following],
                        },
                    ],
                },
            ]

        body["body"]["instructions"][:0] = make(nested)

    return change


def _set(*path: str | int, value: Any) -> Change:
    def change(body: dict[str, Any]) -> None:
        place: Any = body
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def _both(first: Change, second: Change) -> Change:
    def change(body: dict[str, Any]) -> None:
        first(body)
        second(body)

    return change


def _launch(body: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in body["body"]["instructions"] if each["op"] == "launch")["launch"]


def _deep(body: dict[str, Any]) -> None:
    body["types"].append("i1")
    condition = len(body["types"]) - 1
    inner: dict[str, Any] = {"instructions": [], "parameters": [], "yields": []}
    for _ in range(100):
        instruction = {"op": "if", "operands": [condition], "blocks": [inner, {}]}
        inner = {"instructions": [instruction], "parameters": [], "yields": []}
    body["body"]["instructions"][:0] = [
        {"op": "constant", "results": [condition], "immediate": 1},
        *inner["instructions"],
    ]


_CHANGES: dict[str, Change] = {
    "of-no-instructions": _set("body", value={"instructions": [], "parameters": [], "yields": []}),
    "of-an-unknown-operation": _instruction(op="system", operands=[], results=[]),
    "of-missing-operands": _instruction(op="add", operands=[], results=[7]),
    "with-values-used-before": _instruction(op="add", operands=[20, 21], results=[15]),
    "with-values-that-are-not-there": _instruction(op="add", operands=[9999999, -1], results=[15]),
    "with-a-cycle": _instruction(op="add", operands=[15, 15], results=[15]),
    "of-wrong-types": _set("types", 8, value="f64"),
    "of-unknown-types": _set("types", 8, value="i65536"),
    "of-too-few-types": _set("types", value=[]),
    "of-a-huge-constant": _set("body", "instructions", 2, "immediate", value=10**30),
    "of-a-negative-constant": _set("body", "instructions", 2, "immediate", value=-(2**63)),
    "that-divides-by-zero": _set("body", "instructions", 6, "immediate", value=0),
    "that-loops-for-ever": _loop(False),
    "that-loops-for-long": _loop(True),
    "that-loops-in-loops": _loop(True, nested=3),
    "with-deep-blocks": _deep,
    "of-a-huge-allocation": _set("allocations", value=[{"size": 2**62, "align": 16}]),
    "of-a-negative-allocation": _set("allocations", value=[{"size": -1, "align": 0}]),
    "of-many-allocations": _set("allocations", value=[{"size": 2**30, "align": 1}] * 1000),
    "that-prints-memory": _both(
        _set("strings", value=["%s%n%*d\x1b]0;x\x07"]),
        _instruction(op="print", operands=[0], immediate=0, results=[31]),
    ),
    "that-writes-anywhere": _instruction(op="store", operands=[0, 0], results=[]),
    "that-launches-an-unknown-kernel": lambda body: _launch(body).update(kernel=7),
    "that-launches-a-negative-kernel": lambda body: _launch(body).update(kernel=-1),
    "that-launches-a-huge-grid": _both(
        lambda body: _launch(body).update(grid=[13, 13, 13]),
        _set("body", "instructions", 5, "immediate", value=2**31 - 1),
    ),
    "that-launches-no-block": lambda body: _launch(body).update(block=[9, 9, 9]),
    "that-launches-a-pointer": lambda body: _launch(body).update(grid=[0, 0, 0]),
    "with-parameters-outside": lambda body: _launch(body)["parameters"].append({"offset": 1 << 40, "value": 0}),
    "with-parameters-at-negative-offsets": lambda body: _launch(body)["parameters"].append({"offset": -8, "value": 0}),
    "of-a-huge-parameter-block": _set("kernels", 0, "parameter_bytes", value=1 << 50),
    "of-a-hostile-kernel": _set("kernels", 0, "name", value="\x1b]0;owned\x07\nerror: [/bold]"),
    "of-hostile-code": _set("function", value="'''\nimport os; os.abort()\n'''\x1b]0;x\x07"),
    "of-no-arguments": _set("arguments", value=[]),
    "of-many-arguments": lambda body: body["arguments"].extend(body["arguments"] * 10_000),
    "of-a-list": lambda _: [],
    "of-a-newer-version": _set("version", value="9.0"),
    "of-a-version-of-no-number": _set("version", value="x" * 10_000),
}


def _as_json(change: Change) -> Callable[[bytes], bytes]:
    def make(data: bytes) -> bytes:
        body = json.loads(data)
        instead = change(body)
        return json.dumps(body if instead is None else instead).encode()

    return make


HOST_PROGRAMS: dict[str, Callable[[bytes], bytes]] = {
    **{name: _as_json(change) for name, change in _CHANGES.items()},
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "not-utf-8": lambda data: data.replace(b"function", b"f\xffnction"),
    "of-deep-json": lambda _: b'{"version": "1.0", "body": ' + b'{"instructions": [' * 50_000,
    "of-a-huge-number": lambda data: data.replace(b'"immediate": 1', b'"immediate": ' + b"9" * 10_000),
}
"""By name, what makes one of the JSON of a program that is fine."""
