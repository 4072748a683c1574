"""Several looks at the same series, whose answers are averaged: a little more accuracy for a multiple of the time."""

from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """How a series is shown to the model."""

    stretch: float = 1.0  # length of a window, in horizons: longer ones reach further back
    flipped: bool = False  # upside down


VIEWS = {
    "plain": View(),
    "long": View(stretch=1.5),
    "longer": View(stretch=2.0),
    "flipped": View(flipped=True),
}
"""Views by the names that users give."""


def read_views(names: tuple[str, ...]) -> tuple[View, ...]:
    """Views by name, at least one."""
    names = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in names if name not in VIEWS]
    if unknown or not names:
        what = f"{unknown[0]!r} is unknown" if unknown else "none is given"
        raise ValueError(f"views: {what}; there are {', '.join(VIEWS)}")
    return tuple(VIEWS[name] for name in names)


def turn_back(out: np.ndarray, outputs: int) -> np.ndarray:
    """What was said of a flipped series, said of the series: low quantiles become high ones, [Q, columns]."""
    parts = out.reshape(len(out), -1, outputs)  # the outputs, and their slopes if these were asked for
    return -parts[..., ::-1].reshape(out.shape)
