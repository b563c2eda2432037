"""The `cutecc` command, also as `python -m cutecc`: an interrupt is one from the first moment on."""

from __future__ import annotations

import sys
from collections.abc import Callable


def main() -> None:
    """Run the command line."""
    try:
        run = _command_line()
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # `python -m` ends by the signal, whatever its status, when an interrupt left a text that was executed, as
        # dataclasses have some. It forgets that with the next text.
        exec("")


def _command_line() -> Callable[[], None]:
    """The command line; ends with status 2, as other wrong requests do, where what it needs is not installed."""
    from cutecc.errors import NotInstalledError
    from cutecc.support.distributions import needed_by

    try:
        with needed_by("the command line", extra="run"):
            from cutecc.cli.main import main
    except NotInstalledError as missing:
        print(f"error: {missing}", file=sys.stderr)
        sys.exit(2)
    return main


if __name__ == "__main__":
    main()
