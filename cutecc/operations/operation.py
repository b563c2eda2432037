"""An operation of any kind: compiled, kept in one file, reported, and copied to other processes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from cutecc.errors import Error, UsageError
from cutecc.operations.any_description import AnyDescription, Description
from cutecc.operations.choosing import fitting_target, target_names
from cutecc.operations.running import Running
from cutecc.operations.words import of_kind

if TYPE_CHECKING:
    from cutecc.kernel import Kernel
    from cutecc.report.writing import Report


class Operation(Running[AnyDescription]):
    """An operation. What is not given is chosen; it is compiled when it is first needed.

    Threads may share it, and processes copies of it.
    """

    described_by: ClassVar[type[Description]]
    """The kind of description that it has."""
    _choose: Callable[..., AnyDescription] | None = None
    """Chooses what was not given for another `target`; `None` where nobody knows what was given."""
    _problem: Any = None
    """The sizes that it was chosen for."""

    @classmethod
    @abstractmethod
    def of(cls, description: AnyDescription) -> Self:
        """The operation of a description. Raises `UsageError` with the reason and the nearest where there is none."""

    @classmethod
    def serves(cls, description: Description) -> bool:
        """Whether a description is one of this kind of operation."""
        return isinstance(description, cls.described_by)

    @classmethod
    def made(
        cls,
        description: AnyDescription,
        kernels: Sequence[Kernel | None] = (),
        choose: Callable[..., AnyDescription] | None = None,
        problem: Any = None,
    ) -> Self:
        """The operation of a valid description, with kernels that are there already."""
        made = cls.__new__(cls)
        made._choose, made._problem = choose, problem
        made._begin(description, kernels)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # What is compiled goes along; results that have not come back, tables and plans of launches do not.
        kernels = [each.kernel if each.has_kernel else None for each in self.variants]
        return type(self).made, (self.description, kernels, self._choose, self._problem)

    @classmethod
    def load(cls, path: str | Path, *, target: str | None = None) -> Self:
        """The operation that `bundle` wrote. Needs neither the DSL nor MLIR.

        Of several targets the one that fits this machine's GPU, or `target`. Raises `RecordError` for a file that is
        no such bundle, `UsageError` for a target that it does not hold, and for one of another kind of operation.
        """
        description, kernels = read_operation(path, target)
        if not cls.serves(description):
            raise UsageError(
                f"{path} is no {cls.__name__}: it holds {description}", hints=["cutecc.operations.load reads any"]
            )
        return cls.made(description, kernels)  # type: ignore[arg-type]  # of this kind

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.description.name}>"

    def compile(self, *, progress: bool = False) -> Kernel:
        """Compile what is not compiled yet, or take it from the cache, and return the kernel.

        With a source there are two, since beta = 0 means that C is not read: the one that reads it is returned, and
        `kernels` has both. Raises `cutecc.Error` for what does not compile.
        """
        results = compile_all([self], progress=progress)
        if isinstance(results[0], Error):
            raise results[0]
        return results[0]

    @property
    def kernels(self) -> list[Kernel]:
        """The compiled kernels: the operation's, and if C can be left out that of the form without it."""
        self.compile()
        return [each.kernel for each in self.variants]

    def bundle(self, path: str | Path, *, targets: Sequence[str] | str | None = None) -> None:
        """Write the compiled operation to one file, which `load` reads where neither the DSL nor MLIR is.

        `targets` are those to compile it for, by default its own; on each, what was not given is chosen anew. Raises as
        `compile` does, `RecordError` for a file that cannot be written, `UsageError` when something else is there.
        """
        from cutecc.operations import bundles

        names = [self.description.target] if targets is None else target_names(targets)
        operations = [self if name == self.description.target else self._for_target(name) for name in names]
        for result in compile_all(operations):
            if isinstance(result, Error):
                raise result
        bundles.write(path, [[(each.description, each.kernel) for each in op.variants] for op in operations])

    def report(self, path: str | Path, *, open: bool = False) -> Report:
        """Write the page that shows how the kernel is compiled to the HTML file `path`; with `open` show it too.

        Compiles the kernel again: the page shows what each pass made, of which the cache keeps nothing. Raises as
        `compile` and `cutecc.write_report` do.
        """
        from cutecc.compilation.request import CompileOptions
        from cutecc.operations.compiling import compile_descriptions
        from cutecc.report.writing import write_report

        (kernel,) = compile_descriptions([self.description], options=CompileOptions(report=True))
        if isinstance(kernel, Error):
            raise kernel
        report = write_report(kernel, path)
        if open:
            import webbrowser

            webbrowser.open(report.path.absolute().as_uri())
        return report

    def _for_target(self, name: str) -> Self:
        if self._choose is None:
            raise UsageError(
                f"this operation is described for {self.description.target} alone, not for {name}",
                hints=[f"{type(self).__name__}(a=…, b=…, d=…) is described without a target"],
            )
        return self.made(self._choose(target=name), (), self._choose, self._problem)


def compile_all(
    operations: Sequence[Operation[Any]],
    *,
    workers: int | None = None,
    progress: bool | Callable[[Any, Kernel | Error], None] = False,
) -> list[Kernel | Error]:
    """Compile operations in parallel processes; for each its kernel, or why there is none, in their order.

    What was compiled before comes from the cache, without the DSL. `workers` is the number of processes, by default one
    for each processor. `progress` draws a bar on standard error, or is told of each operation when it is done. Raises
    `UsageError` for what is no operation.
    """
    from cutecc.operations.compiling import compile_descriptions

    listed = [cast("Operation[Any]", of_kind(each, Operation, "an operation to compile")) for each in operations]
    wanted = [each for op in listed for each in op.variants if not each.has_kernel]
    results = _Results(listed)

    def tell(description: Description, result: Kernel | Error) -> None:
        assert callable(progress)
        results.add(key := description.compiled().key, result)
        for op in results.completed_by(key):
            progress(op, results.of(op))

    if callable(progress):
        for op in results.complete(listed):
            progress(op, results.of(op))
    descriptions = [each.description for each in wanted]
    compiled = compile_descriptions(descriptions, workers=workers, progress=tell if callable(progress) else progress)
    for each, result in zip(wanted, compiled, strict=True):
        results.add(each.compiled.key, result)
        if not isinstance(result, Error):
            each.take(result)
    return [results.of(op) for op in listed]


class _Results:
    """What comes of operations, whose variants are compiled in any order."""

    def __init__(self, operations: Sequence[Operation[Any]]) -> None:
        self._operations = operations
        self._keys = {id(op): {each.compiled.key for each in op.variants if not each.has_kernel} for op in operations}
        """Of the variants that an operation lacks."""
        self._found: dict[str, Kernel | Error] = {}

    def add(self, key: str, result: Kernel | Error) -> None:
        """Take what came of the variants of this key."""
        self._found[key] = result

    def completed_by(self, key: str) -> list[Operation[Any]]:
        """The operations that lacked this key, and lack nothing any more."""
        return self.complete(op for op in self._operations if key in self._keys[id(op)])

    def complete(self, operations: Iterable[Operation[Any]]) -> list[Operation[Any]]:
        """Those of the operations that lack nothing."""
        return [op for op in operations if self._keys[id(op)] <= self._found.keys()]

    def of(self, op: Operation[Any]) -> Kernel | Error:
        """The first kernel of a complete operation, or why it has none."""
        found = [self._found.get(each.compiled.key) or each.kernel for each in op.variants]
        return next((each for each in found if isinstance(each, Error)), found[0])


def read_operation(path: str | Path, target: str | None) -> tuple[Description, list[Kernel]]:
    """What `bundle` wrote: of several targets for the one that fits. Raises as `Operation.load`."""
    from cutecc.operations import bundles

    found = bundles.read(path)
    name = target or fitting_target(list(found))
    if name not in found:
        raise UsageError(f"{path} holds nothing for {name}", hints=[f"it is for {', '.join(found)}"])
    return found[name][0][0], [kernel for _, kernel in found[name]]
