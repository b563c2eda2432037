"""Edits of attributes, constants, layouts, sizes and names: what exactly comes of a small module."""

from __future__ import annotations

from reduction_editing import ALL, after, canonical, check

from cutecc.workbench.reduction.texts import edit_text
from cutecc.workbench.reduction.working import Manner, count_sites, edited, normalised

# Attributes.


def test_attributes_go_and_numbers_become_simple() -> None:
    text = """func.func @f() attributes {x.a = 12 : i32, x.b = 2.5 : f32, x.c} {
      %0 = arith.constant 48 : i32
      %1 = arith.constant dense<[2, 3]> : vector<2xi32>
      %2 = arith.constant -9 : i64
      return
    }"""
    known = canonical(text)
    assert count_sites(known, "attributes") == 3
    check("attributes", text, (0, 2), text.replace("x.a = 12 : i32, ", "").replace(", x.c", ""))
    assert count_sites(known, "constants to 0") == 5
    check("constants to 0", text, (ALL,), """func.func @f() attributes {x.a = 0 : i32, x.b = 0.0 : f32, x.c} {
      %0 = arith.constant 0 : i32 %1 = arith.constant dense<0> : vector<2xi32> %2 = arith.constant 0 : i64 return
    }""")  # fmt: skip
    check("constants to 1", text, (1, 3), text.replace("2.5", "1.0").replace("dense<[2, 3]>", "dense<1>"))
    assert count_sites(known, "constants halved") == 3
    check("constants halved", text, (ALL,), text.replace("12", "6").replace("48", "24").replace("-9", "-4"))


def test_an_attribute_with_a_default_has_it_again() -> None:
    text = "func.func @f(%a: f32) { %0 = arith.mulf %a, %a fastmath<fast> : f32 return }"
    check("attributes", text, (ALL,), text.replace(" fastmath<fast>", ""))
    assert after("attributes", text.replace(" fastmath<fast>", ""), ALL) is None


def test_what_an_operation_cannot_be_without_is_refused() -> None:
    text = "func.func @f(%a: !llvm.ptr) { %0 = llvm.getelementptr %a[1] : (!llvm.ptr) -> !llvm.ptr, i8 return }"
    assert after("attributes", text, ALL) is None


def test_locations_are_forgotten() -> None:
    text = """func.func @f(%a: i32) {
      %0 = math.absi %a : i32 loc("a.py":1:2) return loc("a.py":3:4)
    } loc("b.py":1:1)"""
    manner = Manner(locations=True)
    known = normalised(text.encode(), True).text
    found = edited(known, "locations", [*range(count_sites(known, "locations"))], manner)
    assert found is not None and "a.py" not in found.text and "b.py" not in found.text


# Text.

LAYOUTS = """func.func @f(%m: !cute.memref<f32, gmem, "(8,(4,2)):(1,(8,32))">) {
  %0 = cute.get_layout(%m) : !cute.memref<f32, gmem, "(8,(4,2)):(1,(8,32))">
  %1 = cute.static : !cute.layout<"(16,8):(8,1)">
  return
}"""


def test_a_mode_goes_wherever_the_layout_stands() -> None:
    known = canonical(LAYOUTS)
    assert count_sites(known, "modes of layouts") == 4
    check("modes of layouts", LAYOUTS, (0,), LAYOUTS.replace("(8,(4,2)):(1,(8,32))", "(4,2):(8,32)"))
    both = LAYOUTS.replace("(8,(4,2)):(1,(8,32))", "8:1").replace("(16,8):(8,1)", "16:8")
    check("modes of layouts", LAYOUTS, (1, 3), both)


def test_sizes_of_one_layout_or_of_all() -> None:
    text = """func.func @f() {
      %1 = cute.static : !cute.layout<"(16,8):(8,1)"> %2 = cute.static : !cute.layout<"16:4"> return
    }"""
    known = canonical(text)
    assert count_sites(known, "sizes in layouts to 1") == 5
    check("sizes in layouts to 1", text, (1,), text.replace("(16,8):", "(16,1):"))
    check("sizes in layouts halved", text, (0,), text.replace("(16,8):", "(8,8):"))
    assert count_sites(known, "sizes everywhere halved") == 3
    check("sizes everywhere halved", text, (0,), text.replace("16", "8"))
    check("sizes everywhere to 1", text, (0, 1, 2), text.replace("(16,8):(8,1)", "(1,1):(1,1)").replace("16:4", "1:1"))


def test_sizes_that_follow_from_each_other_change_together() -> None:
    # An element-wise sum needs one type, and so does what it is broadcast to.
    text = """func.func @f(%x: f32) -> vector<8xf32> {
      %0 = vector.broadcast %x : f32 to vector<8xf32>
      %1 = arith.addf %0, %0 : vector<8xf32>
      return %1 : vector<8xf32>
    }"""
    check("sizes in types to 1", text, (0,), text.replace("8x", "1x"))
    check("sizes in types halved", text, (0,), text.replace("8x", "4x"))
    array = "llvm.func @f(%a: !llvm.array<12 x array<4 x f32>>) { llvm.return }"
    check("sizes in types halved", array, (0,), array.replace("12", "6"))


def test_what_is_no_size_stays() -> None:
    text = 'f16 vector<4xf16> "(?,?{i64 div=8}):(1,?)" @name16_4 array<i32: 4, 16>'
    assert edit_text(text, "sizes everywhere halved", [*range(3)]) == (
        'f16 vector<2xf16> "(?,?{i64 div=4}):(1,?)" @name16_4 array<i32: 2, 8>'
    )


def test_long_names_become_short_ones_that_are_free() -> None:
    text = """
    func.func @a_name_that_is_long(%a: i32) { return }
    func.func @a_name_that_is_long_too(%a: i32) { call @a_name_that_is_long(%a) : (i32) -> () return }
    func.func @f0() { return }
    """
    assert count_sites(canonical(text), "names") == 2
    check("names", text, (0,), text.replace("@a_name_that_is_long(", "@f1("))
    check("names", text, (1,), text.replace("@a_name_that_is_long_too(", "@f2("))
