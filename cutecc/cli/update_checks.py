"""`cutecc update-checks`: the check lines of lit tests, written from what their commands print."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cutecc.cli.main import EXIT_FAILED, report
from cutecc.errors import Error, SourceLocation, UsageError
from cutecc.workbench.update_checks import updated

_EPILOG = """\b
Examples:
  cutecc update-checks tests/my-pass.mlir
  cutecc update-checks --check tests/*.mlir
  cutecc update-checks -D %inputs=tests/Inputs tests/my-pass.mlir

Each line 'RUN: %cutecc … | filecheck %s' is run. A marker line begins the lines that it writes, and only such lines are
ever replaced: take the marker away, and they are yours. A function that a LABEL line of yours names gets none.

The exit status is 1 when the check lines of a test cannot be written, or with --check would change.
"""


@click.command(epilog=_EPILOG)
@click.argument("tests", nargs=-1, required=True, metavar="TEST…", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; say which tests would change.")
@click.option("-D", "substitutions", multiple=True, metavar="%NAME=TEXT", help="A substitution of your lit.cfg.py.")
@click.pass_context
def update_checks(context: click.Context, tests: tuple[Path, ...], check: bool, substitutions: tuple[str, ...]) -> None:
    """Write or refresh the check lines of lit tests from what their commands print.

    It writes what a pass does, not what it should do: read the lines.
    """
    given = _read_substitutions(substitutions)
    failed = False
    for path in tests:
        try:
            found = updated(path, given)
            if found.changed and not check:
                path.write_text(found.text, encoding="utf-8", newline="")
        except UnicodeDecodeError:
            report(UsageError("a test is text in UTF-8", SourceLocation(str(path))))
            failed = True
            continue
        except OSError as failure:
            report(UsageError(str(failure.strerror), SourceLocation(str(path))))
            failed = True
            continue
        except Error as error:
            error.location = error.location or SourceLocation(str(path))
            report(error)
            failed = True
            continue
        if found.by_hand:
            click.echo(f"{path}: hand-written, and left as they are: {', '.join(found.by_hand)}", err=True)
        if found.changed:
            click.echo(f"{path}: {'its check lines are out of date' if check else 'updated'}")
            failed |= check
    if failed:
        context.exit(EXIT_FAILED)


def _read_substitutions(texts: tuple[str, ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("%") or len(name) < 2:
            raise UsageError(f"'-D {text}' is no substitution", hints=["as in -D %inputs=tests/Inputs"])
        # The command runs in a folder of its own.
        given[name] = shlex.quote(str(Path(value).resolve())) if value and Path(value).exists() else value
    return given
