import dataclasses

import numpy as np
import pandas as pd
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines import bundled
from fimjax.evaluation.baselines.bundled import bundled_row, bundled_series
from fimjax.evaluation.datasets.sampling import sampling_order, take_sample
from fimjax.evaluation.forecasts import fingerprint, series_fingerprints
from fimjax.evaluation.scoring import compute_references, score
from tests.evaluation.examples import make_dataset, make_forecasts

WHOLE = make_dataset(series=4)
LARGE = make_dataset("m4_yearly", series=30)
SAMPLE = take_sample(LARGE, 10)


def row(dataset, model):
    references = compute_references(dataset)
    forecasts = make_forecasts(dataset)
    if model == "seasonal_naive":
        forecasts = dataclasses.replace(forecasts, point=references.last_season)
    about = {"dataset": dataset.info.name, "model": model, "series": len(dataset), "population": dataset.population}
    return about | {"data": fingerprint(dataset)} | score(dataset, forecasts, references)[0]


@pytest.fixture(autouse=True)
def published(monkeypatch):
    small = take_sample(LARGE, 5)
    rows = [row(d, m) for d in (WHOLE, SAMPLE) for m in ("seasonal_naive", "sicoum")] + [row(small, "auto_ets")]
    rows.append(row(small, "sicoum"))
    found = series_fingerprints(LARGE)
    monkeypatch.setattr(bundled, "read_published", lambda name: pd.DataFrame(rows))
    monkeypatch.setattr(bundled, "read_samples", lambda: {"m4_yearly": [found[i] for i in sampling_order(LARGE)[:10]]})


def test_bundled_scores_belong_to_the_same_series():
    assert bundled_row("sicoum", WHOLE, compute_references(WHOLE))["source"] == "bundled"
    assert bundled_row("sicoum", SAMPLE, compute_references(SAMPLE))["scrps"] == row(SAMPLE, "sicoum")["scrps"]


def test_a_copy_may_differ_by_rounding_but_not_in_its_series():
    digits = dataclasses.replace(WHOLE, histories=[y * (1 + 1e-6) for y in WHOLE.histories])
    assert bundled_row("sicoum", digits, compute_references(digits))["source"] == "bundled, other copy"
    for other in (make_dataset(series=4, seed=1), take_sample(LARGE, 10, seed=1)):
        with pytest.raises(EvaluationError, match="the bundled scores were computed on other series"):
            bundled_row("sicoum", other, compute_references(other))


def test_missing_scores_are_named():
    with pytest.raises(EvaluationError, match=r"no bundled scores on 4 series \(there are none\)"):
        bundled_row("auto_ets", WHOLE, compute_references(WHOLE))
    seven = take_sample(LARGE, 7)
    with pytest.raises(EvaluationError, match=r"on 7 series \(there are some on 10 or 5 series\)"):
        bundled_row("sicoum", seven, compute_references(seven))


def test_the_bundled_sample_is_found_by_values_not_names():
    shuffled = np.random.default_rng(0).permutation(30)
    copy = dataclasses.replace(
        LARGE.take(shuffled), ids=np.array([f"T{i}" for i in range(30)]), categories=np.full(30, "")
    )
    found = bundled_series(copy, ["sicoum", "seasonal_naive"])
    assert len(found) == 10 and fingerprint(found) == fingerprint(SAMPLE)
    assert bundled_row("sicoum", found, compute_references(found))["source"] == "bundled"


def test_the_largest_sample_that_all_models_have_is_used():
    assert len(bundled_series(LARGE, ["sicoum"])) == 10
    assert len(bundled_series(LARGE, ["sicoum", "auto_ets"])) == 5
    assert bundled_series(WHOLE, ["sicoum"]) is WHOLE
    with pytest.raises(EvaluationError, match="seasonal_naive, auto_ets have no bundled scores on the same series"):
        bundled_series(LARGE, ["seasonal_naive", "auto_ets"])


def test_a_copy_without_the_sampled_series_is_rejected():
    with pytest.raises(EvaluationError, match="this copy has 0 of the 10 series of the bundled scores"):
        bundled_series(make_dataset("m4_yearly", series=30, seed=5), ["sicoum"])
