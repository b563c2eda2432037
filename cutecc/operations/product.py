"""Running a product: arguments of any library, on a GPU, or on the CPU emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import read
from cutecc.operations.choosing import problem_of
from cutecc.operations.description import GemmDescription
from cutecc.operations.gemm_variant import GemmVariant
from cutecc.operations.given import Given
from cutecc.operations.operation import Operation
from cutecc.operations.status import Status
from cutecc.operations.tile_model import Problem
from cutecc.operations.variant import Variant
from cutecc.operations.views import MatrixArray
from cutecc.runtime.checks import check_device

if TYPE_CHECKING:
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.kernel import Kernel

_TABLES = 64
"""Arrays of matrices that an operation keeps tables for."""


class Product(Operation[GemmDescription]):
    """A product that is described whole."""

    described_by: ClassVar[type[Description]] = GemmDescription

    def _begin(self, description: GemmDescription, kernels: Sequence[Kernel | None] = ()) -> None:
        super()._begin(description, kernels)
        self._tables: dict[tuple[object, ...], MatrixArray] = {}

    def _variant(self, description: GemmDescription) -> GemmVariant:
        return GemmVariant(description)

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
        self._run(Given(arguments, stream, workspace, slices), operands, device, sync, emulator)

    def sync(self) -> None:
        """Wait for the calls so far, bring the results of numpy arrays back, and give back all memory that calls took.

        Raises `LaunchError` for faults.
        """
        super().sync()
        with self._lock:
            self._tables.clear()

    def emulate(
        self, A: Any, B: Any, C: Any = None, D: Any = None, *, emulator: EmulatorOptions | None = None, **rest: Any
    ) -> Emulation:
        """As `run` with `device="cpu"`: what was found, counted and printed, as `Kernel.emulate` says."""
        slices, workspace = rest.pop("slices", None), rest.pop("workspace", None)
        return self._emulate(*_given(A, B, C, D, slices, rest, workspace), emulator)

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
        return self._supports(*_given(A, B, C, D, slices, rest), device)

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
            variant = cast(GemmVariant, self.variants[0])
            return variant.workspace_sizes(sizes, variant.slices(slices, sizes))[0]
        return self._bound(*_given(A, B, C, D, slices, rest))[1].workspace_bytes

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

    def _prepare(self, variant: Variant[GemmDescription], given: Given, device: str, *, keep: bool) -> None:
        """Put arrays of matrices in the place of lists, whose last tables are kept."""
        for name, value in given.arguments.items():
            if isinstance(value, list | tuple):
                listed = cast("Sequence[Any]", value)
                given.arguments[name] = self._table(name, listed, device, given.stream) if keep else _dry(name, listed)
        cast(GemmVariant, variant).check_tables(given.arguments)

    def _table(self, name: str, listed: Sequence[Any], device: str, stream: Any) -> MatrixArray:
        """The table of a list, of an earlier call if there is one."""
        arrays = [cast(Array, read(f"{name}[{index}]", each)) for index, each in enumerate(listed)]
        if device == "cuda" and arrays:
            from cutecc.operations.matrix_arrays import check_not_captured

            check_not_captured(name, arrays[0], stream)
        key = (device, *((each.address, each.layout, each.library, each.stream) for each in arrays))
        with self._lock:
            table = self._tables.pop(key, None)
        if table is None:
            streams = frozenset(each.stream for each in arrays if each.stream is not None)
            table = replace(self.matrices(name, listed, device=device), named=streams)
        with self._lock:
            while len(self._tables) >= _TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[key] = table
        return table


def _given(
    A: Any, B: Any, C: Any, D: Any, slices: int | None, rest: dict[str, Any], workspace: Any = None
) -> tuple[Given, set[str]]:
    """A call that is not launched, and which of its arguments are the epilogue's others."""
    arguments = {"alpha": None, "beta": None, **rest, "A": A, "B": B, "C": C, "D": D}
    return Given(arguments, None, workspace, slices), set(rest) - {"alpha", "beta"}


def _dry(name: str, matrices: Sequence[Any]) -> MatrixArray:
    from cutecc.operations.matrix_arrays import table_on_cpu

    return table_on_cpu(name, matrices)
