"""What a tool over many kernels looks at: kernel files and modules, found among and below the user's paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.errors import Error, UsageError
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.naming import kernel_request
from cutecc.frontend.traced import TraceRequest
from cutecc.passes.dumps import read_stage
from cutecc.support.pool import WorkerPool
from cutecc.target import Target, parse_targets, target_in_name

MODULES = (".mlir", ".mlirbc")
"""The ends of the names of files that hold a module."""


@dataclass(frozen=True)
class Input:
    """A kernel for one target, or a traced module."""

    file: str
    """As the user named it, or found it below a folder."""
    target: str
    """Empty where it cannot be read what the file is for."""
    request: TraceRequest | None = None
    """What to trace; `None` for a module."""
    named: bool = True
    """Whether the user named the file itself, not a folder above it."""
    failure: Error | None = None
    """Why the file, found below a folder, cannot be read."""

    @property
    def name(self) -> str:
        """The file without folders and endings."""
        return Path(split_path(self.file)[0]).stem


def find_inputs(
    paths: Sequence[str],
    targets: str | None = None,
    *,
    entry: str | None = None,
    args: Mapping[str, str] | None = None,
    modules: bool = True,
) -> list[Input]:
    """The kernels and modules among and below `paths`, sorted by path, a kernel once for each target.

    A kernel file is one that is named, or below a folder one that has a header. It is traced for `targets`,
    comma-separated, by default for its header's; below a folder only for those on which its header's code runs. A
    module's target is in its file's name, its folders' or its first line, or the only one of `targets`. Below folders
    dumps made after a pass are left out, modules for no known target, and without `modules` all; a file that cannot be
    read, as one with a wrong header, is an input with its `failure`. `entry` and `args` are for kernel files that are
    named (`kernel_request`). Raises `UsageError` for a path that is not there, a named module for no known target, and
    where there is nothing, and as `kernel_request` does for a file that is named.
    """
    wanted = parse_targets(targets) if targets else []
    found: list[Input] = []
    for path in paths:
        if Path(path).is_dir():
            endings = (*(MODULES if modules else ()), ".py")
            for file in sorted(each for each in Path(path).rglob("*") if each.suffix in endings and each.is_file()):
                try:
                    found += [replace(each, named=False) for each in _below_folder(file, wanted)]
                except Error as error:
                    found.append(Input(str(file), "", named=False, failure=error))
        elif path.endswith(MODULES):
            if not Path(path).is_file():
                raise UsageError(f"there is no file {path}")
            target = _target_of(Path(path), wanted)
            if target is None:
                raise UsageError(
                    f"{path}: which target is it for?", hints=["name it in the file name, or with --target"]
                )
            found.append(Input(path, target))
        else:
            found += _kernel(path, wanted, entry, args)
    if not found:
        raise UsageError(f"no kernels or modules in {', '.join(paths)}", hints=["kernels below a folder have a header"])
    return found


def _below_folder(file: Path, wanted: Sequence[Target]) -> list[Input]:
    if file.suffix in MODULES:
        stage = _stage(file)
        target = _target_of(file, wanted)
        return [] if target is None or (stage and stage.after) else [Input(str(file), target)]
    header = read_header(str(file))
    if header == Header():
        return []
    request, _ = kernel_request(str(file))
    own = parse_targets(header.target) if header.target else []
    targets = [each for each in wanted if not own or any(_runs(code, each) for code in own)] if wanted else own
    return _for_targets(str(file), request, targets if wanted else targets or [Target.parse("sm_80")])


def _kernel(path: str, wanted: Sequence[Target], entry: str | None, args: Mapping[str, str] | None) -> list[Input]:
    file, function = split_path(path)
    if not file.endswith(".py"):
        if Path(path).exists():
            raise UsageError(f"'{path}' is neither a Python file nor a module", hints=[f"modules end in {MODULES[0]}"])
        raise UsageError(f"there is no file or folder {path}")
    request, header = kernel_request(file, function, entry, args)
    own = parse_targets(header.target) if header.target else [Target.parse("sm_80")]
    return _for_targets(path, request, wanted or own)


def _for_targets(file: str, request: TraceRequest, targets: Sequence[Target]) -> list[Input]:
    return [Input(file, target.name, replace(request, target=target.name)) for target in targets]


def _runs(own: Target, wanted: Target) -> bool:
    """Whether a kernel that is for `own` can be compiled for `wanted`."""
    return own == wanted or (not own.suffix and (own.major, own.minor) <= (wanted.major, wanted.minor))


def _target_of(file: Path, wanted: Sequence[Target]) -> str | None:
    for part in (file.name, *(parent.name for parent in file.parents)):
        if target := target_in_name(part):
            return target.name
    stage = _stage(file)
    if stage:
        return Target.parse(stage.target).name
    return wanted[0].name if len(wanted) == 1 else None


def _stage(file: Path):
    try:
        with file.open("rb") as opened:
            return read_stage(opened.readline(65536).decode(errors="replace"))
    except OSError as failure:
        raise UsageError(f"cannot read {file}: {failure.strerror}") from None


def load_all(inputs: Sequence[Input], jobs: int) -> Iterator[tuple[Input, bytes | Error]]:
    """Each input with its module, traced in `jobs` processes where it is a kernel, or why there is none; in order."""
    from cutecc.frontend.trace import trace_file  # loads the bindings

    with ThreadPoolExecutor(1) as reader:
        pool = WorkerPool(jobs)
        try:
            waiting = [
                pool.submit(trace_file, each.request) if each.request else reader.submit(_read, each) for each in inputs
            ]
            for each, future in zip(inputs, waiting, strict=True):
                try:
                    result = future.result()
                    yield each, result if isinstance(result, bytes) else result.bytecode
                except Error as error:
                    yield each, error
        finally:
            pool.kill()


def _read(each: Input) -> bytes:
    if each.failure:
        raise each.failure
    try:
        return Path(each.file).read_bytes()
    except OSError as failure:
        raise Error(f"cannot read {each.file}: {failure.strerror}") from None
