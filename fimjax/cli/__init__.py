"""The command line `fimjax`: predictions for series in a file, models, training and evaluation."""

import argparse
import os
import sys

from fimjax.cli.arguments import DELEGATED, parse
from fimjax.cli.console import print_error, showing_warnings

MISTAKE, INTERRUPTED = 2, 130
"""Exit codes of commands that cannot be carried out, and of commands that Ctrl-C ended."""


def main(argv: list[str] | None = None) -> int:
    """Carries out a command; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in DELEGATED:
        return _delegate(argv[0], argv[1:])
    arguments = parse(argv)
    try:
        with showing_warnings():
            _run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # nobody reads it any more, and the interpreter would complain at exit
    except OSError as error:
        return _fail(arguments.command, f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, OverflowError, MemoryError) as error:  # among them CommandError and InputError
        return _fail(arguments.command, str(error) or type(error).__name__)
    except KeyboardInterrupt:
        _fail(arguments.command, "interrupted")
        return INTERRUPTED
    return 0


def _delegate(command: str, argv: list[str]) -> int:
    """Hands all further arguments to the command line of training or evaluation, which import a lot."""
    if command == "train":
        from fimjax.cli.train import main as train

        return train(argv)
    try:
        from fimjax.cli.evaluate import main as evaluate
    except ModuleNotFoundError as error:
        return _fail(command, f"{error.name} is missing: pip install 'fimjax[evaluation]'")
    return evaluate(argv)


def _run(arguments: argparse.Namespace) -> None:
    """Imports only the modules that a command needs, because JAX alone takes a second."""
    if arguments.command in ("models", "export"):
        from fimjax.cli.models import export, list_models

        list_models() if arguments.command == "models" else export(arguments)
    else:
        from fimjax.cli.predict import predict_file

        predict_file(arguments)


def _fail(command: str, reason: str) -> int:
    """Prints why a command failed, and returns the exit code."""
    print_error(f"fimjax {command}: {reason}")
    return MISTAKE
