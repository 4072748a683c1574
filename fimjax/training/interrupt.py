"""A request to stop, by a signal, that the training loop honours between two steps."""

import signal
from types import FrameType

import jax
import numpy as np
from jax.experimental import multihost_utils


class StopRequest:
    """Inside this context, SIGTERM and SIGINT request a stop instead of ending the process. A second signal ends it."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.signal: int | None = None

    def __enter__(self) -> "StopRequest":
        self._previous = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        for each, handler in self._previous.items():
            signal.signal(each, handler)

    def agreed(self, step: int, every: int) -> bool:
        """Whether to stop at this step. Several processes exchange requests every `every` steps and stop together."""
        if jax.process_count() == 1:
            return self.signal is not None
        if step % every:
            return False
        return bool(np.any(multihost_utils.process_allgather(np.array(self.signal is not None))))
