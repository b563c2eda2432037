"""Calls of an operation on a GPU: the first of a form in full, later ones by a look-up and a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.device_memory import Block, DevicePool, asked, pool_of
from cutecc.operations.epilogue.values import is_float
from cutecc.operations.given import Given, given_workspace
from cutecc.operations.launches import Launches, Planned
from cutecc.operations.variant import Arrays, Bound, Variant
from cutecc.operations.views import Table, View
from cutecc.runtime.cuda_bindings import load_bindings
from cutecc.runtime.library import Loaded
from cutecc.runtime.streams import current_stream, read_stream
from cutecc.support import forks


@dataclass(slots=True)
class _Known:
    """A form of call that came before: everything but addresses, numbers and the stream."""

    planned: Planned
    loaded: Loaded
    masks: tuple[int, ...]
    """For each array the bits of its address that have to be 0."""
    hazards: tuple[tuple[int, int, int, int, int | None], ...]
    """Two places, and how far the second address may be above the first for the arrays to share memory: from more than,
    to less than, and how far it may be all the same."""
    current: Callable[[], int]
    """The stream of a call that names none."""
    pool: DevicePool | None
    """Where the workspace comes from; `None` for a call that needs none or is given it."""
    workspace: int
    """Bytes."""
    zeroed: int
    """Bytes at its beginning that have to be zeros."""
    used: set[int]
    """The streams of this GPU that have been launched on."""

    def stream(self, given: Any) -> int:
        """The stream of a call that names one, or none."""
        if given is None:
            return self.current()
        return given if type(given) is int and given >= 0 else read_stream(given)

    def fits(self, addresses: list[int]) -> bool:
        """Whether arrays at these addresses can be given: aligned as the earlier ones, and sharing no memory."""
        for address, mask in zip(addresses, self.masks, strict=True):
            if address & mask:
                return False
        for output, other, low, high, allowed in self.hazards:
            if low < (distance := addresses[other] - addresses[output]) < high and distance != allowed:
                return False
        return True


class Calls:
    """The calls of one form of an operation. Threads may share it."""

    def __init__(self, variant: Variant[Any], pools: Callable[[int], DevicePool] = pool_of, cuda: Any = None) -> None:
        """`pools` gives the memory of a GPU, `cuda` is `cuda.bindings.driver` or what stands in for it.

        Raises what compiling raises, and `LaunchError` for a kernel that cannot be launched.
        """
        self._variant = variant
        self._launcher = variant.kernel.launcher
        self._launches = Launches(self._launcher)
        self._pools = pools
        self._cuda = cuda
        self._used: dict[int, set[int]] = {}
        """Streams that were launched on, by GPU."""
        self._waiting = forks.lock()
        self._workspace_alignment = variant.workspace_alignment
        self._arrays = variant.array_names
        inputs = {each.name: each for each in variant.description.gemm.epilogue.inputs}
        self._numbers = tuple(
            # Integers are taken as residues, which only binding computes.
            (name, inputs[name].default, is_float(inputs[name].dtype))
            for name in variant.number_names
        )
        names = (*self._arrays, "workspace", *variant.number_names)
        self._places = {name: index for index, name in enumerate(names)}
        """Of addresses and numbers, among the values of a launch; behind them is a 0 for the stream."""
        self._masks = tuple(max(1, variant.alignment_bytes(name)) - 1 for name in self._arrays)

    def repeat(self, given: Given) -> bool:
        """Launch a call that is like an earlier one; false when it is not: nothing was done then."""
        stream = given.stream
        values: list[Any] = []
        form: list[Any] = [given.settings]
        tables: list[Table] = []
        try:
            arrays = given.arguments
            for name in self._arrays:
                array = arrays[name]
                if isinstance(array, Table):
                    values.append(array.table.address)
                    form += array.form
                    tables.append(array)
                    continue
                try:
                    values.append(array.data_ptr())
                    form += array.dtype, array.shape, array.stride(), array.get_device()
                except AttributeError:
                    if stream is not None:  # has to wait for cupy's own
                        return False
                    values.append(array.data.ptr)
                    form += array.dtype, array.shape, array.strides, array.device.id
            # What cupy names is its current stream.
            if _are_produced(tables) and (stream is not None or any(each.library != "cupy" for each in tables)):
                return False
            workspace = given.workspace
            if workspace is not None:
                form += workspace.dtype, workspace.shape, workspace.stride(), workspace.get_device()
            known: _Known | None = self._launches.find(tuple(form))
            if known is None:
                return False
            if not known.fits(values):
                return False
            values.append(0 if workspace is None else workspace.data_ptr())
            if values[-1] % self._workspace_alignment:
                return False
        except (AttributeError, KeyError, TypeError, RuntimeError):  # a torch tensor without memory raises the last
            return False
        if not self._add_numbers(arrays, values):
            return False
        values.append(0)
        stream = known.stream(stream)
        if known.pool is None:
            known.planned.launch(values, stream)
        else:
            self._launch_with_workspace(known, values, stream)
        known.used.add(stream)
        _note_stream(tables, stream)
        return True

    def _add_numbers(self, arguments: Mapping[str, Any], values: list[Any]) -> bool:
        """Append the epilogue's numbers to the values of a launch; false where one has to be bound."""
        for name, default, is_floating in self._numbers:
            number: Any = arguments.get(name)
            if number is None:
                number = default
            if type(number) not in (float, int):
                number = _numpy_number(number)
                if number is None:
                    return False
            if not is_floating:
                return False
            values.append(number)
        return True

    def launch(self, given: Given, bound: Bound, *, repeatable: bool = True) -> None:
        """Launch a call that was bound.

        Raises `ArgumentError` for arrays of several devices and a workspace that does not do, `LaunchError` for a
        failure of the driver.
        """
        loaded = self._launcher.load(_ordinal(bound.arrays))
        ordinal = loaded.device.ordinal
        library = _library(bound.arrays)
        current = current_stream(library, ordinal)
        stream = current() if given.stream is None else read_stream(given.stream)
        size, zeroed = bound.workspace_bytes, bound.zeroed_bytes
        with loaded.device.current():
            pool = None
            if size and given.workspace is None:
                with loaded.device.driver.relaxed_capture():  # the first time, this makes one
                    pool = self._pools(ordinal)
            self._wait(loaded, bound.arrays, library, stream, given.stream is None)
            block = self._take(pool, size, zeroed, stream) if pool is not None else None
            view = self._workspace(given.workspace, block, size, ordinal) if size else None
            values = dict(bound.values)
            if view is not None:
                values["workspace"] = view
            if self._variant.takes_multiprocessors:
                values["multiprocessors"] = loaded.device.multiprocessors
            planned = self._launch(bound, values, loaded, stream)
            if block is not None:
                block.free(stream)
        used = self._used.setdefault(ordinal, set())
        used.add(stream)
        _note_stream(bound.arrays.values(), stream)
        form = self._form(given) if planned is not None and repeatable else None
        if planned is not None and form is not None:
            hazards = tuple(
                (self._places[each.output], self._places[each.other], *each.distances, each.allowed)
                for each in bound.hazards
            )
            known = _Known(planned, loaded, self._masks, hazards, current, pool, size, zeroed, used)
            self._launches.keep(form, known)

    def synchronize(self) -> None:
        """Wait for everything on the streams that were launched on since the last time. Raises `LaunchError`."""
        # One thread at a time: what another one has taken out, it may still be waiting for.
        with self._waiting:
            for ordinal, streams in list(self._used.items()):
                with self._launcher.load(ordinal).device.current():
                    for stream in list(streams):
                        streams.discard(stream)  # before, since what is launched meanwhile is not waited for
                        asked(
                            self._driver, "waiting for a product", "cuStreamSynchronize", self._driver.CUstream(stream)
                        )

    def _launch(self, bound: Bound, arguments: Mapping[str, Any], loaded: Loaded, stream: int) -> Planned | None:
        """Launch, and return what repeats it if the form came before."""
        launches = self._launches
        numbers = self._launcher.binder.bind((), {**arguments, "stream": stream})
        places = {flat: self._places[name] for flat, name in bound.sources.items()}
        planned = None
        if not launches.is_new(numbers.key):
            planned = launches.plan(numbers, loaded, {**places, "workspace": self._places["workspace"]})
        if planned is None:
            launches.evaluate(numbers, loaded, stream)
            return None
        workspace = arguments.get("workspace")
        values: list[Any] = [_address(bound.arrays[name]) for name in self._arrays]
        values.append(0 if workspace is None else workspace.data_ptr())
        planned.launch([*values, *bound.numbers.values(), 0], stream)
        return planned

    def _launch_with_workspace(self, known: _Known, values: list[Any], stream: int) -> None:
        with known.loaded.device.current():
            assert known.pool is not None
            block = self._take(known.pool, known.workspace, known.zeroed, stream)
            values[self._places["workspace"]] = block.address
            known.planned.launch(values, stream)
            block.free(stream)

    def _form(self, given: Given) -> tuple[Any, ...] | None:
        """What `repeat` looks a call up by; `None` for arrays that it does not read."""
        form: list[Any] = [given.settings]
        try:
            for name in self._arrays:
                array = given.arguments[name]
                if isinstance(array, Table):
                    form += array.form
                elif hasattr(array, "data_ptr"):
                    form += array.dtype, array.shape, array.stride(), array.get_device()
                else:
                    form += array.dtype, array.shape, array.strides, array.device.id
            if (workspace := given.workspace) is not None:
                form += workspace.dtype, workspace.shape, workspace.stride(), workspace.get_device()
            hash(tuple(form))
        except (AttributeError, TypeError):
            return None
        return tuple(form)

    @staticmethod
    def _wait(loaded: Loaded, arrays: Arrays, library: str | None, stream: int, is_current: bool) -> None:
        """Order the launch behind the work that owners of arrays have named."""
        if is_current and library == "cupy":
            return  # what cupy names is its current stream
        named = {each.stream for each in arrays.values() if isinstance(each, Array) and each.stream is not None}
        for first in named.union(*(each.producers for each in arrays.values() if isinstance(each, Table))) - {stream}:
            loaded.device.driver.order(first, stream)

    def _workspace(self, given: Any, block: Block | None, needed: int, ordinal: int) -> View:
        if block is not None:
            return View(Array("u8", (needed,), (1,), block.address, "cuda", ordinal), "u8", (needed,), (1,))
        return given_workspace(given, needed, "cuda", self._workspace_alignment)

    def _take(self, pool: DevicePool, size: int, zeroed: int, stream: int) -> Block:
        block = pool.allocate(size, stream)
        if zeroed:
            handle = self._driver.CUstream(stream)
            asked(self._driver, "zeroing a workspace", "cuMemsetD8Async", block.address, 0, zeroed, handle)
        return block

    @property
    def _driver(self) -> Any:
        if self._cuda is None:
            self._cuda = load_bindings()
        return self._cuda


def _ordinal(arrays: Arrays) -> int | None:
    """The CUDA ordinal of the arrays. Raises `ArgumentError` when they live elsewhere, or on several GPUs."""
    found: tuple[str, Array] | None = None
    for name, each in arrays.items():
        array = each.table if isinstance(each, Table) else each
        if array.device == "cpu":
            hints = ["numpy arrays are copied by themselves, when all arguments are numpy's"]
            hints.append('device="cpu" runs the operation on the CPU emulator')
            raise ArgumentError(f"argument '{name}' lives on the CPU: move it with .cuda()", hints=hints)
        if array.device != "cuda":
            raise ArgumentError(f"argument '{name}' lives on {array.place}, and the operation runs on a CUDA device")
        if found is not None and array.ordinal is not None and found[1].ordinal not in (None, array.ordinal):
            raise ArgumentError(
                f"argument '{name}' lives on {array.place}, and '{found[0]}' on {found[1].place}: "
                "all arguments of a call live on one device"
            )
        if found is None or found[1].ordinal is None:
            found = name, array
    return found[1].ordinal if found else None


def _library(arrays: Arrays) -> str | None:
    """Whose current stream a call goes to."""
    found = {each.library for each in arrays.values()}
    return next((each for each in ("torch", "cupy") if each in found), None)


def _note_stream(arrays: Iterable[Array | Table], stream: int) -> None:
    for each in arrays:
        if isinstance(each, Table):
            each.streams.add(stream)


def _are_produced(tables: Iterable[Table]) -> bool:
    """Whether somebody has named streams on which what the tables lead to is written."""
    return any(each.producers for each in tables)


def _address(array: Array | Table) -> int:
    return array.table.address if isinstance(array, Table) else array.address


def _numpy_number(given: Any) -> float | None:
    """A number of numpy's; `None` for anything else."""
    if type(given).__module__ != "numpy" or given.dtype.kind == "c":
        return None
    try:
        return float(given)
    except TypeError:  # an array
        return None
