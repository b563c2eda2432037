"""Passes as flags, as in mlir-opt: `--canonicalize --widen-copies='least=32'`."""

from __future__ import annotations

import itertools

import click

from cutecc.errors import UsageError
from cutecc.support import isolation
from cutecc.support.spelling import close_names

PASSES = "pass_flags"
"""The parameter in which a command gets them: the text of a pass each, in order."""


class CommandWithPassFlags(click.Command):
    """A command of whose flags those that are none of its own are passes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        own = {name for option in options for name in option.opts}
        with_value = {name for option in options if not option.is_flag for name in option.opts}
        passes: list[str] = []
        others: list[str] = []
        left = iter(args)
        for argument in left:
            if argument == "--":
                others += [argument, *left]
                break
            flag, equals, texts = argument.partition("=")
            if not flag.startswith("--") or flag in own:
                others.append(argument)
                if argument in with_value:
                    others += itertools.islice(left, 1)
                continue
            _refuse_misspelled(flag, own)
            passes.append(f"{flag[2:]}{{{texts}}}" if equals else flag[2:])
        rest = super().parse_args(ctx, others)
        ctx.params[PASSES] = passes
        return rest


def _refuse_misspelled(flag: str, own: set[str]) -> None:
    """Raises `UsageError` for what is much like an option and no pass."""
    close = close_names(flag, own)
    if close and flag[2:] not in isolation.call("cutecc.passes.lookup:all_names"):
        raise UsageError(
            f"no such option: {flag}",
            hints=[f"did you mean {close[0]}?", f"a pass of that name is --pipeline={flag[2:]}"],
        )
