"""The `cutecc` command, also as `python -m cutecc`: an interrupt is one from the first moment on."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from cutecc.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
