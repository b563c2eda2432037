"""PTX of any compiler as what `cutecc run` and `sanitize` launch, and the options that say how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import NoneSpec, Spec, TensorSpec
from cutecc.cli.files import read_input
from cutecc.cli.option_texts import split_arg
from cutecc.cli.options import apply_all
from cutecc.cli.subject import Subject
from cutecc.errors import SourceLocation, UsageError
from cutecc.record import Workload
from cutecc.support.distributions import needed_by

if TYPE_CHECKING:
    from cutecc.emulator.grid import Dim3
    from cutecc.emulator.limits import Limits

launch_options = apply_all(
    click.option(
        "--kernel", metavar="NAME", help="Of FILE.ptx: the kernel where it has several; part of the name does."
    ),
    click.option("--grid", metavar="X,Y,Z", help="Of FILE.ptx: the grid to launch."),
    click.option("--block", metavar="X,Y,Z", help="Of FILE.ptx: the threads of a block."),
    click.option("--cluster", metavar="X,Y,Z", help="Of FILE.ptx: the blocks of a cluster."),
    click.option("--cooperative", is_flag=True, default=None, help="Of FILE.ptx: its blocks wait for each other."),
    click.option("--shared-bytes", type=click.IntRange(0), metavar="N", help="Of FILE.ptx: dynamic shared memory."),
)
_ALIGNMENT = 256
"""Bytes that allocators of a GPU align to."""
_EXAMPLES = {"grid": "4,1,1", "block": "128,1,1"}
_NAMES = ("kernel", "grid", "block", "cluster", "cooperative", "shared_bytes")


@dataclass(frozen=True)
class LaunchOptions:
    """What the command line says of the launch."""

    kernel: str | None
    grid: str | None
    block: str | None
    cluster: str | None
    cooperative: bool | None
    shared_bytes: int | None

    @classmethod
    def read(cls, values: dict[str, Any]) -> LaunchOptions:
        return cls(*(values[name] for name in _NAMES))

    @property
    def given(self) -> list[str]:
        """The options that are there, as they are written."""
        return [f"--{name.replace('_', '-')}" for name in _NAMES if getattr(self, name) is not None]


def ptx_subject(text: str, launch: LaunchOptions, args: Sequence[str], untrusted: Limits | None = None) -> Subject:
    """The kernel of a PTX file; `args` are specs of its parameters, in their order, by names of the caller's.

    With `untrusted`, which are the limits then, nobody knows who made it: it is read here, and no more. Raises
    `UsageError`, `SpecError` and `ArgumentError` for what does not fit it, `ParseError`, and `LimitError`.
    """
    with needed_by(f"running {text}", extra="emulator"):
        from cutecc.arguments.numba_arrays import specs_apart, takes_arrays_apart
        from cutecc.emulator.limits import Limits
        from cutecc.ptx_kernel import PtxLaunch, entry_of, ptx_kernel, read_module

    missing = [name for name in ("grid", "block") if getattr(launch, name) is None]
    if missing:
        example = " ".join(f"--{name} {_EXAMPLES[name]}" for name in missing)
        raise UsageError(f"{text} does not say how it is launched", hints=[f"say it: {example}"])
    ptx = read_input(Path(text)).decode(errors="replace")
    module = read_module(ptx, untrusted or Limits(), text)
    entry = entry_of(module, launch.kernel)
    specs = {
        name: parse_spec(spec, SourceLocation(f"--arg {name}", column=1, text=spec))
        for name, spec in map(split_arg, args)
    }
    made = PtxLaunch(
        _extent("grid", launch.grid),
        _extent("block", launch.block),
        launch.shared_bytes or 0,
        None if launch.cluster is None else _extent("cluster", launch.cluster),
        bool(launch.cooperative),
    )
    if takes_arrays_apart(entry, len(specs)):
        specs = specs_apart(specs)
    specs = {name: _as_allocated(spec) for name, spec in specs.items()}
    kernel = replace(ptx_kernel(ptx, entry, module.target, made, specs, source=text), untrusted=untrusted is not None)
    return Subject(kernel, {name: spec for name, spec in specs.items() if not isinstance(spec, NoneSpec)}, Workload())


def _as_allocated(spec: Spec) -> Spec:
    """A tensor lies as allocators of a GPU place it, unless its spec says how: what the code relies on is not known."""
    return replace(spec, align=_ALIGNMENT) if isinstance(spec, TensorSpec) and spec.align is None else spec


def _extent(name: str, text: str | None) -> Dim3:
    parts = (text or "").replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"--{name} takes up to three numbers, not '{text}'", hints=[f"for example --{name} 64,2"])
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    return x, y, z
