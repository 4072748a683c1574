"""Samples of large data sets, and bootstrap resamples of them."""

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets.dataset import Dataset

RESAMPLES = 1000


def sampling_order(dataset: Dataset, seed: int = 0) -> np.ndarray:
    """Orders the series so that the first n, for any n, are a sample stratified by category.

    The k-th series of a category of n is placed at the relative position (k + 1/2) / n. Samples with one seed are
    nested, so the fits of a smaller sample serve a larger one.
    """
    shuffled = np.random.default_rng(seed).permutation(len(dataset))
    frame = pd.DataFrame({"category": dataset.categories[shuffled]})
    groups = frame.groupby("category")["category"]
    place = (groups.cumcount() + 0.5) / groups.transform("size")
    return shuffled[np.argsort(place.to_numpy(), kind="stable")]


def take_sample(dataset: Dataset, size: int | None, seed: int = 0) -> Dataset:
    """Takes a stratified sample, with each category in proportion to its size; None takes all series."""
    if size is None or size >= len(dataset):
        return dataset
    return dataset.take(np.sort(sampling_order(dataset, seed)[:size]))


def resampling_counts(series: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """Draws bootstrap resamples: how often each series occurs in each of them [R, B]."""
    return np.random.default_rng(seed).multinomial(series, np.full(series, 1 / series), size=resamples)
