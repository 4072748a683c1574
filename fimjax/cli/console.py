"""Messages of the command line on standard error: notes, warnings, errors and progress."""

import contextlib
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator

PATIENCE = 1.0
"""Seconds before a bar appears."""
BETWEEN_LINES = 30.0
"""Seconds between lines if there is no terminal."""

Progress = Callable[[int, int], None]
"""Called with the number that is done and the total."""


class CommandError(ValueError):
    """A command that cannot be carried out; the message says why in one sentence."""


def say(text: str) -> None:
    """Prints a note for the user in one line."""
    print_error(f"fimjax: {text}")


def print_error(line: str) -> None:
    """Prints a line on standard error, if it is open; `print` would use standard output instead."""
    if sys.stderr is not None:
        print(" ".join(line.split()), file=sys.stderr)


@contextlib.contextmanager
def showing_warnings() -> Iterator[None]:
    """Prints warnings for users in one line each, without the source line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        yield


@contextlib.contextmanager
def showing_progress(quiet: bool, what: str = "series") -> Iterator[Progress]:
    """Shows progress: a bar on a terminal, a line now and then elsewhere; `what` names the counted things."""
    if quiet or sys.stderr is None:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _bar(what) as advance:
            yield advance
    else:
        yield _lines(what)


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(f"fimjax: {what}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    # By a timer, because the first series take longest: the model is compiled for them.
    starter = threading.Timer(PATIENCE, bar.start)
    starter.daemon = True
    starter.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        starter.cancel()
        starter.join()
        bar.stop()


def _lines(what: str) -> Progress:
    last = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal last
        if done < total and time.monotonic() - last > BETWEEN_LINES:
            last = time.monotonic()
            say(f"{done:,} of {total:,} {what}")

    return advance
