"""A sample of a large data set, and how sure its figures are."""

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets import Dataset

RESAMPLES = 1000


def take_sample(dataset: Dataset, size: int | None, seed: int = 0) -> Dataset:
    """A stratified sample: each category in proportion to its size, at random within it.

    Samples of one seed are nested: a larger one holds all series of a smaller one, so that fits can be added to.
    """
    if size is None or size >= len(dataset):
        return dataset
    shuffled = np.random.default_rng(seed).permutation(len(dataset))
    frame = pd.DataFrame({"category": dataset.categories[shuffled]})
    # The k-th of a category of n series stands at (k + 1/2) / n of the way: any beginning of this order is stratified.
    groups = frame.groupby("category")["category"]
    place = (groups.cumcount() + 0.5) / groups.transform("size")
    chosen = shuffled[np.argsort(place.to_numpy(), kind="stable")[:size]]
    return dataset.take(np.sort(chosen))


def resampling_counts(series: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each series is drawn in each bootstrap resample: [resamples, series]."""
    return np.random.default_rng(seed).multinomial(series, np.full(series, 1 / series), size=resamples)
