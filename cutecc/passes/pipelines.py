"""The named pipelines."""

from __future__ import annotations

import re
from pathlib import Path

from cutecc.errors import Error, UsageError
from cutecc.passes import plugins, registry
from cutecc.passes.named import NAMED
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.unfold import nvidia_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.target import Target

_NAME = re.compile(r"[\w-]+")


def named_pipeline(name: str, target: Target, options: WheelOptions = WheelOptions(), *, lir: bool = False) -> Pipeline:
    """The pipeline called `name`, for `target`; `UsageError` when there is none.

    `lir` asks for the variant that begins with the experimental API's dialect.
    """
    if name == "nvidia":
        return nvidia_pipeline(target.name, options, lir=lir)
    if named := registry.find_pipeline(name):
        return named.build(target, options)
    raise UsageError(f"no pipeline is called '{name}'", hints=[f"named pipelines: {', '.join(named_pipelines())}"])


def named_pipelines() -> dict[str, str]:
    """Each named pipeline and what it is, those of plugins too."""
    plugins = registry.registered_pipelines().values()
    return NAMED | {each.name: f"{each.summary.rstrip('.')} (plugin {each.origin})" for each in plugins}


def pipelines_and_failures() -> tuple[dict[str, str], list[Error]]:
    """Each named pipeline and what it is, and why plugins could not be loaded."""
    return named_pipelines(), plugins.failures()


def pipeline_texts(name: str, target: Target, options: WheelOptions, lir: bool) -> list[str]:
    """The passes of a named pipeline, as text."""
    return [str(pass_) for pass_ in named_pipeline(name, target, options, lir=lir)]


def choose_pipeline(
    choice: str, target: Target, options: WheelOptions = WheelOptions(), *, lir: bool = False
) -> Pipeline:
    """The pipeline that `choice` means: a name, a file that holds pipeline text, or the text itself.

    In a file, line breaks count as spaces and `#` or `//` begins a comment. Raises `UsageError`.
    """
    if choice in NAMED or (_NAME.fullmatch(choice) and registry.find_pipeline(choice)):
        return named_pipeline(choice, target, options, lir=lir)
    path = Path(choice)
    if _is_file(path):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            raise UsageError(f"cannot read the pipeline file {choice}: {failure}") from None
        lines = (line.split("#")[0].split("//")[0] for line in text.splitlines())
        return Pipeline.parse(" ".join(lines).strip().rstrip(","))
    if choice.endswith((".txt", ".pipeline")) or "/" in choice.partition("{")[0]:
        raise UsageError(f"pipeline file {choice} does not exist")
    return Pipeline.parse(choice)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # Pipeline text can be longer than a file name may be.
        return False
