"""What the commands say on standard error."""

import contextlib
import sys
import warnings
from collections.abc import Iterator


class CommandError(ValueError):
    """Why a command cannot be carried out: one sentence."""


def say(text: str) -> None:
    """Tells in one line what the reader of the answers should know."""
    tell(f"fimjax: {text}")


def tell(line: str) -> None:
    """Prints a line on standard error, if there is one; print would take standard output instead."""
    if sys.stderr is not None:
        print(" ".join(line.split()), file=sys.stderr)


@contextlib.contextmanager
def telling_warnings() -> Iterator[None]:
    """Says warnings that are meant for users in a line each, without the source that they come from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        yield
