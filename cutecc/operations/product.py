"""Running a product: arguments of any library, on a GPU, or on the CPU emulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, Error, NoGpuError
from cutecc.operations.arguments import lives_on_gpu, read
from cutecc.operations.choosing import forms, problem_of
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.given import Given
from cutecc.operations.status import YES, Status
from cutecc.operations.tile_model import Problem
from cutecc.operations.variant import Bound, Variant
from cutecc.operations.views import MatrixArray
from cutecc.runtime.checks import check_device
from cutecc.support import forks
from cutecc.support.spelling import did_you_mean

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.kernel import Kernel
    from cutecc.operations.calls import Calls
    from cutecc.operations.numpy_arrays import HostCopies

_TABLES = 64
"""Arrays of matrices that an operation keeps tables for."""


class Product:
    """A product that is described whole. Threads may share it."""

    def __init__(self, description: GemmDescription, kernels: Sequence[Kernel | None] = ()) -> None:
        """`kernels` are those of the forms, in their order, where they are there already."""
        self.description = description
        """All parts, as given or chosen."""
        self.variants = [Variant(each) for each in forms(description)]
        """The operation itself, and if C can be left out the form without it."""
        for variant, kernel in zip(self.variants, kernels, strict=False):
            if kernel is not None:
                variant.take(kernel)
        self._calls: dict[int, Calls] = {}
        self._copies: dict[int, HostCopies] = {}
        self._tables: dict[tuple[object, ...], MatrixArray] = {}
        self._lock = forks.lock()
        self._takes_lists = description.mode == "array"
        self._names = {each.name for each in description.epilogue.operands}
        declared = {each.name: each.default for each in description.epilogue.inputs}
        self._has_alpha, self._has_beta = "alpha" in declared, "beta" in declared
        alpha, beta = declared.get("alpha"), declared.get("beta")
        self._alpha = alpha if alpha is not None else 1.0 if self._has_alpha else None
        self._beta = 0.0 if beta is None else beta

    @property
    def epilogue(self) -> Epilogue:
        """What becomes of the accumulators."""
        return self.description.epilogue

    def run(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        alpha: float | None = None,
        beta: float | None = None,
        stream: Any = None,
        workspace: Any = None,
        slices: int | None = None,
        device: str = "cuda",
        sync: bool = False,
        emulator: EmulatorOptions | None = None,
        **operands: Any,
    ) -> None:
        """Compute D; `operands` are the epilogue's others by name. Launches, and does not wait unless `sync`.

        Matrices are (M, K), (K, N), (M, N), with a batch in front if there is one: torch's, cupy's, what has DLPack,
        addresses as `DeviceMatrix`. numpy's are copied to the GPU; results come back at `sync()`. In mode `array` each
        is a list of matrices; those that begin where a result does are refused, others that share memory with one are
        not found. With beta = 0, or without C, C is not read.

        `stream` is where to launch, the current one of the arrays' library by default. `workspace` is an array of at
        least `workspace_bytes` bytes, zeros before the first call and left so; by default memory is taken from a pool.
        `slices` says into how many parts K is split. `device="cpu"` runs on the CPU emulator with the options
        `emulator`, on arrays of the CPU, in place. Of a D without elements nothing is launched. torch's autograd does
        not see the call.

        Raises `ArgumentError` for arguments that do not fit, before anything is launched; what compiling raises;
        `LaunchError` for failures of the driver; `NoGpuError` for numpy arrays where there is no GPU.
        """
        arguments = {"A": A, "B": B, "C": C, "D": D, "alpha": alpha, "beta": beta, **operands}
        index = self._form(arguments)
        if self._takes_lists:
            self._replace_lists(arguments, device, stream)
            self.variants[index].check_tables(arguments)  # also of a call that is like an earlier one
        calls = self._calls.get(index)
        given = Given(arguments, stream, workspace, slices)
        if D is None:
            self._check_result(C)
        if operands and not operands.keys() <= self._names:
            self._check_names(set(operands))
        if calls is None or device != "cuda" or emulator is not None or not calls.repeat(given):
            self._run_anew(index, given, device, emulator)
        if sync:
            self.sync()

    def sync(self) -> None:
        """Wait for the calls so far, bring the results of numpy arrays back, and give back all memory that calls took.

        Raises `LaunchError` for faults.
        """
        # Other threads may add to them meanwhile.
        for copies in list(self._copies.values()):
            copies.sync()
        for calls in list(self._calls.values()):
            calls.synchronize()
        with self._lock:
            self._tables.clear()

    def emulate(
        self, A: Any, B: Any, C: Any = None, D: Any = None, *, emulator: EmulatorOptions | None = None, **rest: Any
    ) -> Emulation:
        """As `run` with `device="cpu"`: what was found, counted and printed, as `Kernel.emulate` says."""
        from cutecc.emulator.options import EmulatorOptions
        from cutecc.operations.emulated import emulate

        slices, workspace = rest.pop("slices", None), rest.pop("workspace", None)
        variant, bound = self._bound(A, B, C, D, slices, rest, device="cpu")
        return emulate(variant, bound, emulator or EmulatorOptions(), workspace)

    def supports(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        D: Any = None,
        *,
        slices: int | None = None,
        device: str = "cuda",
        **rest: Any,
    ) -> Status:
        """Whether `run` takes these arguments, and why not. Nothing is compiled; arrays may live anywhere.

        numpy's are copied to a GPU, where they are aligned; with `device="cpu"` they are used where they are.
        """
        for name in ("stream", "workspace", "sync", "emulator"):  # which nothing depends on here
            rest.pop(name, None)
        try:
            self._bound(A, B, C, D, slices, rest, device=device)
        except Error as error:
            return Status.of(error)
        return YES

    def workspace_bytes(
        self,
        A: Any = None,
        B: Any = None,
        C: Any = None,
        D: Any = None,
        *,
        problem: tuple[int, ...] | None = None,
        slices: int | None = None,
        **rest: Any,
    ) -> int:
        """The bytes of workspace of a call with these arguments, or on a `problem`, (M, N, K) or with the batch behind.

        Raises `ArgumentError` as `run` does.
        """
        if problem is not None:
            sizes = cast(Problem, problem_of(problem))
            variant = self.variants[0]
            return variant.workspace_bytes(sizes, variant.slices(slices, sizes))
        variant, bound = self._bound(A, B, C, D, slices, rest, device="cuda")
        return variant.workspace_bytes(bound.problem, bound.slices)

    def matrices(self, name: str, matrices: Sequence[Any], *, device: str = "cuda") -> MatrixArray:
        """Matrices anywhere in memory as one argument of mode `array`, such as `"A"`: a table of their addresses.

        Calls make tables of lists by themselves and keep the last ones until `sync()`; one that a CUDA graph uses has
        to be made before, and kept. Waits for the copy of the table alone. Raises `ArgumentError` for matrices that are
        not alike.
        """
        from cutecc.operations import matrix_arrays

        check_device(device)
        if device == "cpu":
            return matrix_arrays.table_on_cpu(name, matrices)
        arrays = matrix_arrays.read_matrices(name, matrices)
        if arrays[0].device != "cuda":
            raise ArgumentError(
                f"argument '{name}': its matrices live on {arrays[0].place}: move them with .cuda()",
                hints=['device="cpu" runs the operation on the CPU emulator'],
            )
        from cutecc.operations.device_memory import pool_of
        from cutecc.runtime.cuda_bindings import cuda_driver, load_bindings
        from cutecc.runtime.device import CudaDevice

        gpu = CudaDevice(cuda_driver(), arrays[0].ordinal or 0)
        return matrix_arrays.table_on_gpu(name, arrays, gpu, pool_of(gpu.ordinal), load_bindings())

    def _replace_lists(self, arguments: dict[str, Any], device: str, stream: Any) -> None:
        """Put arrays of matrices in the place of lists, whose last tables are kept."""
        for name, value in arguments.items():
            if not isinstance(value, list | tuple):
                continue
            listed = cast("Sequence[Any]", value)
            arrays = [cast(Array, read(f"{name}[{index}]", each)) for index, each in enumerate(listed)]
            if device == "cuda" and arrays:
                from cutecc.operations.matrix_arrays import check_not_captured

                check_not_captured(name, arrays[0], stream)
            key = (device, *((each.address, each.layout) for each in arrays))
            with self._lock:
                table = self._tables.pop(key, None)
            table = table or self.matrices(name, listed, device=device)
            with self._lock:
                while len(self._tables) >= _TABLES:
                    del self._tables[next(iter(self._tables))]
                self._tables[key] = table
            arguments[name] = table

    def _bound(
        self, A: Any, B: Any, C: Any, D: Any, slices: int | None, rest: dict[str, Any], *, device: str
    ) -> tuple[Variant, Bound]:
        """The form that a call takes, and its arguments held against it."""
        check_device(device)
        arguments = {**rest, "A": A, "B": B, "C": C, "D": D}
        arguments.setdefault("alpha", None)
        arguments.setdefault("beta", None)
        variant = self.variants[self._form(arguments)]
        if D is None:
            self._check_result(C)
        self._check_names(set(rest) - {"alpha", "beta"})
        if self._takes_lists:
            from cutecc.operations.matrix_arrays import table_on_cpu

            for name, value in arguments.items():
                if isinstance(value, list | tuple):
                    arguments[name] = table_on_cpu(name, cast("Sequence[Any]", value))
        elif device == "cuda" and self._are_numpy(variant, arguments):
            from cutecc.operations.numpy_arrays import as_copied

            return variant, variant.bind(arguments, slices, copies=as_copied)
        return variant, variant.bind(arguments, slices)

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
                    f"beta = {beta} is given, and the operation has none", hints=['Gemm(…, c="f16:row") has a source']
                )
            return 0
        if not _is_nonzero(beta):
            if len(self.variants) > 1:
                return 1
        elif C is None:
            raise ArgumentError(f"beta = {beta}, and no C is given")
        return 0

    def _check_result(self, C: Any) -> None:
        """Raise `ArgumentError` for a call without D whose third argument may have been meant as such."""
        if C is not None and "D" in self._names:
            which = "" if self.description.c is not None else ", which this operation does not have"
            raise ArgumentError(
                "D is not given",
                hints=[f"the order is (A, B, C, D); the third argument is C{which}: op.run(A, B, D=D) is without"],
            )

    def _check_names(self, names: set[str]) -> None:
        known = [each.name for each in self.epilogue.operands]
        for name in names - self._names:
            hints = [*did_you_mean(name, known), f"its operands: {', '.join(known)}"]
            raise ArgumentError(f"the epilogue has no operand '{name}'", hints=hints)

    def _run_anew(self, index: int, given: Given, device: str, emulator: EmulatorOptions | None) -> None:
        """A call that is not like an earlier one."""
        check_device(device)
        arguments = given.arguments
        variant = self.variants[index]
        if device == "cpu":
            from cutecc.emulator.options import EmulatorOptions
            from cutecc.operations.emulated import emulate

            bound = variant.bind(arguments, given.slices)
            if not bound.is_empty:
                emulate(variant, bound, emulator or EmulatorOptions(), given.workspace).raise_findings()
            return
        if emulator is not None:
            raise ArgumentError("emulator= is for the CPU emulator", hints=['pass device="cpu" too'])
        if self._are_numpy(variant, arguments):
            self._run_on_copies(index, variant, given)
            return
        bound = variant.bind(arguments, given.slices)
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
    def _are_numpy(variant: Variant, arguments: Mapping[str, Any]) -> bool:
        """Whether all arrays are numpy's. Raises `ArgumentError` when only some are."""
        arrays = {name: read(name, arguments.get(name)) for name in variant.array_names}
        numpy = [name for name, each in arrays.items() if isinstance(each, Array) and each.library == "numpy"]
        if numpy and len(numpy) < len(arrays):
            other = next(name for name in arrays if name not in numpy)
            raise ArgumentError(
                f"argument '{numpy[0]}' is a numpy array, and '{other}' is not: all arrays of a call are, or none"
            )
        return bool(numpy)

    def _run_on_copies(self, index: int, variant: Variant, given: Given) -> None:
        """A call on numpy arrays: copied to the current GPU; what is written comes back at `sync`."""
        from cutecc.operations.numpy_arrays import as_copied, copies_here
        from cutecc.runtime.streams import read_stream

        try:
            with self._lock:
                copies = copies_here(self._copies)
        except NoGpuError:
            # What does not fit is said first: it would not fit where there is a GPU either.
            variant.bind(given.arguments, given.slices, copies=as_copied)
            raise
        stream = 0 if given.stream is None else read_stream(given.stream)
        outputs = [each.name for each in variant.description.epilogue.outputs]
        with copies.of_call(given.arguments, outputs, stream) as copy:
            bound = variant.bind(given.arguments, given.slices, copies=copy)
            if not bound.is_empty:
                self._calls_of(index).launch(replace(given, stream=stream), bound, repeatable=False)


def _is_nonzero(beta: Any) -> bool:
    """Whether beta scales C by anything; a value that is no number is refused later."""
    if lives_on_gpu(beta):
        return True
    try:
        return bool(beta != 0)
    except (TypeError, ValueError, RuntimeError):
        return True
