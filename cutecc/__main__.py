"""The `cutecc` command, also as `python -m cutecc`: an interrupt is one from the first moment on."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from cutecc.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # `python -m` ends by the signal, whatever its status, when an interrupt left a text that was executed, as
        # dataclasses have some. It forgets that with the next text.
        exec("")


if __name__ == "__main__":
    main()
