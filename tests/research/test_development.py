"""Backtests use training parts only, and dates give the same forecasts as steps."""

import numpy as np
import pandas as pd
import pytest

from research.development import DATASETS, compare_steps_with_dates, dated_frame, development_part, measure, summarise
from tests.evaluation.examples import make_dataset
from tests.inference.small import forecaster


def test_targets_are_the_end_of_the_training_parts():
    dataset = make_dataset(series=4)
    part, h = development_part(dataset), dataset.info.horizon
    for found, future, whole in zip(part.histories, part.future, dataset.histories):
        np.testing.assert_array_equal(np.concatenate([found, future]), whole)
        assert len(future) == h
    earlier = development_part(dataset, origin=2)
    for found, future, whole in zip(earlier.histories, earlier.future, dataset.histories):
        np.testing.assert_array_equal(np.concatenate([found, future]), whole[:-h])
    assert {name.split("_")[0] for name in DATASETS} == {"m1", "m4"}


def test_forecasts_with_dates_equal_those_with_steps():
    dataset = make_dataset(series=6)
    frame = dated_frame(dataset)
    assert frame.groupby("unique_id", sort=False).size().to_list() == list(map(len, dataset.histories))
    row = compare_steps_with_dates(forecaster(), dataset)
    assert row["scrps by steps"] == row["scrps by dates"] > 0 and row["mase by steps"] == row["mase by dates"] > 0
    assert row["largest difference"] < 1e-6


def test_ratios_are_relative_to_the_seasonal_naive_forecast():
    dataset = make_dataset(series=6)
    row = measure(forecaster(), dataset)
    repeated = np.stack([np.resize(y[-dataset.info.season :], dataset.info.horizon) for y in dataset.histories])
    deviation = np.abs(dataset.future - repeated).sum() / np.abs(dataset.future).sum()
    assert row["sCRPS"] / row["sCRPS/SNaive"] == pytest.approx(deviation)
    summary = summarise(pd.DataFrame({"a": row, "b": row}).T)
    assert f"sCRPS/SNaive {row['sCRPS/SNaive']:.4f}" in summary and "over 2 data sets" in summary
