"""Passes that the installed wheel registers by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.errors import PassError, UsageError
from cutecc.ir.locations import user_location
from cutecc.passes.base import ModulePass
from cutecc.passes.nesting import nested_in
from cutecc.passes.options import Option, print_options
from cutecc.support.spelling import did_you_mean

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

# Options that name a file to write, a program to run, a library to link, or options of a tool; also inside an option
# that holds a pipeline. Only cutecc sets them, to paths of its own.
_PATH_OPTION = re.compile(
    r"(?:^|[\s{(,])(?P<name>[\w-]*(?:path|file|filename|cmd-options)|toolkit|opts|l|link-libraries|module)=[^\s})]"
)
# What these hold is looked at where a pass has them itself, before anything runs.
_TOOL_OPTION = re.compile(r"\b(?P<name>(?:ptx|nvvm)-options)\b")


@dataclass(frozen=True, kw_only=True)
class WheelPass(ModulePass):
    """One pass of the wheel's, as its pass manager parses it."""

    name: str  # pyright: ignore[reportIncompatibleVariableOverride] - one class stands for all of the wheel's passes
    wheel_options: tuple[Option, ...] = ()
    anchors: tuple[str, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    provider = "wheel"

    @property
    def options(self) -> list[Option]:
        return list(self.wheel_options)

    def option(self, name: str) -> str | None:
        """The value of the option called `name`, `None` when the pass does not have it."""
        return dict(self.wheel_options).get(name)

    def with_options(self, **changes: str) -> WheelPass:
        """The same pass with options set, named with underscores for dashes; new ones go last."""
        values = dict(self.wheel_options) | {name.replace("_", "-"): value for name, value in changes.items()}
        return WheelPass(name=self.name, wheel_options=tuple(values.items()), anchors=self.anchors)

    def run(self, module: ir.Module) -> None:
        from cutecc.ir.mlir import ir, passmanager
        from cutecc.passes.gpu_targets import check_gpu_targets

        check_gpu_targets(module, self.name)
        try:
            manager = passmanager.PassManager.parse(f"builtin.module({self})", module.context)
        except (ValueError, RuntimeError):
            with module.context:
                check_registered(self)
            raise
        # The stock compiler does not verify between passes either; `--verify-each` does, as an observer.
        manager.enable_verifier(False)
        try:
            manager.run(module.operation)
        except ir.MLIRError as failure:
            raise _pass_error(self.name, failure) from None


def check_paths(pass_name: str, options: Iterable[Option]) -> None:
    """Refuse an option by which pipeline text would choose a path; `UsageError`."""
    options = list(options)
    inside = " ".join(value for _, value in options)
    match = _PATH_OPTION.search(print_options(options)) or _TOOL_OPTION.search(inside)
    if match:
        raise UsageError(
            f"pass {pass_name}: option '{match['name']}' names a path or a tool's options, which pipeline text may not",
            hints=["cutecc writes dumps and artifacts into --output; see --dump-after, --ptxas, --ptxas-options"],
        )


def check_registered(pass_: WheelPass) -> None:
    """Raise `UsageError` when the wheel does not know the pass or one of its options. Needs a current context."""
    from cutecc.ir.mlir import passmanager

    try:
        passmanager.PassManager.parse(f"builtin.module({pass_})")
    except (ValueError, RuntimeError) as failure:
        text = str(failure)
        if "does not refer to a registered pass" in text:
            from cutecc.passes import lookup, plugins
            from cutecc.passes.named import NAMED

            if pass_.name in NAMED or lookup.find_pipeline(pass_.name):
                hints = [f"{pass_.name} is a pipeline: --pipeline={pass_.name}"]
            else:
                hints = [*did_you_mean(pass_.name, lookup.all_names()), "cutecc passes lists them all"]
            notes = [failure.message for failure in plugins.failures()]
            raise UsageError(f"no pass is called '{pass_.name}'", notes=notes, hints=hints) from None
        if "can't run" in text or "nest" in text:
            raise UsageError(f"pass {pass_.name} does not run on {nested_in(pass_.anchors) or 'a module'}") from None
        raise UsageError(
            f"pass {pass_.name} does not take the options '{print_options(pass_.options)}'",
            notes=[text.strip().partition("\n")[0]],
        ) from None


def _pass_error(name: str, failure: ir.MLIRError) -> PassError:
    errors = failure.error_diagnostics
    if not errors:
        return PassError(f"pass {name} failed: {failure}", pass_name=name)
    first = errors[0]
    notes = [_shortened(note.message) for note in first.notes]
    notes += [_shortened(other.message) for other in errors[1:]]
    return PassError(
        f"pass {name} failed: {_shortened(first.message)}",
        location=user_location(first.location),
        notes=notes,
        pass_name=name,
    )


def _shortened(message: str, limit: int = 2000) -> str:
    # "see current operation" prints whole functions.
    message = message.strip()
    return message if len(message) <= limit else f"{message[:limit]} … ({len(message) - limit} more characters)"
