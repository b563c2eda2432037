"""MLIR that no compiler makes: cut off, damaged, deep, huge, ill-typed, hostile. Every input has a name that stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_DEEP = 10_000


@dataclass(frozen=True)
class RealModule:
    """A module that the DSL traced."""

    text: str
    bytecode: bytes


Make = Callable[[RealModule], bytes]


def _cut(share: float, *, text: bool) -> Make:
    def make(real: RealModule) -> bytes:
        whole = real.text.encode() if text else real.bytecode
        return whole[: int(len(whole) * share)]

    return make


def _flipped(seed: int, bits: int, *, text: bool) -> Make:
    def make(real: RealModule) -> bytes:
        chance = random.Random(seed)
        data = bytearray(real.text.encode() if text else real.bytecode)
        for _ in range(bits):
            # The first four bytes say that it is bytecode.
            data[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)

    return make


def _noise(seed: int, size: int, start: bytes = b"") -> Make:
    return lambda _: start + random.Random(seed).randbytes(size)


def _replaced(old: str, new: str, count: int = 1) -> Make:
    def make(real: RealModule) -> bytes:
        assert old in real.text, f"no {old!r} in the module any more: choose another text"
        return real.text.replace(old, new, count).encode()

    return make


def _constant(data: bytes) -> Make:
    return lambda _: data


_DAMAGED: dict[str, Make] = {
    **{f"text-cut-at-{share:02d}%": _cut(share / 100, text=True) for share in (0, 1, 3, 7, 15, 31, 50, 63, 80, 90, 99)},
    **{f"bytecode-cut-at-{share:02d}%": _cut(share / 100, text=False) for share in (1, 5, 10, 20, 40, 60, 80, 95, 99)},
    **{f"text-bits-flipped-{seed}": _flipped(seed, 3, text=True) for seed in range(12)},
    **{f"bytecode-bit-flipped-{seed}": _flipped(seed, 1, text=False) for seed in range(24)},
    **{f"bytecode-bits-flipped-{seed}": _flipped(seed, 40, text=False) for seed in range(6)},
    **{f"noise-{seed}": _noise(seed, 1 << (2 * seed)) for seed in range(8)},
    **{f"noise-as-bytecode-{seed}": _noise(seed, 1 << (2 * seed), b"ML\xefR") for seed in range(6)},
    **{
        f"bytecode-with-noise-behind-{seed}": lambda real, seed=seed: real.bytecode + _noise(seed, 99)(real)
        for seed in range(2)
    },
    "bytecode-twice": lambda real: real.bytecode * 2,
    "bytecode-of-a-later-version": lambda real: real.bytecode[:4] + b"\xff" + real.bytecode[5:],
    "bytecode-magic-alone": _constant(b"ML\xefR"),
    "text-twice": lambda real: (real.text * 2).encode(),
    "text-backwards": lambda real: "\n".join(reversed(real.text.split("\n"))).encode(),
    "text-in-one-line": lambda real: real.text.replace("\n", " ").encode(),
    "text-with-crlf": lambda real: real.text.replace("\n", "\r\n").encode(),
    "text-with-cr": lambda real: real.text.replace("\n", "\r").encode(),
    "text-with-bom": lambda real: b"\xef\xbb\xbf" + real.text.encode(),
    "text-in-utf-16": lambda real: real.text.encode("utf-16"),
    "text-in-utf-32": lambda real: real.text.encode("utf-32-be"),
    "text-with-a-null-byte": lambda real: real.text.encode().replace(b"func", b"fu\0nc", 1),
    "text-with-a-null-byte-behind": lambda real: real.text.encode() + b"\0",
    "text-with-invalid-utf-8": lambda real: real.text.encode().replace(b"func", b"f\xff\xfec", 1),
    "text-with-an-escape-code": lambda real: real.text.encode().replace(b"func.func", b"\x1b]0;owned\x07func", 1),
}

_OF_A_REAL_MODULE: dict[str, Make] = {
    "type-swapped": _replaced(": i32", ": f32"),
    "all-types-swapped": _replaced("i32", "i64", -1),
    "type-unknown": _replaced(": i32", ": !cute.nothing"),
    "dialect-unknown": _replaced("cute.", "cutie.", -1),
    "operation-unknown": _replaced(" cute.", " cute.no_"),
    "attribute-unknown": _replaced("#cuda", "#cudb", -1),
    "terminator-missing": _replaced("cuda.return", ""),
    "brace-missing": lambda real: real.text.rpartition("}")[0].encode(),
    "brace-too-many": lambda real: (real.text + "}").encode(),
    "value-undefined": _replaced("%0", "%nothing"),
    "value-defined-twice": _replaced("%1 =", "%0 ="),
    "shape-negative": _replaced("(4,32)", "(-4,32)", -1),
    "shape-zero": _replaced("(4,32)", "(0,32)", -1),
    "shape-huge": _replaced("(4,32)", "(2147483647,2147483647)", -1),
    "shape-beyond-64-bits": _replaced("(4,32)", f"({'9' * 40},32)", -1),
    "shape-unbalanced": _replaced("(4,32)", "((4,32)", -1),
    "shape-of-other-rank": _replaced("(4,32)", "(4,(2,(2,8)))", -1),
    "swizzle-hostile": _replaced("align<16>", "align<16>, S<99,-1,400>", -1),
    "alignment-zero": _replaced("align<16>", "align<0>", -1),
    "alignment-huge": _replaced("align<16>", f"align<{1 << 62}>", -1),
    "alignment-no-power-of-two": _replaced("align<16>", "align<17>", -1),
    "divisibility-zero": _replaced("div=8", "div=0", -1),
    "divisibility-negative": _replaced("div=8", "div=-8", -1),
    "divisibility-huge": _replaced("div=8", f"div={1 << 63}", -1),
    "address-space-unknown": _replaced("gmem", "moonmem", -1),
}


def _function(body: str, arguments: str = "%a: i32", results: str = "") -> bytes:
    return f"func.func @f({arguments}){results} {{\n{body}\n}}\n".encode()


def _invalid(count: int, name: str) -> bytes:
    """Functions that the verifier refuses."""
    return b"".join(
        f"func.func @{name}{number}() {{\n  llvm.func @in_{name}{number}()\n  return\n}}\n".encode()
        for number in range(count)
    )


_WRITTEN: dict[str, bytes] = {
    "empty": b"",
    "only-spaces": b" \t\n" * 100,
    "only-comments": b"// nothing\n" * 1000,
    "an-opening-brace": b"{",
    "a-python-file": b"import cutlass\n\n\ndef f():\n    pass\n",
    "json": b'{"schema": "cutecc/compilation", "version": "1.3"}',
    "elf": b"\x7fELF\x02\x01\x01" + bytes(57),
    "html": b"<!doctype html><script>alert(1)</script>",
    "dialect-of-others": b"memref.global @g : memref<4xf32>\n",
    "operation-generic-unknown": b'"no.such"() : () -> ()\n',
    "operation-generic-without-name": b'""() : () -> ()\n',
    "operation-with-wrong-operands": _function('  "arith.addi"(%a) : (i32) -> i32\n  return'),
    "operation-with-wrong-results": _function(
        '  %0:3 = "arith.addi"(%a, %a) : (i32, i32) -> (i32, i32, i32)\n  return'
    ),
    "operation-with-regions-it-has-not": _function(
        '  "arith.constant"() ({}, {}, {}) {value = 1 : i32} : () -> i32\n  return'
    ),
    "types-differ": _function("  %0 = arith.addi %a, %b : i32\n  return", "%a: i32, %b: i64"),
    "types-of-operand-wrong": _function("  %0 = arith.addf %a, %a : i32\n  return"),
    "return-of-other-type": _function("  return %a : i32", results=" -> i64"),
    "return-missing": _function("  %0 = arith.addi %a, %a : i32"),
    "block-without-terminator": _function("  cf.br ^b\n^b:\n  %0 = arith.addi %a, %a : i32"),
    "block-undefined": _function("  cf.br ^nowhere"),
    "block-of-other-arguments": _function("  cf.br ^b(%a : i32)\n^b(%x: i64):\n  return"),
    "block-that-is-its-own-successor": _function("  cf.br ^b\n^b:\n  cf.br ^b"),
    "use-before-definition": _function("  %1 = arith.addi %0, %a : i32\n  %0 = arith.addi %a, %a : i32\n  return"),
    "use-of-itself": _function("  %0 = arith.addi %0, %0 : i32\n  return"),
    "use-across-regions": _function(
        "  %c = arith.constant true\n  scf.if %c {\n    %0 = arith.addi %a, %a : i32\n  }\n"
        "  %1 = arith.addi %0, %a : i32\n  return"
    ),
    "symbol-twice": _function("  return") * 2,
    "symbol-missing": _function("  func.call @g(%a) : (i32) -> ()\n  return"),
    "symbol-of-another-kind": b"gpu.module @g {\n}\n" + _function("  func.call @g(%a) : (i32) -> ()\n  return"),
    "symbol-empty": b'func.func @""() { return }\n',
    "call-of-itself": _function("  func.call @f(%a) : (i32) -> ()\n  return"),
    "calls-in-a-circle": b"".join(
        f"func.func @f{i}() {{ func.call @f{(i + 1) % 50}() : () -> ()\n return }}\n".encode() for i in range(50)
    ),
    "recursive-alias": b"!a = !llvm.struct<(!a)>\n" + _function("  return", "%a: !a"),
    "alias-undefined": _function("  return", "%a: !nothing"),
    "alias-twice": b"!a = i32\n!a = i64\n" + _function("  return", "%a: !a"),
    "struct-that-holds-itself": _function("  return", '%a: !llvm.struct<"s", (struct<"s">, i32)>'),
    "struct-named-twice": _function("  return", '%a: !llvm.struct<"s", (i32)>, %b: !llvm.struct<"s", (i64)>'),
    "location-that-fuses-itself": b"#l = loc(fused[#l, #l])\n" + _function("  return"),
    "integer-beyond-64-bits": _function(f"  %0 = arith.constant {1 << 70} : i64\n  return"),
    "integer-of-ten-thousand-digits": _function(f"  %0 = arith.constant {'9' * 10_000} : i64\n  return"),
    "integer-of-a-million-digits": _function(f"  %0 = arith.constant {'9' * 1_000_000} : i64\n  return"),
    "integer-negative-of-a-million-digits": _function(f"  %0 = arith.constant -{'9' * 1_000_000} : i64\n  return"),
    "integer-hexadecimal-of-a-million-digits": _function(f"  %0 = arith.constant 0x{'F' * 1_000_000} : i64\n  return"),
    "float-of-many-digits": _function(f"  %0 = arith.constant 0.{'9' * 200_000} : f64\n  return"),
    "layout-of-a-million-digits": f'func.func @f(%a: !cute.layout<"{"9" * 1_000_000}:1">) {{ return }}\n'.encode(),
    "integer-type-too-wide": _function("  return", "%a: i99999999999"),
    "integer-type-as-wide-as-allowed": _function("  %0 = arith.muli %a, %a : i16777215\n  return", "%a: i16777215"),
    "float-beyond-its-type": _function("  %0 = arith.constant 1.0e99999 : f16\n  return"),
    "float-in-hexadecimal-too-long": _function(f"  %0 = arith.constant 0x{'F' * 400} : f32\n  return"),
    "dense-of-huge-shape": _function("  %0 = arith.constant dense<1> : vector<2147483647x2147483647xi32>\n  return"),
    "dense-of-shape-beyond-64-bits": _function(
        "  %0 = arith.constant dense<1> : vector<9223372036854775807x9223372036854775807xi8>\n  return"
    ),
    "dense-of-negative-shape": _function("  %0 = arith.constant dense<1> : vector<-4xi32>\n  return"),
    "dense-of-too-few": _function("  %0 = arith.constant dense<[1, 2]> : vector<4xi32>\n  return"),
    "dense-hexadecimal-odd": _function('  %0 = arith.constant dense<"0x123"> : tensor<4xi32>\n  return'),
    "dense-resource-missing": _function("  %0 = arith.constant dense_resource<no> : tensor<4xi32>\n  return"),
    "resource-hostile": _function("  return") + b'{-# dialect_resources: { builtin: { no: "0x08" } } #-}\n',
    "resource-of-unknown-dialect": _function("  return")
    + b'{-# dialect_resources: { none: { a: "0x0800000001" } } #-}\n',
    "array-of-a-million": b"module attributes {a = [" + b"1," * 1_000_000 + b"1]} {}\n",
    "line-of-a-million-characters": b"func.func @" + b"f" * 1_000_000 + b"() { retur }\n",
    "comment-of-ten-million-characters": b"//" + b"x" * 10_000_000 + b"\nfunc.func\n",
    "string-without-end": b'module attributes {a = "' + b"x" * 10_000,
    "string-with-all-bytes": b'module attributes {a = "' + bytes(range(1, 256)) + b'"} {}\n',
    "name-with-escape-codes": b'module { func.func @"\\1B]0;owned\\07\\0A\\0Aerror: not ours"() { retur } }\n',
    "name-with-newlines": b'module { func.func @"a\\0Aerror: b"() -> i32 { return } }\n',
    "name-with-markup": b'module { func.func @"[/bold][red]"() -> i32 { return } }\n',
    "name-with-a-path": b'module { func.func @"../../../tmp/owned"() { return } }\n',
    "location-with-escape-codes": (
        b'func.func @f() -> i32 { "func.return"() : () -> () loc("\\1B]0;owned\\07\\0Aerror: x":1:1) }\n'
    ),
    "location-of-a-device": b'func.func @f() -> i32 { "func.return"() : () -> () loc("/dev/zero":1:1) }\n',
    "location-of-a-folder": b'func.func @f() -> i32 { "func.return"() : () -> () loc("/":4294967295:1) }\n',
    "location-beyond-32-bits": b'func.func @f() -> i32 { "func.return"() : () -> () loc("f":9999999999:9999999999) }\n',
    "location-of-negative-line": b'func.func @f() -> i32 { "func.return"() : () -> () loc("f":-1:-1) }\n',
    "errors-by-the-thousand": b"func.func @f() -> i32 { return }\n" * 20_000,
    # MLIR would verify such functions in threads of its own, which once waited for one another.
    **{
        f"errors-in-{count}-functions": b"gpu.module @k {\n" + _invalid(count, "k") + b"}\n" + _invalid(count, "h")
        for count in (2, 3, 4)
    },
    "split-marks-alone": b"// -----\n" * 1000,
    "module-in-a-module": b"module {" * 50 + b"}" * 50,
    "attributes-twice": b"module attributes {a = 1, a = 2} {}\n",
    "kernel-on-the-host": b"gpu.module @k { func.func @f() { func.call @g() : () -> ()\n return } }\n"
    b"func.func @g() { return }\n",
    "gpu-module-of-unknown-target": b'gpu.module @k [#nvvm.target<chip = "sm_9999">] {}\n',
    "gpu-module-of-hostile-target": b'gpu.module @k [#nvvm.target<chip = "../../x", features = "-o /tmp/x">] {}\n',
    "layout-of-unknown-form": b'func.func @f(%a: !cute.layout<"nonsense">) { return }\n',
    "layout-empty": b'func.func @f(%a: !cute.layout<"">) { return }\n',
    "layout-with-a-quote": b'func.func @f(%a: !cute.layout<"(4:1\\22">) { return }\n',
    "layout-of-negative-shape": b'func.func @f(%a: !cute.layout<"(-4,8):(8,1)">) { return }\n',
    "layout-of-zero-shape": b'func.func @f(%a: !cute.layout<"(0,0):(0,0)">) { return }\n',
    "layout-beyond-64-bits": b'func.func @f(%a: !cute.layout<"99999999999999999999:1">) { return }\n',
    "layout-of-different-ranks": b'func.func @f(%a: !cute.layout<"(4,8):(1,(2,3))">) { return }\n',
    "layout-huge": b'func.func @f(%a: !cute.layout<"(2147483647,2147483647):(2147483647,1)">) { return }\n',
    "layout-made-huge": (
        b'func.func @f() { %0 = cute.make_layout() : !cute.layout<"(2147483647,2147483647,2147483647):'
        b'(1,2147483647,4611686014132420609)">\n %1 = "cute.size"(%0) : (!cute.layout<"(2147483647,2147483647,'
        b'2147483647):(1,2147483647,4611686014132420609)">) -> !cute.int_tuple<"?">\n return }\n'
    ),
    "integer-tuple-of-nonsense": b'func.func @f(%a: !cute.int_tuple<"(1,?{div=x},%)">) { return }\n',
    "pointer-of-nonsense": b"func.func @f(%a: !cute.ptr<i7, gmem, align<3>>) { return }\n",
    "memref-of-nonsense": b'func.func @f(%a: !cute.memref<f32, gmem, align<16>, "(?,?)">) { return }\n',
    "swizzle-of-nonsense": b'func.func @f(%a: !cute.swizzle<"S<-1,900,3>">) { return }\n',
    "loop-without-end": _function(
        "  %c = arith.constant true\n  scf.while : () -> () {\n    scf.condition(%c)\n  } do {\n    scf.yield\n  }\n"
        "  return"
    ),
    "loop-of-step-zero": _function(
        "  %z = arith.constant 0 : i32\n  scf.for %i = %z to %a step %z : i32 {\n  }\n  return"
    ),
    "loop-of-2-to-the-60": _function(
        "  %z = arith.constant 0 : i64\n  %o = arith.constant 1 : i64\n"
        "  %n = arith.constant 1152921504606846976 : i64\n"
        "  %s = scf.for %i = %z to %n step %o iter_args(%x = %z) -> (i64) : i64 {\n    %y = arith.addi %x, %i : i64\n"
        "    scf.yield %y : i64\n  }\n  return"
    ),
    "division-by-zero": _function("  %z = arith.constant 0 : i32\n  %0 = arith.divsi %z, %z : i32\n  return"),
    "shift-beyond-its-width": _function("  %z = arith.constant 99 : i32\n  %0 = arith.shli %a, %z : i32\n  return"),
    "assembly-hostile": _function(
        '  llvm.inline_asm has_side_effects "}} .include \\22/etc/passwd\\22", "=r,r" %a : (i32) -> i32\n  return'
    ),
}

_NESTED: dict[str, bytes] = {
    "deep-parentheses": _function(f"  return {'(' * _DEEP}"),
    "deep-braces": b"{" * _DEEP,
    "deep-modules": b"module {" * _DEEP + b"}" * _DEEP,
    "deep-modules-unclosed": b"module {" * _DEEP,
    "deep-regions": b'"builtin.module"() ({' * _DEEP + b"}) : () -> ()" * _DEEP,
    "deep-loops": _function("  %c = arith.constant true\n" + "scf.if %c {\n" * _DEEP + "}\n" * _DEEP + "  return"),
    "deep-function-types": _function("  return", f"%a: {'(' * _DEEP}i32{') -> ()' * _DEEP}"),
    "deep-tuple-types": _function("  return", f"%a: {'tuple<' * _DEEP}i32{'>' * _DEEP}"),
    "deep-struct-types": _function("  return", f"%a: {'!llvm.struct<(' * _DEEP}i32{')>' * _DEEP}"),
    "deep-array-types": _function("  return", f"%a: {'!llvm.array<1 x ' * _DEEP}i32{'>' * _DEEP}"),
    "deep-array-attributes": b"module attributes {a = " + b"[" * _DEEP + b"]" * _DEEP + b"} {}\n",
    "deep-dictionaries": b"module attributes {a = " + b"{a = " * _DEEP + b"1" + b"}" * _DEEP + b"} {}\n",
    "deep-dense": _function(f"  %0 = arith.constant dense<{'[' * _DEEP}1{']' * _DEEP}> : tensor<1xi32>\n  return"),
    "deep-locations": b"module {} loc(" + b"fused[" * _DEEP + b"unknown" + b"]" * _DEEP + b")\n",
    "deep-call-sites": b"module {} loc(" + b'callsite("f" at ' * _DEEP + b"unknown" + b")" * _DEEP + b")\n",
    "deep-layout": b'func.func @f(%a: !cute.layout<"' + b"(" * _DEEP + b"1" + b")" * _DEEP + b':1">) { return }\n',
    "deep-layout-unclosed": b'func.func @f(%a: !cute.layout<"' + b"(" * _DEEP + b'">) { return }\n',
    "deep-integer-tuple": b'func.func @f(%a: !cute.int_tuple<"'
    + b"(1," * _DEEP
    + b"1"
    + b")" * _DEEP
    + b'">) { return }\n',
    "deep-composed-layout": (
        b'func.func @f(%a: !cute.composed_layout<"' + b"S<1,1,1> o 0 o " * _DEEP + b'4:1">) { return }\n'
    ),
    "deep-affine-map": b"module attributes {a = affine_map<(d0) -> ("
    + b"(" * _DEEP
    + b"d0"
    + b")" * _DEEP
    + b")>} {}\n",
    "deep-successors": b"func.func @f() {\n"
    + b"".join(f"  cf.br ^b{i}\n^b{i}:\n".encode() for i in range(_DEEP))
    + b"  return\n}\n",
    "long-chain-of-uses": b"func.func @f(%x0: i32) -> i32 {\n"
    + b"".join(f"  %x{i + 1} = arith.addi %x{i}, %x{i} : i32\n".encode() for i in range(_DEEP))
    + f"  return %x{_DEEP} : i32\n}}\n".encode(),
    "wide-function": _function("  return", ", ".join(f"%a{i}: i32" for i in range(_DEEP))),
}

MODULES: dict[str, Make] = {
    **_DAMAGED,
    **_OF_A_REAL_MODULE,
    **{name: _constant(data) for name, data in {**_WRITTEN, **_NESTED}.items()},
}
"""By name, what makes the input of a real module."""
