"""A request to stop, by signal, that the training loop honours between two steps."""

import signal
from types import FrameType

import jax
import numpy as np
from jax.experimental import multihost_utils


class StopRequest:
    """While it is entered, SIGTERM and SIGINT ask for a stop instead of ending the process; a second one ends it."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self):
        self.signal: int | None = None

    def __enter__(self) -> "StopRequest":
        self._previous = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        for each, handler in self._previous.items():
            signal.signal(each, handler)

    def agreed(self, step: int, every: int) -> bool:
        """Whether to stop at this step; several processes ask each other, `every` so many steps, and stop together."""
        if jax.process_count() == 1:
            return self.signal is not None
        if step % every:
            return False
        return bool(np.any(multihost_utils.process_allgather(np.array(self.signal is not None))))
