import dataclasses

import numpy as np
import pandas as pd
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines import committed
from fimjax.evaluation.baselines.committed import committed_row, committed_series
from fimjax.evaluation.datasets.sampling import sampling_order, take_sample
from fimjax.evaluation.forecasts import fingerprint, series_fingerprints
from fimjax.evaluation.scoring import reference_scores, score
from tests.evaluation.examples import make_dataset, make_forecasts

WHOLE = make_dataset(series=4)
LARGE = make_dataset("m4_yearly", series=30)
SAMPLE = take_sample(LARGE, 10)


def row(dataset, model):
    by = reference_scores(dataset)
    forecasts = make_forecasts(dataset)
    if model == "seasonal_naive":
        forecasts = dataclasses.replace(forecasts, point=by.last_season)
    about = {"dataset": dataset.info.name, "model": model, "series": len(dataset), "population": dataset.population}
    return about | {"data": fingerprint(dataset)} | score(dataset, forecasts, by)[0]


@pytest.fixture(autouse=True)
def published(monkeypatch):
    small = take_sample(LARGE, 5)
    rows = [row(d, m) for d in (WHOLE, SAMPLE) for m in ("seasonal_naive", "sicoum")] + [row(small, "auto_ets")]
    rows.append(row(small, "sicoum"))
    found = series_fingerprints(LARGE)
    monkeypatch.setattr(committed, "read_published", lambda name: pd.DataFrame(rows))
    monkeypatch.setattr(
        committed, "read_samples", lambda: {"m4_yearly": [found[i] for i in sampling_order(LARGE)[:10]]}
    )


def test_committed_figures_are_of_the_very_same_series():
    assert committed_row("sicoum", WHOLE, reference_scores(WHOLE))["source"] == "committed"
    assert committed_row("sicoum", SAMPLE, reference_scores(SAMPLE))["scrps"] == row(SAMPLE, "sicoum")["scrps"]


def test_a_copy_with_other_digits_will_do_and_one_with_other_series_will_not():
    digits = dataclasses.replace(WHOLE, histories=[y * (1 + 1e-6) for y in WHOLE.histories])
    assert committed_row("sicoum", digits, reference_scores(digits))["source"] == "committed, another copy"
    other = make_dataset(series=4, seed=1)
    with pytest.raises(EvaluationError, match="the committed figures are of other series"):
        committed_row("sicoum", other, reference_scores(other))


def test_a_sample_of_other_series_will_not_do():
    other = take_sample(LARGE, 10, seed=1)
    with pytest.raises(EvaluationError, match="the committed figures are of other series"):
        committed_row("sicoum", other, reference_scores(other))


def test_what_is_not_committed_is_named():
    with pytest.raises(EvaluationError, match=r"no committed figures of 4 series \(there are none\)"):
        committed_row("auto_ets", WHOLE, reference_scores(WHOLE))
    seven = take_sample(LARGE, 7)
    with pytest.raises(EvaluationError, match=r"of 7 series \(there are of 10 or 5 series\)"):
        committed_row("sicoum", seven, reference_scores(seven))


def test_the_committed_sample_is_found_whatever_the_series_are_called():
    shuffled = np.random.default_rng(0).permutation(30)
    copy = dataclasses.replace(
        LARGE.take(shuffled), ids=np.array([f"T{i}" for i in range(30)]), categories=np.full(30, "")
    )
    found = committed_series(copy, ["sicoum", "seasonal_naive"])
    assert len(found) == 10 and fingerprint(found) == fingerprint(SAMPLE)
    assert committed_row("sicoum", found, reference_scores(found))["source"] == "committed"


def test_models_meet_on_the_largest_sample_that_all_have():
    assert len(committed_series(LARGE, ["sicoum"])) == 10
    assert len(committed_series(LARGE, ["sicoum", "auto_ets"])) == 5
    assert committed_series(WHOLE, ["sicoum"]) is WHOLE
    with pytest.raises(EvaluationError, match="of seasonal_naive, auto_ets are of the same series"):
        committed_series(LARGE, ["seasonal_naive", "auto_ets"])


def test_a_copy_without_the_sampled_series_is_refused():
    with pytest.raises(EvaluationError, match="of the 10 series of the committed figures, this copy has 0"):
        committed_series(make_dataset("m4_yearly", series=30, seed=5), ["sicoum"])
