import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.datasets.dataset import differences_from_table3, read_dataset
from fimjax.evaluation.datasets.sampling import resampling_counts, sampling_order, take_sample
from fimjax.frames.frequency import infer_frequency
from tests.evaluation.examples import make_dataset, write_dataset


def test_the_catalog_is_the_papers_table_3():
    assert len(CATALOG) == 16
    assert sum(info.series for info in CATALOG.values() if info.competition == "m4") == 100_000
    assert [CATALOG[f"m4_{f}"].horizon for f in ("yearly", "quarterly", "monthly", "weekly", "daily", "hourly")] == [
        6, 8, 18, 13, 14, 48,
    ]  # fmt: skip


def test_a_data_set_is_read_as_it_was_written(tmp_path):
    dataset = make_dataset("m1_quarterly", series=4)
    write_dataset(tmp_path, dataset)
    found = read_dataset(tmp_path, "m1_quarterly")
    np.testing.assert_array_equal(found.ids, dataset.ids)
    np.testing.assert_array_equal(found.future, dataset.future)
    np.testing.assert_array_equal(found.categories, dataset.categories)
    for a, b in zip(found.histories, dataset.histories):
        np.testing.assert_array_equal(a, b)
    frame = found.history_frame()
    assert len(frame) == sum(map(len, dataset.histories))
    assert frame.groupby("unique_id")["ds"].max()["S1"] == len(dataset.histories[1]) - 1


def test_rows_may_come_in_any_order(tmp_path):
    write_dataset(tmp_path, make_dataset(), with_categories=False)
    path = tmp_path / "m3_yearly.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(np.random.default_rng(0).permutation(len(table))), path)
    found, expected = read_dataset(tmp_path, "m3_yearly"), make_dataset()
    order = [list(expected.ids).index(id) for id in found.ids]
    np.testing.assert_array_equal(found.future, expected.future[order])
    assert set(found.categories) == {""}


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.drop(["y"]), "has no column 'y'"),
        (lambda t: t.set_column(2, "y", pa.array([np.nan] * len(t))), "series S0 has a value that is not finite"),
        (lambda t: t.slice(1), None),
        (lambda t: t.slice(0, len(t) - 1), "series S4 does not end in a test part of 6 points"),
        (lambda t: t.filter(t["is_test"]), "series S0 does not end in a test part of 6 points"),
        (lambda t: t.slice(0, 0), "has no rows"),
        (lambda t: t.set_column(2, "y", pa.array(["x"] * len(t))), "column 'y' of .* holds string, not double"),
        (lambda t: t.set_column(3, "is_test", pa.nulls(len(t), pa.bool_())), "column 'is_test' of .* missing values"),
        (lambda t: t.set_column(0, "unique_id", pa.nulls(len(t), pa.string())), "'unique_id' of .* missing values"),
        (lambda t: pa.concat_tables([t.slice(0, 1), t]), "series S0 has a repeated or missing step"),
        (lambda t: pa.concat_tables([t.slice(0, 3), t.slice(4)]), "series S0 has a repeated or missing step"),
    ],
)
def test_a_damaged_data_set_is_rejected_in_one_sentence(tmp_path, change, message):
    write_dataset(tmp_path, make_dataset())
    path = tmp_path / "m3_yearly.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    if message is None:
        assert len(read_dataset(tmp_path, "m3_yearly")) == 5  # a shorter history is no damage
        return
    with pytest.raises(EvaluationError, match=message):
        read_dataset(tmp_path, "m3_yearly")


def test_a_truncated_file_is_rejected(tmp_path):
    write_dataset(tmp_path, make_dataset())
    path = tmp_path / "m3_yearly.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EvaluationError, match="m3_yearly.parquet cannot be read"):
        read_dataset(tmp_path, "m3_yearly")


@pytest.mark.parametrize("damage", ["cut", "column"])
def test_damaged_categories_are_rejected_in_one_sentence(tmp_path, damage):
    write_dataset(tmp_path, make_dataset())
    path = tmp_path / "m3_yearly.meta.parquet"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        pq.write_table(pq.read_table(path).drop(["category"]), path)
    with pytest.raises(EvaluationError, match="data set m3_yearly: .*m3_yearly.meta.parquet") as error:
        read_dataset(tmp_path, "m3_yearly")
    assert "\n" not in str(error.value)


def test_differences_from_table_3_are_listed():
    dataset = make_dataset(series=3)
    found = differences_from_table3(dataset)
    assert "m3_yearly: series is 3 here, 645 in the paper's table 3" in found
    assert any("shortest" in line for line in found)
    as_in_paper = dataclasses.replace(
        dataset, info=dataclasses.replace(dataset.info, series=3, shortest=26, longest=29), population=3
    )
    lengths = sorted(len(y) + 6 for y in dataset.histories)
    as_in_paper = dataclasses.replace(
        as_in_paper, info=dataclasses.replace(as_in_paper.info, shortest=lengths[0], longest=lengths[-1])
    )
    assert differences_from_table3(as_in_paper) == []


def test_samples_are_stratified_seeded_and_nested():
    dataset = make_dataset(series=100, categories=("A", "A", "A", "B"))
    small, large = take_sample(dataset, 20, seed=1), take_sample(dataset, 60, seed=1)
    assert (len(small), small.population, small.is_sample) == (20, 100, True)
    assert list(small.categories).count("B") == 5
    assert set(small.ids) < set(large.ids)
    assert set(take_sample(dataset, 20, seed=1).ids) == set(small.ids)
    assert set(take_sample(dataset, 20, seed=2).ids) != set(small.ids)
    assert take_sample(dataset, 100) is dataset and take_sample(dataset, None) is dataset
    for id, y in zip(small.ids, small.histories):
        np.testing.assert_array_equal(y, dataset.histories[list(dataset.ids).index(id)])


def test_the_first_series_of_the_sampling_order_are_a_sample():
    dataset = make_dataset(series=40, categories=("A", "B", "C", "C"))
    order = sampling_order(dataset, seed=4)
    assert sorted(order) == list(range(40))
    assert set(take_sample(dataset, 8, seed=4).ids) == set(dataset.ids[order[:8]])
    assert sorted(dataset.categories[order[:4]]) == ["A", "B", "C", "C"]


def test_a_resample_has_as_many_series_as_the_sample():
    counts = resampling_counts(30, seed=3)
    assert counts.shape == (1000, 30) and np.all(counts.sum(axis=1) == 30)
    assert abs(counts.mean() - 1) < 1e-12 and counts.std() > 0.9


@pytest.mark.parametrize("info", CATALOG.values(), ids=CATALOG)
def test_forecasters_receive_the_season_of_the_frequency(info):
    stamps = pd.date_range("2001-01-01", periods=60, freq=info.frequency).to_numpy()
    assert info.reported_season == infer_frequency([stamps]).season_length
