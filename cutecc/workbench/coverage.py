"""Coverage: whether the `open` pipeline lowers modules, and what they need of it: operations and atoms.

Whether it does, its passes themselves say: they run, up to code generation. What it lowers is what they go by: each
pass looks for the operations that it says it `lowers`, and atoms have a row each in `cutecc/passes/lowering/atoms`.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cutecc.errors import Error, PassError, SourceLocation
from cutecc.passes.base import Pass
from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.support.isolation import ProcessDied
from cutecc.target import Target
from cutecc.workbench.chunks import work_apart
from cutecc.workbench.inputs import Input, load_all

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Kind = Literal["operation", "copy atom", "matrix product atom"]
KINDS: tuple[Kind, ...] = ("operation", "copy atom", "matrix product atom")

_BASE = frozenset(
    ("arith", "builtin", "cf", "cuda", "func", "gpu", "llvm", "math", "nvvm", "scf", "ub", "vector"),
)
"""Dialects that the rest of the pipeline converts, with passes that are MLIR's own."""
_REMOVED = {"iket": ("strip-iket-ops",)}
"""Dialects of which one of the wheel's passes removes every operation."""
_WITH_ATOM = ("cute.copy", "cute.gemm", "cute.copy_atom_call", "cute.mma_atom_call")
"""Operations whose first operand is the atom that they execute."""


@dataclass(frozen=True, order=True)
class Need:
    """Something that a module needs lowered."""

    kind: Kind
    name: str
    """The operation's name; of an atom its kind and what else decides about its instruction."""


@dataclass(frozen=True)
class Use:
    """How often a module needs something, and where first."""

    need: Need
    count: int
    lowered_by: tuple[str, ...]
    """Passes, with the package or file of an atom's row that is not cutecc's; empty where there is none."""
    first: SourceLocation | None = None


@dataclass(frozen=True)
class Failed:
    """Where the passes of `open` ended on a module."""

    message: str
    pass_name: str | None = None
    location: SourceLocation | None = None


@dataclass(frozen=True)
class ModuleCoverage:
    """What one module needs, and whether it is lowered."""

    file: str
    target: str
    uses: tuple[Use, ...] = ()
    unreadable: Failed | None = None
    """Why it could not be traced, read, or brought as far as the first lowering pass."""
    failed: Failed | None = None
    """Where the passes of `open` end on it."""
    verified: bool = False
    """Whether the tables are held against that."""

    @property
    def missing(self) -> list[Use]:
        """What the tables have no pass for."""
        return [use for use in self.uses if not use.lowered_by]

    @property
    def covered(self) -> bool:
        """Whether the passes run through."""
        return self.unreadable is None and self.failed is None

    @property
    def contradicts(self) -> bool:
        """Whether the tables, when they are verified, say something else."""
        return self.verified and self.unreadable is None and self.covered == bool(self.missing)


@dataclass
class Row:
    """One operation or atom over all modules."""

    need: Need
    lowered_by: tuple[str, ...]
    modules: int = 0
    count: int = 0
    first: tuple[str, SourceLocation | None] | None = None
    """The first module that needs it, and where."""


@dataclass(frozen=True)
class _Task:
    input: Input
    module: bytes
    verify: bool


@functools.cache
def lowered_by() -> dict[str, tuple[str, ...]]:
    """By operation, the passes of `open` that lower it."""
    found: dict[str, list[str]] = {}
    for pass_ in open_pipeline("sm_90a"):
        for name in pass_.lowers:
            found.setdefault(name, []).append(pass_.name)
    return {name: tuple(passes) for name, passes in found.items()}


def operations_of_dialects() -> list[str]:
    """Every operation that CuTe's dialects have."""
    from cutecc.ir.mlir import cute, cute_nvgpu

    classes = [each for dialect in (cute, cute_nvgpu) for each in vars(dialect).values() if isinstance(each, type)]
    names = {getattr(each, "OPERATION_NAME", None) for each in classes}
    return sorted(name for name in names if isinstance(name, str))


def survey(
    inputs: Sequence[Input],
    *,
    jobs: int,
    verify: bool = False,
    on_module: Callable[[ModuleCoverage], None] = lambda module: None,
) -> list[ModuleCoverage]:
    """What each of `inputs` needs, in their order, found out by `jobs` processes; an abort is that module's failure.

    With `verify`, each says where the tables are wrong about it.
    """
    found: dict[int, ModuleCoverage] = {}
    entered: dict[int, str] = {}
    needed: dict[int, tuple[Use, ...]] = {}

    def tasks() -> Iterator[tuple[int, _Task]]:
        """The modules that can be read."""
        for index, (each, loaded) in enumerate(load_all(inputs, jobs)):
            if isinstance(loaded, Error):
                told(index, ModuleCoverage(each.file, each.target, unreadable=_failed(loaded)))
            else:
                yield index, _Task(each, loaded, verify)

    def told(index: int, what: _Told) -> bool:
        match what:
            case ModuleCoverage():
                found[index] = what
                on_module(what)
            case str():
                entered[index] = what
            case _:
                needed[index] = what
        return index in found

    def died(index: int, task: _Task, death: ProcessDied) -> None:
        failure = Failed(death.message, entered.get(index))
        module = ModuleCoverage(task.input.file, task.input.target, verified=verify)
        if index in needed:
            told(index, replace(module, uses=needed[index], failed=failure))
        else:
            told(index, replace(module, unreadable=failure))

    work_apart("cutecc.workbench.coverage:survey_chunk", tasks(), jobs=jobs, told=told, died=died)
    return [found[index] for index in range(len(inputs))]


_Told = str | tuple[Use, ...] | ModuleCoverage
"""Of a module: the pass that begins, what it needs, and at last all that was found."""
_Event = tuple[int, _Told]


def survey_chunk(tasks: dict[int, _Task], *, emit: Callable[[_Event], None]) -> None:
    """Look at modules in this process, one after the other; tells `emit` how it goes."""
    for index, task in tasks.items():
        emit((index, _look(task, functools.partial(_tell, emit, index))))


def _tell(emit: Callable[[_Event], None], index: int, told: _Told) -> None:
    emit((index, told))


def _look(task: _Task, tell: Callable[[_Told], None]) -> ModuleCoverage:
    from cutecc.ir.modules import fresh_context

    found = ModuleCoverage(task.input.file, task.input.target, verified=task.verify)
    with fresh_context():
        try:
            module, lowering, uses = _needed(task.module, task.input, tell)
        except Error as error:
            return replace(found, unreadable=_failed(error))
        tell(uses)
        try:
            _run(lowering, module, tell)
        except Error as error:
            return replace(found, uses=uses, failed=_failed(error))
    return replace(found, uses=uses)


def _needed(
    bytecode: bytes, of: Input, entering: Callable[[str], None]
) -> tuple[ir.Module, Sequence[Pass], tuple[Use, ...]]:
    """A module where the first pass that lowers begins, the passes from there to code generation, what it needs.

    Raises `Error`.
    """
    from cutecc.compilation.planning import uses_lir, uses_pyir
    from cutecc.ir.modules import parse

    module, target = parse(bytecode, of.file), of.target
    passes = open_pipeline(target, lir=uses_lir(module), pyir=uses_pyir(module)).passes
    first = next(index for index, pass_ in enumerate(passes) if pass_.lowers)
    last = next(index for index, pass_ in enumerate(passes) if pass_.name in CODE_GENERATION)
    _run(passes[:first], module, entering)
    return module, passes[first:last], tuple(uses_of(module, target))


def _run(passes: Iterable[Pass], module: ir.Module, entering: Callable[[str], None]) -> None:
    from cutecc.passes import manager

    for pass_ in passes:
        entering(pass_.name)
        manager.run(Pipeline((pass_,)), module)


def _failed(error: Error) -> Failed:
    return Failed(error.message, error.pass_name or None if isinstance(error, PassError) else None, error.location)


def uses_of(module: ir.Module, target: str) -> list[Use]:
    """What `module` needs for `target`: operations of CuTe's dialects and of others that nobody converts, and atoms."""
    from cutecc.ir.locations import user_location
    from cutecc.ir.walking import walk

    counts: dict[Need, int] = {}
    first: dict[Need, ir.Operation] = {}
    passes: dict[Need, tuple[str, ...]] = {}
    for operation in walk(module):
        if (dialect := operation.name.partition(".")[0]) in _BASE:
            continue
        by = _REMOVED.get(dialect) or lowered_by().get(operation.name, ())
        needs = {Need("operation", operation.name): by}
        if operation.name in _WITH_ATOM:
            needs |= dict([_atom(operation.operands[0].type, target)])
        for need, by in needs.items():
            counts[need] = counts.get(need, 0) + 1
            first.setdefault(need, operation)
            passes[need] = by
    return [Use(need, counts[need], passes[need], user_location(first[need].location)) for need in sorted(counts)]


_Atoms = dict[tuple[int, str], tuple[Need, tuple[str, ...]]]
_atoms: weakref.WeakKeyDictionary[ir.Context, _Atoms] = weakref.WeakKeyDictionary()


def _atom(type: ir.Type, target: str) -> tuple[Need, tuple[str, ...]]:
    """The atom of a copy's or product's first operand, and who lowers it for `target`."""
    known, key = _atoms.setdefault(type.context, {}), (hash(type), target)
    if key not in known:
        known[key] = _read_atom(type, Target.parse(target))
    return known[key]


def _read_atom(type: ir.Type, target: Target) -> tuple[Need, tuple[str, ...]]:
    from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, view
    from cutecc.passes.lowering.atoms.registry import copy_row, mma_row, spelled
    from cutecc.passes.lowering.lower_atoms import LowerAtoms

    try:
        type_view = view(type)
    except Error:
        # Of a type that cutecc does not know, its name.
        found = re.search(r"!cute_nvgpu\.(?:atom\.)?([\w.]+)", str(type))
        kind: Kind = "matrix product atom" if "mma" in str(type) else "copy atom"
        return Need(kind, found[1] if found else str(type)), ()
    match type_view:
        case (CopyAtom() as atom) | TiledCopy(atom=atom):
            need, row = Need("copy atom", spelled(atom)), functools.partial(copy_row, atom, target)
        case (MmaAtom() as atom) | TiledMma(atom=atom):
            need, row = Need("matrix product atom", spelled(atom)), functools.partial(mma_row, atom, target)
        case _:
            return Need("copy atom", str(type)), ()
    try:
        origin = row().origin
    except Error:
        return need, ()
    return need, (LowerAtoms.name if origin == "cutecc" else f"{LowerAtoms.name} ({origin})",)


def missing_here(module: bytes, target: str) -> list[str]:
    """What the tables have no pass for in a traced module, looked at in this process. Raises `Error`."""
    from cutecc.ir.modules import fresh_context

    with fresh_context():
        _, _, uses = _needed(module, Input("-", target), lambda pass_name: None)
    return [use.need.name for use in uses if not use.lowered_by]


def rows(modules: Iterable[ModuleCoverage], *, every: bool = False) -> list[Row]:
    """What all modules together need, the most needed first; with `every` also the dialects' other operations.

    An atom that has passes for some modules' chips alone has a row for these, and one for the others.
    """
    found: dict[tuple[Need, tuple[str, ...]], Row] = {}
    for module in modules:
        for use in module.uses:
            need, by = use.need, use.lowered_by
            row = found.setdefault((need, by), Row(need, by, first=(module.file, use.first)))
            row.modules += 1
            row.count += use.count
    if every:
        for name in operations_of_dialects():
            need, by = Need("operation", name), lowered_by().get(name, ())
            found.setdefault((need, by), Row(need, by))
    order = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(found.values(), key=lambda row: (order[row.need.kind], -row.modules, -row.count, row.need.name))
