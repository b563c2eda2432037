"""Passes as flags, as in mlir-opt: `--canonicalize --widen-copies='least=32'`."""

from __future__ import annotations

import click

from cutecc.errors import UsageError
from cutecc.support.spelling import close_names

PASSES = "pass_flags"
"""The parameter in which a command gets them: the text of a pass each, in order."""


class CommandWithPassFlags(click.Command):
    """A command of whose flags those that are none of its own are passes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        passes: list[str] = []
        others: list[str] = []
        for index, argument in enumerate(args):
            if argument == "--":
                others += args[index:]
                break
            flag, equals, options = argument.partition("=")
            if not flag.startswith("--") or flag in own:
                others.append(argument)
                continue
            if close := close_names(flag, own):
                raise UsageError(
                    f"no such option: {flag}",
                    hints=[f"did you mean {close[0]}?", f"a pass of that name is --pipeline={flag[2:]}"],
                )
            passes.append(f"{flag[2:]}{{{options}}}" if equals else flag[2:])
        rest = super().parse_args(ctx, others)
        ctx.params[PASSES] = passes
        return rest
