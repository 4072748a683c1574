"""The command line: forecasts, gaps, backtests and anomalies of the series in a file."""

import argparse
import os
import sys

from fimjax.cli.arguments import parse
from fimjax.cli.messages import tell, telling_warnings

MISTAKE, INTERRUPTED = 2, 130
"""Exit codes of what cannot be done, and of what Ctrl-C ended."""


def main(argv: list[str] | None = None) -> int:
    """Carries out a command; returns the exit code."""
    arguments = parse(argv)
    try:
        with telling_warnings():
            run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # nobody reads any more, and the interpreter would complain when it ends
    except OSError as error:
        return fail(arguments.command, f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, OverflowError, MemoryError) as error:  # CommandError is one, as are those of the library
        return fail(arguments.command, str(error) or type(error).__name__)
    except KeyboardInterrupt:
        fail(arguments.command, "interrupted")
        return INTERRUPTED
    return 0


def run(arguments: argparse.Namespace) -> None:
    """Imports what a command needs, and no more: JAX alone takes a second."""
    if arguments.command == "models":
        from fimjax.cli.models import list_models

        list_models()
    elif arguments.command == "export":
        from fimjax.cli.export import export

        export(arguments)
    else:
        from fimjax.cli.predict import answer_file

        answer_file(arguments)


def fail(command: str, reason: str) -> int:
    """Says in a sentence why a command ended, and returns the exit code."""
    tell(f"fimjax {command}: {reason}")
    return MISTAKE
