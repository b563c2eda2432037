"""From a view back to its type."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from cutecc.errors import Error
from cutecc.ir.pass_context import memo_of
from cutecc.ir.types.assembly_formats import ASSEMBLY_FORMATS
from cutecc.ir.types.atoms import CopyAtom, MmaAtom, TiledCopy, TiledMma
from cutecc.ir.types.directives import write
from cutecc.ir.types.elements import OpaqueType, Scalar, Vector, natural_alignment
from cutecc.ir.types.reading import TypeView, view
from cutecc.ir.types.values import ConstrainedInteger, MemRef, Pointer, StageToken

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

# What follows from the rest of an atom or its tiling, and is not in the type's text.
_DERIVED: dict[type[Any], tuple[str, ...]] = {
    CopyAtom: ("thread_id", "source_tv", "destination_tv"),
    MmaAtom: ("thread_id", "a_tv", "b_tv", "c_tv"),
    TiledCopy: ("source_tv", "destination_tv"),
    TiledMma: ("thread_layout_vmnk", "a_tv", "b_tv", "c_tv"),
}


def to_type(view_: TypeView) -> ir.Type:
    """The type that `view_` is a view of, in the current context.

    Raises `Error` when there is no such type: MLIR refuses it, takes it for another, or it has other layouts than an
    atom's view says. MLIR aborts the process over a `MemRef` whose size takes more than 64 bits.
    """
    from cutecc.ir.mlir import ir

    # `None` where there is none, whatever the bindings' stubs say.
    context = cast("ir.Context | None", ir.Context.current)
    if context is None:
        raise Error(
            f"no context is current to make the type '{type_text(view_)}' in", hints=["make it inside `with context:`"]
        )
    # A pass makes the same ones again and again.
    known = memo_of(context, to_type)
    if view_ not in known:
        known[view_] = _made(view_)
    return known[view_]


def _made(view_: TypeView) -> ir.Type:
    from cutecc.ir.mlir import ir

    text = type_text(view_)
    try:
        made = ir.Type.parse(text)
    except ir.MLIRError as failure:
        raise Error(f"'{text}' is no type", notes=[str(failure).strip()]) from None
    if str(made) != text:
        raise Error(f"'{text}' is no type: MLIR takes it for '{made}'")
    _check_derived(view_, view(made), text)
    return made


def _check_derived(said: Any, found: Any, text: str) -> None:
    for field in _DERIVED.get(said.__class__, ()):
        ours, theirs = getattr(said, field), getattr(found, field)
        if ours is not None and ours != theirs:
            raise Error(
                f"{field} of '{text}' is {theirs}, not {ours}",
                hints=["leave it out: it follows from the rest of the type"],
            )
    if isinstance(said, TiledCopy | TiledMma):
        _check_derived(said.atom, found.atom, type_text(said.atom))


def type_text(view_: TypeView) -> str:
    """The text of the type that `view_` is a view of, as MLIR prints it; nothing checks that there is such a type."""
    match view_:
        case Scalar() | Vector() | OpaqueType():
            return str(view_)
        case CopyAtom(element=Vector() | OpaqueType() as element):  # the bindings do not refuse it, they crash
            raise Error(f"no atom copies elements of type '{element}'")
        case ConstrainedInteger(width, divisibility, power_of_two):
            known = ["pow2"] if power_of_two else []
            known += [f"divby {divisibility}"] if divisibility != 1 else []
            return f"!cute.i{width}" + (f"<{', '.join(known)}>" if known else "")
        case StageToken(pipeline):
            return f"!lir.stage_token<{_body('lir.pipeline', pipeline)}>"
        case _:
            name = _name(view_)
            return f"!{name}{_body(name, view_)}"


def _name(view_: Any) -> str:
    for name, form in ASSEMBLY_FORMATS.items():
        constants = form.constants.items()
        if form.view is type(view_) and all(getattr(view_, field) == value for field, value in constants):
            return name
    raise Error(f"CuTe has no such type: {view_}")


def _body(name: str, view_: Any) -> str:
    form = ASSEMBLY_FORMATS[name]
    elsewhere = {"parameters", *form.constants, *_DERIVED.get(form.view, ())}
    fields = {each.name: getattr(view_, each.name) for each in dataclasses.fields(view_) if each.name not in elsewhere}
    if isinstance(view_, MemRef | Pointer) and view_.alignment == natural_alignment(view_.element):
        fields["alignment"] = None
    if isinstance(view_, CopyAtom | MmaAtom):
        fields |= view_.parameters
    return write(form.directives, fields, type_text)
