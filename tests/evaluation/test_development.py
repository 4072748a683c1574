"""Development looks at training parts only, and frames with dates say what the evaluation says."""

import numpy as np

from fimjax.evaluation.development import DATASETS, compare, dated_frame, development_part
from tests.evaluation.examples import make_dataset
from tests.forecasting.small import forecaster


def test_the_target_is_the_end_of_the_training_part_and_no_test_part_is_read():
    dataset = make_dataset(series=4)
    part, h = development_part(dataset), dataset.info.horizon
    for found, future, whole in zip(part.histories, part.future, dataset.histories):
        np.testing.assert_array_equal(np.concatenate([found, future]), whole)
        assert len(future) == h
    assert {name.split("_")[0] for name in DATASETS} == {"m1", "m4"}


def test_forecasts_through_dated_frames_are_those_of_the_evaluation():
    dataset = make_dataset(series=6)
    frame = dated_frame(dataset)
    assert frame.groupby("unique_id", sort=False).size().to_list() == list(map(len, dataset.histories))
    row = compare(forecaster(), dataset)
    assert row["scrps by steps"] == row["scrps by dates"] > 0 and row["mase by steps"] == row["mase by dates"] > 0
    assert row["largest difference"] < 1e-6
