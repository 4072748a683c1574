"""A sample of a large data set, and how sure its figures are."""

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets.dataset import Dataset

RESAMPLES = 1000


def sampling_order(dataset: Dataset, seed: int = 0) -> np.ndarray:
    """An order of the series of which any beginning is a sample, stratified by category and random within.

    The k-th of a category of n series stands at (k + 1/2) / n of the way. Samples of one seed are nested, so that fits
    to a larger one add to those of a smaller one.
    """
    shuffled = np.random.default_rng(seed).permutation(len(dataset))
    frame = pd.DataFrame({"category": dataset.categories[shuffled]})
    groups = frame.groupby("category")["category"]
    place = (groups.cumcount() + 0.5) / groups.transform("size")
    return shuffled[np.argsort(place.to_numpy(), kind="stable")]


def take_sample(dataset: Dataset, size: int | None, seed: int = 0) -> Dataset:
    """A stratified sample: each category in proportion to its size."""
    if size is None or size >= len(dataset):
        return dataset
    return dataset.take(np.sort(sampling_order(dataset, seed)[:size]))


def resampling_counts(series: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each series is drawn in each bootstrap resample: [resamples, series]."""
    return np.random.default_rng(seed).multinomial(series, np.full(series, 1 / series), size=resamples)
