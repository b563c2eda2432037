"""`cutecc layout`: what a layout expression is, as text, as facts and as a picture."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from cutecc.errors import LayoutError, UsageError
from cutecc.layout.algebra import composition
from cutecc.layout.basis import ArithmeticTuple
from cutecc.layout.expressions import evaluate_expression, show_value
from cutecc.layout.facts import LARGEST, Facts, facts_of, leads_to_coordinates
from cutecc.layout.functions import TiledLayout, View, describe, is_integers
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.modes import group_modes
from cutecc.layout.pictures import (
    Banks,
    Colour,
    Form,
    Line,
    Picture,
    picture_of,
    picture_of_threads,
    picture_of_tiles,
    svg,
    terminal,
)
from cutecc.layout.pictures.tiles import DIVIDES
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.tuples import is_static, is_tuple, leaves, show
from cutecc.support.output_file import write_output

Value = TypeVar("Value")


@dataclass(frozen=True)
class _Request:
    """What to draw of a layout."""

    tile: Any
    """The tile of a thread-value layout; `None` to draw the layout itself."""
    tiler: Any
    """What to divide by; `False` for nothing, since `None` is a tiler, `_`."""
    form: Form | None
    lines: tuple[Line, ...]
    banks: Banks | None


_MOST_BITS = 1024
"""Of the number of elements."""


@click.command(epilog="Example: cutecc layout '((32,4),(4,4)):((64,4),(16,1))' --tv 16x128 -o tv.svg")
@click.argument("expression", metavar="EXPRESSION")
@click.option("--tv", metavar="MxN", help="It is a thread-value layout: draw the tile of this shape, T and V in it.")
@click.option("--divide", metavar="TILER", help="Draw it in tiles: 2x4, (2,4), or layouts as in <3:3,(2,4):(1,8)>.")
@click.option("--logical", "form", flag_value="logical", help="With --divide: draw the result of logical_divide.")
@click.option("--zipped", "form", flag_value="zipped", help="With --divide: the same of zipped_divide.")
@click.option("--tiled", "form", flag_value="tiled", help="With --divide: the same of tiled_divide.")
@click.option("--flat", "form", flag_value="flat", help="With --divide: the same of flat_divide.")
@click.option("--swizzle", metavar="B,M,S", help="Compose it with the swizzle S<B,M,S>.")
@click.option("--banks", is_flag=True, help="Show the bank of shared memory that each element is in.")
@click.option("--element-bits", type=click.IntRange(1), help="The width of an element, for --banks.")
@click.option("--dtype", metavar="TYPE", help="The type of an element, for --banks: f16, bf16, f8e4m3fn, i32, …")
@click.option("--offset", "offsets", is_flag=True, help="Label with the offset, also where something else is shown.")
@click.option("--index", is_flag=True, help="Label with the index of each coordinate, leftmost mode fastest.")
@click.option("--coords", is_flag=True, help="Label with the coordinate.")
@click.option("--limit", metavar="ROWSxCOLUMNS", help="Draw no more than these; the middle is left out.")
@click.option("--width", type=click.IntRange(20), help="Characters in a line. [default: the terminal's]")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the picture: FILE.svg, FILE.txt, or - for SVG to the output."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result and what is known of it as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
def layout(
    expression: str,
    tv: str | None,
    divide: str | None,
    form: Form | None,
    swizzle: str | None,
    banks: bool,
    element_bits: int | None,
    dtype: str | None,
    offsets: bool,
    index: bool,
    coords: bool,
    limit: str | None,
    width: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Evaluate a layout expression, print the result as CuTe does, and draw it.

    EXPRESSION is a layout, '(4,8):(8,1)' or 'S<3,3,3> o 0 o (8,64):(64,1)', or calls of CuTe's functions:
    'zipped_divide((8,8):(8,1), <2,4>)', 'make_layout_tv((4,32):(32,1), (4,4):(4,1))'. `a o b` composes.
    """
    _check_picture(output)
    value = _user_error(lambda: evaluate_expression(expression))
    _check_size(value)
    value = _swizzled(value, swizzle)
    _check_together(tv, divide, form, banks)
    request = _Request(
        _tile(value, tv, divide, banks),
        _tiler(divide),
        form,
        _lines(offset=offsets, index=index, coordinate=coords, bank=banks),
        _banks(banks, element_bits, dtype),
    )
    colours = any((tv is not None, divide is not None, banks))
    asked = bool(output) or colours
    if asked:
        value = _drawable(value)
    result = _divided(value, request)
    shows = not as_json and not quiet
    picture = _user_error(lambda: _picture(value, request)) if asked or (shows and _is_small(value)) else None
    sizes = _limit(limit)
    if picture is not None and output == "-":
        click.echo(_user_error(lambda: svg(picture, **sizes)), nl=False)
        return
    click.echo(json.dumps(_as_json(result), indent=2) if as_json else _as_text(result, quiet))
    if picture is not None:
        sizes["width"] = width or shutil.get_terminal_size((80, 24)).columns
        if output:
            _write(Path(output), picture, sizes)
        elif shows:
            _echo_picture(picture, sizes, titled=colours or isinstance(value, TiledLayout))


def _echo_picture(picture: Picture, sizes: dict[str, Any], *, titled: bool) -> None:
    click.echo()
    if titled:
        click.echo(picture.subtitle)
    click.echo(terminal(picture, colour=_colour(), **sizes), nl=False, color=True)


def _user_error(make: Callable[[], Value]) -> Value:
    """What `make` returns; a mistake in an expression is one in the request."""
    try:
        return make()
    except LayoutError as error:
        raise UsageError(error.message, error.location, error.notes, error.hints) from None


# Reading options


def _swizzled(value: Any, text: str | None) -> Any:
    if text is None:
        return value
    numbers = re.fullmatch(r"\s*(?:S<)?(\d+),(\d+),(-?\d+)>?\s*", text)
    if numbers is None:
        raise UsageError(f"--swizzle takes three numbers, as in 3,4,3, not '{text}'")
    layout = _plain(value, "--swizzle")
    return _user_error(lambda: composition(Swizzle(*map(int, numbers.groups())), layout))


def _shape(text: str) -> Any:
    """A shape as `16x128`, or whatever an expression gives."""
    if re.fullmatch(r"\d+(x\d+)*", text):
        return int(text) if "x" not in text else tuple(map(int, text.split("x")))
    return evaluate_expression(text)


def _limit(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    numbers = re.fullmatch(r"(\d+)x(\d+)", text)
    if numbers is None or int(numbers[1]) < 2 or int(numbers[2]) < 2:
        raise UsageError(f"--limit takes rows and columns of at least 2, as in 64x128, not '{text}'")
    return {"rows": int(numbers[1]), "columns": int(numbers[2])}


def _element_bits(bits: int | None, dtype: str | None) -> int:
    if bits is None and dtype is not None:
        width = re.fullmatch(r"[A-Za-z]+(\d+)\w*", dtype)
        if width is None:
            raise UsageError(f"--dtype {dtype}: expected a type with its width, as f16 or i32")
        bits = int(width[1])
    if bits is None:
        raise UsageError("--banks needs to know how wide an element is", hints=["add --element-bits 16 or --dtype f16"])
    return bits


def _check_together(tv: str | None, divide: str | None, form: Form | None, banks: bool) -> None:
    """Raise `UsageError` for options that do not go together."""
    if form and divide is None:
        raise UsageError(f"--{form} says which divide to draw, and needs --divide TILER")
    if tv is not None and (divide is not None or banks):
        raise UsageError("--tv draws threads; it does not go together with --divide or --banks")
    if banks and divide is not None:
        raise UsageError("--banks and --divide both colour the elements; take one of them")


def _tile(value: Any, tv: str | None, divide: str | None, banks: bool) -> Any:
    """The tile of a thread-value layout, whose offsets are indices in it; `None` to draw the layout itself."""
    if tv is not None:
        return _user_error(lambda: _shape(tv))
    return value.tile if isinstance(value, TiledLayout) and divide is None and not banks else None


def _tiler(divide: str | None) -> Any:
    return False if divide is None else _user_error(lambda: _shape(divide))


def _banks(shown: bool, element_bits: int | None, dtype: str | None) -> Banks | None:
    return _user_error(lambda: Banks(_element_bits(element_bits, dtype))) if shown else None


def _lines(**chosen: bool) -> tuple[Line, ...]:
    """The labels that are chosen, in this order."""
    return tuple(cast(Line, line) for line, is_chosen in chosen.items() if is_chosen)


def _drawable(value: Any) -> Any:
    """The layout to draw; a shape alone is a compact one, as in CuTe. Raises `UsageError` where there is none."""
    if is_tuple(value) and is_integers(value) and None not in leaves(value):
        return make_layout(value)
    if not _is_layout(value):
        raise UsageError(f"only a layout can be drawn; this is {describe(value)}")
    return value


def _is_layout(value: Any) -> bool:
    return isinstance(value, Layout | ComposedLayout | View | TiledLayout)


def _layout_of(value: Any) -> AnyLayout:
    return value.layout if isinstance(value, View | TiledLayout) else value


def _begin(value: Any) -> ArithmeticTuple:
    return value.offset if isinstance(value, View) else 0


def _is_small(value: Any) -> bool:
    """Whether it can be drawn without being asked to."""
    if not _is_layout(value):
        return False
    layout = _layout_of(value)
    if (
        not is_static(_begin(value))
        or not layout.is_static
        or not isinstance(layout.size, int)
        or layout.size > LARGEST
    ):
        return False
    return leads_to_coordinates(layout) or facts_of(layout).injective is not None


def _plain(value: Any, option: str) -> AnyLayout:
    """The layout of a value that begins at offset 0."""
    if isinstance(value, View) and value.offset != 0:
        raise UsageError(
            f"{option} takes a layout that begins at 0; this one begins at {show(value.offset)}",
            hints=["layout(...) is the layout without that"],
        )
    if not _is_layout(value):
        raise UsageError(f"{option} takes a layout; this is {describe(value)}")
    return _layout_of(value)


# Results


def _divided(value: Any, request: _Request) -> Any:
    if request.tiler is False:
        return value
    divide = DIVIDES[request.form or "logical"]
    return _user_error(lambda: divide(_plain(value, "--divide"), request.tiler))


def _picture(value: Any, request: _Request) -> Picture:
    layout = _layout_of(value)
    if request.tile is not None:
        # The layout's offset is the index in the tile. All modes after that of the threads are the values'.
        pairs = group_modes(layout, 1, layout.rank) if layout.rank > 2 else layout
        return picture_of_threads(pairs, request.tile, lines=request.lines)
    if request.tiler is not False:
        return picture_of_tiles(layout, request.tiler, form=request.form, lines=request.lines)
    return picture_of(layout, begin=_begin(value), lines=request.lines, banks=request.banks)


def _as_text(value: Any, quiet: bool) -> str:
    lines = [show_value(value)]
    if not quiet and _is_layout(value):
        if isinstance(value, TiledLayout):
            lines.append(f"tile {show(value.tile)}")
        lines.append(_sentence(facts_of(_layout_of(value))))
    return "\n".join(lines)


def _sentence(facts: Facts) -> str:
    numbers = [f"size {facts.size}", *([f"cosize {facts.cosize}"] if facts.cosize is not None else [])]
    numbers += [f"rank {facts.rank}", f"depth {facts.depth}"]
    properties = {"injective": facts.injective, "compact": facts.compact, "in index order": facts.in_order}
    known = [name if holds else f"not {name}" for name, holds in properties.items() if holds is not None]
    return ", ".join(numbers) + (f"; {', '.join(known)}" if known else "")


def _as_json(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"result": show_value(value)}
    if isinstance(value, View):
        found |= {"layout": str(value.layout), "offset": show(value.offset)}
    if isinstance(value, TiledLayout):
        found["tile"] = show(value.tile)
    if _is_layout(value):
        facts = asdict(facts_of(_layout_of(value)))
        found |= {name: fact if isinstance(fact, int | None) else show(fact) for name, fact in facts.items()}
    return found


def _check_picture(output: str | None) -> None:
    """Raise `UsageError` for a file that no picture can be written to."""
    if not output or output == "-":
        return
    path = Path(output)
    if path.suffix not in (".svg", ".txt"):
        raise UsageError(f"-o {path}: a picture is a .svg or a .txt file")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}")


def _check_size(value: Any) -> None:
    """Raise `UsageError` for a layout of more elements than anybody can count, which Python would not print either."""
    if _is_layout(value):
        size = _layout_of(value).size
        if isinstance(size, int) and size.bit_length() > _MOST_BITS:
            raise UsageError(f"the layout has more than 2^{_MOST_BITS} elements")


def _write(path: Path, picture: Picture, sizes: dict[str, Any]) -> None:
    if path.suffix == ".svg":
        del sizes["width"]
        text = _user_error(lambda: svg(picture, **sizes))
    else:
        text = f"{picture.title}\n{terminal(picture, **sizes)}"
    write_output(path, lambda file: file.write(text.encode()))


def _colour() -> Colour:
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return "none"
    return "true" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "256"
