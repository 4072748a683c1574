"""The bundled weights answer as fimjax 0.1 did: forecasts, interpolations, derivatives, backtests, anomalies."""

import numpy as np
import pytest

from tests.golden.answers import compute_answers, stored_answers

TOLERANCE = 1e-5
"""Largest deviation, in parts of the range of each series' answers in a call."""
EXACT = ("unique_id", "ds", "cutoff", "y", "anomaly")
"""Columns that must be equal."""


def deviations(found: dict[str, np.ndarray], stored: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest deviation of each numeric column, in parts of the range of the series that it belongs to."""
    largest = {}
    for key, old in stored.items():
        call, _, column = key.rpartition("/")
        new = found[key]
        assert new.shape == old.shape, key
        if column in EXACT or column.endswith("-anomaly"):
            np.testing.assert_array_equal(new, old, err_msg=key)
            continue
        np.testing.assert_array_equal(np.isnan(new), np.isnan(old), err_msg=key)
        ids = stored[f"{call}/unique_id"]
        columns = [x for other, x in stored.items() if other.rpartition("/")[0] == call and not _is_exact(other)]
        worst = 0.0
        for series in np.unique(ids):
            rows = ids == series
            numbers = np.concatenate([x[rows] for x in columns])
            # A constant series has no range: its own size counts.
            scale = np.nanmax(numbers) - np.nanmin(numbers) or np.nanmax(np.abs(numbers)) or 1.0
            worst = max(worst, np.nanmax(np.abs(new[rows] - old[rows]), initial=0.0) / scale)
        largest[key] = worst
    return largest


def _is_exact(key: str) -> bool:
    column = key.rpartition("/")[2]
    return column in EXACT or column.endswith("-anomaly")


@pytest.mark.parametrize(
    "name",
    [
        "nbeats-small",
        pytest.param("fim-small", marks=pytest.mark.slow),
        pytest.param("fim-small+nbeats-small", marks=pytest.mark.slow),
    ],
)
def test_answers_are_as_before(name):
    stored = {key: x for key, x in stored_answers(name).items() if "/views/" not in key}
    found = compute_answers(name)
    assert set(found) == set(stored)
    worst = deviations(found, stored)
    key = max(worst, key=lambda key: worst[key])
    print(f"{name}: largest deviation {worst[key]:.1e} of a series' range ({key})")
    assert worst[key] <= TOLERANCE, key
