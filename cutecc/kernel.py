"""What compiling gives: a kernel, or a set of one for each target."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cutecc.errors import Error, LaunchError, NoTargetError
from cutecc.record import ArtifactKind, Compilation, Signature
from cutecc.runtime.direct_call import DirectCall, set_call
from cutecc.support import forks
from cutecc.support.distributions import needed_by

if TYPE_CHECKING:
    from pathlib import Path

    from cutecc.emulator.device import Emulation, Emulator
    from cutecc.record import HostProgram
    from cutecc.runtime.launcher import Launcher
    from cutecc.runtime.prepared import Prepared

_lock = forks.lock()
_MADE_BY_DEFAULT: tuple[ArtifactKind, ...] = ("ptx", "cubin", "host-program")
"""The artifacts of a compilation, and of a bundle, that asks for no others."""
_EMULATOR = ("the emulator", "emulator")
"""What needs packages that a GPU does not, and the extra that has them."""


@dataclass(frozen=True, repr=False)
class Kernel(DirectCall):
    """One kernel compiled for one target. Calling it launches it, and does not wait; `docs/running.md` is the guide.

    Arguments of a call are the runtime parameters in order, positionally or by name; constants are left out, streams
    and `none` may be. Arrays are torch's, or have `__cuda_array_interface__` or DLPack. `stream=` is where to launch,
    the current stream of the arrays' library unless given. `unchecked=True` leaves out the checks of shapes, strides,
    types and alignment: what the kernel does with other ones is then undefined. `device="cpu"` runs the kernel on the
    emulator, on arrays of the CPU, in place and to its end, with the options of `emulate`; what these find is then a
    `SanitizerError`. `extent=` is how many bytes are behind bare pointers there. `docs/emulator.md` is the guide.

    A call raises `ArgumentError`, before anything is launched, for arguments that the kernel does not take, and
    `LaunchError` for a failure of the CUDA driver or of the host program.
    """

    compilation: Compilation
    """The record: pipeline, steps, artifacts, resources."""
    untrusted: bool = False
    """Whether nobody knows who made it, `cutecc.load(path, untrusted=True)`: then it runs on the emulator alone, in a
    process that can do nothing else, within strict limits."""

    def __post_init__(self) -> None:
        this = weakref.ref(self)  # what the kernel holds must not hold the kernel

        def first_call(*args: Any, **kwargs: Any) -> None:
            kernel = this()
            if kernel is None:
                raise LaunchError("the kernel is gone")
            kernel.launcher.call(*args, **kwargs)

        set_call(self, first_call)

    def prepare(self, /, *args: Any, **kwargs: Any) -> Prepared:
        """The call as an object without arguments, which repeats it: `prepared()`, or `prepared(stream=…)`.

        Arguments and errors as in a call. They are checked here and kept alive; nothing is launched.
        """
        return self.launcher.prepare(*args, **kwargs)

    def check(self, /, *args: Any, **kwargs: Any) -> None:
        """Raise `ArgumentError` unless a call would take these arguments. Needs no GPU: arrays may live on the CPU."""
        kwargs.pop("unchecked", None)
        self.launcher.binder.check(args, kwargs)

    def emulate(self, /, *args: Any, **kwargs: Any) -> Emulation:
        """The call on the CPU emulator, in place: what was found, counted and printed. Arrays live on the CPU.

        Besides the arguments: `check=` what to look for, `True` or names as in `"races,bounds"`; `schedule=` and
        `seed=` the order of warps; `blocks=` a sample of the grid, `16` or `"0:8"`; `counters=True` to count;
        `limits=` what it may take, `cutecc.Limits(seconds=60)`; all together as `emulator=EmulatorOptions(…)`;
        `extent=` the bytes behind bare pointers, by name. A parameter of the kernel with one of these names goes first.

        Raises as a call does, and `EmulatorError` for a fault inside of the kernel where nothing is checked.
        """
        with needed_by(*_EMULATOR):
            from cutecc.emulator.device import take_options

        options = take_options(kwargs, self.launcher.binder)
        return self.emulator.emulate(args, kwargs, options)

    @cached_property
    def emulator(self) -> Emulator:
        """What runs the kernel on the CPU."""
        with needed_by(*_EMULATOR):
            from cutecc.emulator.device import Emulator

        return Emulator(self.compilation, self.launcher.binder, untrusted=self.untrusted)

    @property
    def signature(self) -> Signature | None:
        """The host function's parameters, constants included; `None` when the input was MLIR without any."""
        return self.compilation.signature

    @property
    def host_program(self) -> HostProgram | None:
        """What computes grids, parameters and descriptors before each launch; `None` when there is none."""
        return self.compilation.host_program

    def save(self, path: str | Path, *, dumps: bool = False) -> None:
        """Write the kernel as a bundle, which `cutecc.load` reads where there is no DSL.

        What running needs; with `dumps` all artifacts and dumps that the compilation kept.
        """
        from cutecc.record.bundle import write_bundle

        write_bundle(path, [self.compilation], dumps=dumps)

    def unload(self) -> None:
        """Unload the kernel's code from the GPUs, after the launches that run. A later call loads it again.

        No other thread may be in a call. CUDA graphs that hold the kernel, and prepared calls, cannot be launched any
        more.
        """
        if (launcher := vars(self).get("launcher")) is not None:
            launcher.unload()

    @property
    def ptx(self) -> str:
        """The PTX of the first device module; `Error` when the run stopped before code generation."""
        return self._artifact("ptx").decode(errors="replace")

    @property
    def cubin(self) -> bytes:
        """The cubin of the first device module; `Error` when the run stopped before code generation."""
        return self._artifact("cubin")

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the device code; `Error` when it was not among the artifacts asked for."""
        return self._artifact("llvm-ir").decode(errors="replace")

    @property
    def sass(self) -> str:
        """The machine code as text; made from the cubin when it was not among the artifacts asked for."""
        if (sass := self.compilation.artifact("sass")) is not None:
            return sass.decode(errors="replace")
        if self.untrusted:
            raise Error(f"kernel {self.compilation.name} is untrusted: its cubin is not given to nvdisasm")
        with needed_by("disassembling a cubin", extra="run"):
            from cutecc.backend.nvdisasm import disassemble

        return disassemble(self.cubin)

    @cached_property
    def launcher(self) -> Launcher:
        """What calls the kernel."""
        from cutecc.runtime.launcher import Launcher

        with _lock:  # threads that call a new kernel at the same time share one
            launcher: Launcher | None = vars(self).get("launcher")
            if launcher is None:
                launcher = vars(self)["launcher"] = Launcher(
                    self.compilation, on_cpu=_cpu_call(self), only_on_cpu=self.untrusted
                )
                launcher.serve(self)
        return launcher

    def __repr__(self) -> str:
        signature = self.signature
        parameters = ", ".join(f"{each.name}: {each.spec}" for each in signature.parameters) if signature else "…"
        return f"<Kernel {self.compilation.name}({parameters}) for {self.compilation.target}>"

    def __reduce__(self) -> tuple[object, ...]:
        # What is loaded belongs to one process.
        return Kernel, (self.compilation, self.untrusted)

    @property
    def launch_path(self) -> str:
        """How calls are made: in Python first, by machine code (`native`) once a form of call has come often.

        `python: …` says why calls stay in Python.
        """
        switch = self.launcher.switch
        return f"python: {switch.reason}" if switch.launch_path == "python" and switch.reason else switch.launch_path

    def _artifact(self, kind: ArtifactKind) -> bytes:
        data = self.compilation.artifact(kind)
        if data is None:
            if self.compilation.status == "stopped":
                hints = ["its compilation was stopped early: compile it to the end"]
            else:
                kinds = tuple(dict.fromkeys((*_MADE_BY_DEFAULT, kind)))
                hints = [f"compile it with options=cutecc.CompileOptions(artifacts={kinds})"]
            if kind not in _MADE_BY_DEFAULT:
                hints.append(
                    "a bundle has it only when kernel.save(FILE, dumps=True) or, in a shell, "
                    "cutecc compile … --bundle FILE --bundle-dumps wrote it"
                )
            raise Error(f"kernel {self.compilation.name} has no {kind}", hints=hints)
        return data


def _cpu_call(kernel: Kernel) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
    """What does a call with `device="cpu"`; it does not keep the kernel alive."""
    this = weakref.ref(kernel)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with needed_by(*_EMULATOR):
            from cutecc.emulator.device import take_options

        kernel = this()
        if kernel is None:
            raise LaunchError("the kernel is gone")
        options = take_options(kwargs, kernel.launcher.binder)
        kernel.emulator.call(args, kwargs, options)

    return call


class KernelSet(Mapping[str, Kernel]):
    """The same kernel compiled for several targets, by target name in the order asked for.

    Calling it launches the one that fits the GPU of the arguments.
    """

    def __init__(self, kernels: Mapping[str, Kernel]) -> None:
        self._kernels = dict(kernels)
        self._by_device: dict[int, Kernel] = {}

    def __getitem__(self, target: str) -> Kernel:
        """The kernel for the target of this name; `NoTargetError`, a `KeyError`, when there is none."""
        kernel = self._kernels.get(target)
        if kernel is None:
            raise NoTargetError(
                f"{self._name} is not compiled for {target}", hints=[f"it is for {', '.join(self._kernels) or 'none'}"]
            )
        return kernel

    if not TYPE_CHECKING:  # a type checker knows better which attributes there are

        def __getattr__(self, name: str) -> object:
            if not name.startswith("_") and name in {*dir(Kernel), *Kernel.__dataclass_fields__} and self._kernels:
                target = next(iter(self._kernels))
                raise AttributeError(f"a set has no '{name}'; each kernel of it has one: kernels['{target}'].{name}")
            raise AttributeError(f"'KernelSet' object has no attribute '{name}'")

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __reduce__(self) -> tuple[object, ...]:
        # Which kernel fits is for the other process to find out.
        return KernelSet, (self._kernels,)

    def __repr__(self) -> str:
        return f"<KernelSet {self._name} for {', '.join(self._kernels)}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> None:
        """Launch the kernel that fits; arguments and errors as those of `Kernel`."""
        if kwargs and "device" in kwargs and self._any().launcher.binder.names_device(kwargs):
            if kwargs["device"] == "cpu":
                self.emulated(*args, **kwargs)
                return
            del kwargs["device"]
        self._fitting(args, kwargs)(*args, **kwargs)

    def emulate(self, /, *args: Any, **kwargs: Any) -> Emulation:
        """As `Kernel.emulate`, of the kernel `emulated`; `Emulation.target` says which."""
        return self.emulated.emulate(*args, **kwargs)

    @property
    def emulated(self) -> Kernel:
        """The kernel that the emulator runs: the one for the newest target up to `sm_90a`, else for the newest."""
        from cutecc.emulator.names import emulated_target

        return self._kernels[emulated_target(self._kernels)]

    def prepare(self, /, *args: Any, **kwargs: Any) -> Prepared:
        """As `Kernel.prepare`."""
        return self._fitting(args, kwargs).prepare(*args, **kwargs)

    def check(self, /, *args: Any, **kwargs: Any) -> None:
        """As `Kernel.check`, against the first kernel: all are compiled for the same arguments."""
        self._any().check(*args, **kwargs)

    def save(self, path: str | Path, *, dumps: bool = False) -> None:
        """Write all kernels as one bundle, as `Kernel.save`."""
        from cutecc.record.bundle import write_bundle

        write_bundle(path, [kernel.compilation for kernel in self._kernels.values()], dumps=dumps)

    def unload(self) -> None:
        """As `Kernel.unload`, for all of them."""
        for kernel in self._kernels.values():
            kernel.unload()

    @property
    def _name(self) -> str:
        first = next(iter(self._kernels.values()), None)
        return first.compilation.name if first else "nothing"

    def _any(self) -> Kernel:
        for kernel in self._kernels.values():
            return kernel
        raise LaunchError("a set of no kernels cannot be called")

    def _fitting(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kernel:
        """The kernel for the GPU of the arguments, or of the calling thread."""
        launcher = self._any().launcher
        ordinal = 0
        if launcher.driver.device_count() > 1:
            named = {name: value for name, value in kwargs.items() if name != "unchecked"}
            bound = launcher.binder.bind(args, named, checked=False)
            ordinal = bound.device if bound.device is not None else launcher.driver.current_device() or 0
        kernel = self._by_device.get(ordinal)
        if kernel is None:
            from cutecc.runtime.device import CudaDevice, choose

            chosen, _ = choose(
                [each.compilation for each in self._kernels.values()], CudaDevice(launcher.driver, ordinal)
            )
            kernel = next(each for each in self._kernels.values() if each.compilation is chosen)
            self._by_device[ordinal] = kernel
        return kernel
