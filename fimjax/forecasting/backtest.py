"""Windows of a backtest: where a series is cut, and what comes after."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Split:
    """One window: rows before `cut` are known, `h` rows from there on are to be forecast."""

    series: int
    cut: int
    h: int


def last_splits(lengths: list[int], h: int, windows: int, step: int) -> list[Split]:
    """The last windows of each series, oldest first, a step apart, as far as there is a row before them.

    Args:
        lengths: rows of each series.
    """
    return [
        Split(i, cut, h)
        for i, n in enumerate(lengths)
        for back in range(min(windows - 1, (n - h - 1) // step), -1, -1)
        for cut in (n - h - step * back,)
    ]


def all_splits(lengths: list[int], h: int, least: int) -> list[Split]:
    """Windows that follow each other through each series, with at least so many rows before the first."""
    splits = []
    for i, n in enumerate(lengths):
        cuts = range(min(least, n), n, h)
        splits += [Split(i, cut, min(h, n - cut)) for cut in cuts]
    return splits
