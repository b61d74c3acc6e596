"""Entry point of the process: imports so little that Ctrl-C is heeded while everything else is imported."""

import sys


def main() -> None:
    """Run the command `impact-control`; Ctrl-C ends it with exit code 130 and without a traceback."""
    try:
        from impact_control.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("impact-control: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
