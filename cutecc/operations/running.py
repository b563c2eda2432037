"""Running an operation of any kind: arguments of any library, on a GPU, or on the CPU emulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, Error, NoGpuError
from cutecc.operations.any_description import AnyDescription
from cutecc.operations.arguments import lives_on_gpu, read
from cutecc.operations.choosing import forms
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.given import Given
from cutecc.operations.status import YES, Status
from cutecc.operations.variant import Bound, Variant
from cutecc.operations.views import Table
from cutecc.runtime.checks import check_device
from cutecc.support import forks
from cutecc.support.spelling import did_you_mean

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.kernel import Kernel
    from cutecc.operations.calls import Calls
    from cutecc.operations.numpy_arrays import HostCopies


class Running(ABC, Generic[AnyDescription]):
    """An operation that is described whole. Threads may share it.

    A kind of operation says how its arguments are called (`run`, `emulate`, `supports`, `workspace_bytes`, which pass
    them on to `_run`, `_emulate`, `_supports` and `_bound`), and how they are bound (`_variant`).
    """

    def _begin(self, description: AnyDescription, kernels: Sequence[Kernel | None] = ()) -> None:
        """Make it the operation of a valid description, with the kernels of its forms that are there already."""
        self.description = description
        """All parts, as given or chosen."""
        self.variants = [self._variant(each) for each in forms(description)]
        """The operation itself, and if C can be left out the form without it."""
        for variant, kernel in zip(self.variants, kernels, strict=False):
            if kernel is not None:
                variant.take(kernel)
        self._calls: dict[int, Calls] = {}
        self._copies: dict[int, HostCopies] = {}
        self._lock = forks.lock()
        self._names = {each.name for each in self.epilogue.operands}
        declared = {each.name: each.default for each in self.epilogue.inputs}
        self._has_source = self.epilogue.source is not None
        self._has_alpha, self._has_beta = "alpha" in declared, "beta" in declared
        alpha, beta = declared.get("alpha"), declared.get("beta")
        self._alpha = alpha if alpha is not None else 1.0 if self._has_alpha else None
        self._beta = 0.0 if beta is None else beta

    @abstractmethod
    def _variant(self, description: AnyDescription) -> Variant[AnyDescription]:
        """One form of the operation."""

    def _prepare(self, variant: Variant[AnyDescription], given: Given, device: str, *, keep: bool) -> None:
        """Put tables in the place of lists among the arguments; with `keep` for a launch, else to look at them.

        Raises `ArgumentError` for what is no longer looked at in a call that is like an earlier one.
        """

    @property
    def epilogue(self) -> Epilogue:
        """What becomes of the accumulators."""
        return self.description.gemm.epilogue

    def sync(self) -> None:
        """Wait for the calls so far, bring the results of numpy arrays back, and give back all memory that calls took.

        Raises `LaunchError` for faults.
        """
        # Other threads may add to them meanwhile.
        for copies in list(self._copies.values()):
            copies.sync()
        for calls in list(self._calls.values()):
            calls.synchronize()

    def _run(
        self,
        given: Given,
        operands: Collection[str],
        device: str = "cuda",
        sync: bool = False,
        emulator: EmulatorOptions | None = None,
    ) -> None:
        """A call, with those of its arguments that were given as `operands` of the epilogue.

        Raises `ArgumentError` for arguments that do not fit, before anything is launched; what compiling raises;
        `LaunchError` for failures of the driver; `NoGpuError` for numpy arrays where there is no GPU.
        """
        arguments = given.arguments
        index = self._form(arguments)
        variant = self.variants[index]
        if variant.takes_tables:
            self._prepare(variant, given, device, keep=True)
        calls = self._calls.get(index)
        if arguments["D"] is None:
            self._check_result(arguments["C"])
        if operands and not self._names.issuperset(operands):
            self._check_names(operands)
        if calls is None or device != "cuda" or emulator is not None or not calls.repeat(given):
            self._run_anew(index, given, device, emulator)
        if sync:
            self.sync()

    def _emulate(self, given: Given, operands: Collection[str], emulator: EmulatorOptions | None) -> Emulation:
        """A call on the emulator: what was found, counted and printed, as `Kernel.emulate` says."""
        from cutecc.emulator.options import EmulatorOptions
        from cutecc.operations.emulated import emulate

        variant, bound = self._bound(given, operands, device="cpu")
        return emulate(variant, bound, emulator or EmulatorOptions(), given.workspace)

    def _supports(self, given: Given, operands: Collection[str], device: str) -> Status:
        """Whether a call is taken, and why not."""
        try:
            self._bound(given, operands, device=device)
        except Error as error:
            return Status.of(error)
        return YES

    def _bound(
        self, given: Given, operands: Collection[str], *, device: str = "cuda"
    ) -> tuple[Variant[AnyDescription], Bound]:
        """The form that a call takes, and its arguments held against it, without a launch."""
        check_device(device)
        arguments = given.arguments
        variant = self.variants[self._form(arguments)]
        if arguments["D"] is None:
            self._check_result(arguments["C"])
        self._check_names(operands)
        if variant.takes_tables:
            self._prepare(variant, given, device, keep=False)
        if device == "cuda" and self._are_numpy(variant, arguments):
            from cutecc.operations.numpy_arrays import as_copied

            return variant, variant.bind(arguments, given.settings, copies=as_copied)
        return variant, variant.bind(arguments, given.settings)

    def _form(self, arguments: dict[str, Any]) -> int:
        """Which of the forms a call takes; fills in alpha and beta where they were left out.

        Raises `ArgumentError` for alpha, beta and C that do not go together, or not with the epilogue.
        """
        alpha, beta, C = arguments["alpha"], arguments["beta"], arguments["C"]
        if alpha is None:
            arguments["alpha"] = self._alpha
        elif not self._has_alpha:
            raise ArgumentError(f"alpha = {alpha} is given, and the epilogue has none")
        if beta is None:
            beta = arguments["beta"] = 0.0 if C is None else self._beta
        if not self._has_beta:
            # C counts where the epilogue has one, and beta for nothing.
            if _is_nonzero(beta):
                raise ArgumentError(
                    f"beta = {beta} is given, and the operation has none",
                    hints=[self._with_source],
                )
            if C is not None and not self._has_source:
                if arguments["D"] is None:
                    self._check_result(C)
                raise ArgumentError("C is given, and this operation has no C", hints=[self._with_source])
            return 0
        if not _is_nonzero(beta):
            if len(self.variants) > 1:
                return 1
        elif C is None:
            raise ArgumentError(f"beta = {beta}, and no C is given")
        return 0

    @property
    def _with_source(self) -> str:
        """A hint for who gives a C, or beta, to an operation that has none."""
        return f'{type(self).__name__}(…, c="f16") has a source'

    def _check_result(self, C: Any) -> None:
        """Raise `ArgumentError` for a call without D whose third argument may have been meant as such."""
        if C is not None and "D" in self._names:
            which = "" if self.description.gemm.c is not None else ", which this operation does not have"
            raise ArgumentError(
                "D is not given",
                hints=[f"the order is (A, B, C, D); the third argument is C{which}: op.run(A, B, D=D) is without"],
            )

    def _check_names(self, names: Collection[str]) -> None:
        known = [each.name for each in self.epilogue.operands]
        for name in set(names) - self._names:
            hints = [*did_you_mean(name, known), f"its operands: {', '.join(known)}"]
            raise ArgumentError(f"the epilogue has no operand '{name}'", hints=hints)

    def _run_anew(self, index: int, given: Given, device: str, emulator: EmulatorOptions | None) -> None:
        """A call that is not like an earlier one."""
        check_device(device)
        variant = self.variants[index]
        if device == "cpu":
            from cutecc.emulator.options import EmulatorOptions
            from cutecc.operations.emulated import emulate

            bound = variant.bind(given.arguments, given.settings)
            if not bound.is_empty:
                emulate(variant, bound, emulator or EmulatorOptions(), given.workspace).raise_findings()
            return
        if emulator is not None:
            raise ArgumentError("emulator= is for the CPU emulator", hints=['pass device="cpu" too'])
        if self._are_numpy(variant, given.arguments):
            self._run_on_copies(index, variant, given)
            return
        bound = variant.bind(given.arguments, given.settings)
        if not bound.is_empty:
            self._calls_of(index).launch(given, bound)

    def _calls_of(self, index: int) -> Calls:
        from cutecc.operations.calls import Calls

        if (calls := self._calls.get(index)) is None:
            with self._lock:
                calls = self._calls.get(index)
                if calls is None:
                    calls = self._calls[index] = Calls(self.variants[index])
        return calls

    @staticmethod
    def _are_numpy(variant: Variant[Any], arguments: Mapping[str, Any]) -> bool:
        """Whether all arrays are numpy's, and none a table. Raises `ArgumentError` when only some are."""
        if any(isinstance(arguments.get(name), Table) for name in variant.array_names):
            return False
        arrays = {name: cast(Array, read(name, each)) for name, each in variant.in_memory(arguments).items()}
        numpy = [name for name, each in arrays.items() if each.library == "numpy"]
        if numpy and len(numpy) < len(arrays):
            other = next(name for name in arrays if name not in numpy)
            raise ArgumentError(
                f"argument '{numpy[0]}' is a numpy array, and '{other}' is not: all arrays of a call are, or none"
            )
        return bool(numpy)

    def _run_on_copies(self, index: int, variant: Variant[Any], given: Given) -> None:
        """A call on numpy arrays: copied to the current GPU; what is written comes back at `sync`."""
        from cutecc.operations.numpy_arrays import as_copied, copies_here
        from cutecc.runtime.streams import read_stream

        try:
            with self._lock:
                copies = copies_here(self._copies)
        except NoGpuError:
            # What does not fit is said first: it would not fit where there is a GPU either.
            variant.bind(given.arguments, given.settings, copies=as_copied)
            raise
        stream = 0 if given.stream is None else read_stream(given.stream)
        written = {each.name for each in self.epilogue.outputs}
        values = variant.in_memory(given.arguments)
        outputs = [name for name in values if name.partition("[")[0] in written]
        with copies.of_call(values, outputs, stream) as copy:
            bound = variant.bind(given.arguments, given.settings, copies=copy)
            if not bound.is_empty:
                self._calls_of(index).launch(replace(given, stream=stream), bound, repeatable=False)


def _is_nonzero(beta: Any) -> bool:
    """Whether beta scales C by anything; a value that is no number is refused later."""
    if type(beta) is float:
        return beta != 0.0
    if lives_on_gpu(beta):
        return True
    try:
        return bool(beta != 0)
    except (TypeError, ValueError, RuntimeError):
        return True
