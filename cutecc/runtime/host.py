"""What a host program's launches, descriptors and printed text become on a GPU, and what their failures are called."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from cutecc.arguments.specs import Dynamic
from cutecc.errors import LaunchError
from cutecc.record.host_program import HostProgram
from cutecc.runtime.binding import Binder, Bound
from cutecc.runtime.block import ParameterBlock
from cutecc.runtime.driver import INVALID_CONTEXT, INVALID_VALUE, Caller, failure
from cutecc.runtime.launch import Launch, TensorMap
from cutecc.runtime.library import Loaded
from cutecc.runtime.program.evaluation import StatusError


class CudaHost:
    """The outside world of one call's host program."""

    def __init__(self, loaded: Loaded, binder: Binder, bound: Bound, caller: Caller) -> None:
        """Launches go to `caller`'s stream where the program says 0."""
        self._functions = loaded.functions
        self._driver = loaded.device.driver
        self._binder = binder
        self._bound = bound
        self._caller = caller
        self.launches: list[Launch] = []
        """The launch that was last tried, for messages."""

    def launch(self, launch: Launch) -> int:
        self.launches = [launch]
        _, (start,) = self.blocks_and_starters([launch])
        return start(launch.stream)

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        return self._driver.encode_tensor_map(tensor_map)

    def print(self, text: str) -> None:
        if refusal := too_much_shared_memory(text):
            raise refusal
        sys.stdout.write(text)
        sys.stdout.flush()

    def blocks_and_starters(self, launches: Sequence[Launch]) -> tuple[list[object], list[Callable[[int], int]]]:
        """For each launch the memory of its parameters, and a function that starts it on a stream."""
        buffers: list[object] = []
        starters: list[Callable[[int], int]] = []
        for launch in launches:
            block = ParameterBlock(launch.kernel, launch.parameters)
            buffers.append(block.buffer)
            if not fits(launch):
                starters.append(lambda _stream: INVALID_VALUE)
            elif 0 in launch.grid:
                starters.append(self._without_blocks(launch))
            else:
                starters.append(self._driver.prepare(self._functions[launch.kernel.name], launch, block, self._caller))
        return buffers, starters

    def _without_blocks(self, launch: Launch) -> Callable[[int], int]:
        """With arrays that have no elements, nothing. Any other empty grid is refused, as CUDA does."""
        try:
            check_empty_grid(launch, tensor_shapes(self._binder, self._bound))
        except LaunchError as error:
            refusal = error

            def refuse(_stream: int) -> int:
                raise refusal

            return refuse
        return lambda _stream: 0


_TOO_MUCH_SHARED = re.compile(
    r"\s*Error: kernel '(?:@\w+::)?@(?P<kernel>\w+)' launch shared memory exceeds current GPU arch (?P<target>\w+) "
    r"allowed\. Allocated: (?P<bytes>\d+) bytes\. Max: (?P<most>\d+) bytes\.\s*"
)
"""What a host function of the DSL's prints before a launch that CUDA will refuse."""


def too_much_shared_memory(text: str) -> LaunchError | None:
    """The refusal that printed text announces; `None` for what a program prints itself."""
    match = _TOO_MUCH_SHARED.fullmatch(text)
    if match is None:
        return None
    return LaunchError(
        f"'{match['kernel']}' cannot be launched: a block takes {int(match['bytes']):,} bytes of shared memory, and "
        f"{match['target']} has {int(match['most']):,} for a block",
        notes=[f"the DSL's own words: {' '.join(text.split())}"],
        hints=["make tiles smaller, or the stages of a pipeline fewer"],
    )


def check_empty_grid(launch: Launch, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises `LaunchError` for a launch without blocks, unless one of the tensors, of these shapes, has no elements."""
    if any(0 in shape for shape in shapes.values()):
        return
    arguments = ", ".join(f"'{name}' ({', '.join(map(str, shape))})" for name, shape in shapes.items())
    raise LaunchError(
        f"'{launch.kernel.name}' would be launched with the grid {launch.grid}, which has no blocks",
        notes=[f"the arguments: {arguments}"] if arguments else [],
        hints=["the host function computes it; a size smaller than a tile, divided and rounded down, gives 0"],
    )


def recover(error: StatusError, loaded: Loaded, launches: Sequence[Launch], again: Callable[[], None]) -> None:
    """Repeat a call that failed because its thread has no context yet; raise all other failures."""
    if error.status != INVALID_CONTEXT or loaded.device.driver.current_device() is not None:
        raise explained(error, loaded, launches) from None
    with loaded.device.current():
        try:
            again()
        except StatusError as repeated:
            raise explained(repeated, loaded, launches) from None


def explained(error: StatusError, loaded: Loaded, launches: Sequence[Launch]) -> LaunchError:
    """A status as CUDA calls it, and what was launched."""
    what = f"launching '{error.kernel}' on {loaded.device}" if error.kernel else "the host program failed"
    failed = failure(what, error.status, loaded.device.driver.describe(error.status))
    failed.notes += [launch_text(launch) for launch in launches if launch.kernel.name == error.kernel]
    return failed


def reporter(loaded: Loaded, program: HostProgram) -> Callable[[int, int], NoReturn]:
    """`report(status, kernel)`, which raises the error of a call in machine code: -1 is the program's own."""

    def report(status: int, kernel: int) -> NoReturn:
        if status == -1:
            raise LaunchError(f"the host program {program.function} failed after a launch")
        name = program.kernels[kernel].name
        raise explained(StatusError("", status=status, kernel=name), loaded, [])

    return report


def tensor_shapes(binder: Binder, bound: Bound) -> Mapping[str, tuple[int, ...]]:
    """The shape of every tensor of a call."""
    shapes: dict[str, tuple[int, ...]] = {}
    for parameter in binder.parameters:
        if parameter.leaves and parameter.leaves[0].kind == "pointer" and parameter.sizes:
            dynamic = iter(bound.leaves[parameter.first_leaf + 1 :])
            shapes[parameter.name] = tuple(
                int(next(dynamic)) if isinstance(size, Dynamic) else size for size in parameter.sizes
            )
    return shapes


def fits(launch: Launch) -> bool:
    """Whether the driver's integers hold what the program asks for: events have 64 bits, all else 32."""
    numbers = [launch.shared_bytes]
    for name, operands in launch.attributes.items():
        numbers += operands[1:] if name.endswith("_event") else operands
    return not any(number >> 32 for number in numbers)


def launch_text(launch: Launch) -> str:
    parts = [f"grid {launch.grid}", f"block {launch.block}", f"{launch.shared_bytes} bytes of dynamic shared memory"]
    parts += [f"{name} {' '.join(map(str, operands))}" for name, operands in launch.attributes.items()]
    return ", ".join(parts)
