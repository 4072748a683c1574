"""How far a long job is: a bar on a terminal, now and then a line elsewhere."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from fimjax.cli.messages import say

PATIENCE = 1.0
"""Seconds before a bar appears."""
BETWEEN_LINES = 30.0
"""Seconds between lines where there is no terminal."""

Progress = Callable[[int, int], None]
"""Called with how many are done, of how many."""


@contextlib.contextmanager
def showing_progress(quiet: bool, what: str = "series") -> Iterator[Progress]:
    """Tells how far a job is while it lasts, to be called as it advances; what tells what is counted."""
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
    # Of its own accord, for the first series take the longest: the model is compiled for them.
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
