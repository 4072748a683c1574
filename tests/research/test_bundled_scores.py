import json

import pandas as pd
import pytest

from fimjax.evaluation.baselines.statistical import COMBINED, SINGLE
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.datasets.sampling import take_sample
from fimjax.evaluation.forecasts import series_fingerprints
from fimjax.evaluation.published import STATISTICAL, read_published, read_samples
from fimjax.evaluation.scoring import METRICS
from research import agreement
from research.bundled_scores import add_scores, merge
from tests.evaluation.examples import make_dataset, write_dataset


def rows(*cells):
    table = pd.DataFrame(cells, columns=["dataset", "model", "scrps", "source"])
    return table.assign(series=9, population=9, seed=0)


def test_a_new_row_replaces_an_old_one(tmp_path):
    target, new = tmp_path / "statistical.csv", tmp_path / "metrics.csv"
    rows(("m3_yearly", "sicoum", 0.1, "measured"), ("m1_yearly", "naive", 0.2, "measured")).to_csv(target, index=False)
    rows(("m3_yearly", "sicoum", 0.3, "measured"), ("m3_yearly", "fim", 0.4, "measured")).to_csv(new, index=False)
    add_scores([new], target)
    found = pd.read_csv(target)
    assert list(zip(found["dataset"], found["model"], found["scrps"])) == [
        ("m1_yearly", "naive", 0.2),
        ("m3_yearly", "sicoum", 0.3),
    ]


def test_bundled_scores_are_not_added_again(tmp_path):
    new = tmp_path / "metrics.csv"
    rows(("m3_yearly", "sicoum", 0.3, "bundled"), ("m3_yearly", "naive", 0.1, "measured")).to_csv(new, index=False)
    add_scores([new], tmp_path / "statistical.csv")
    assert list(pd.read_csv(tmp_path / "statistical.csv")["model"]) == ["naive"]


def test_rows_are_in_the_order_of_the_catalog():
    table = merge([rows(*[(d, m, 0.1, "measured") for m in ("sicoum", "naive") for d in reversed(CATALOG)])])
    assert list(table["dataset"].unique()) == list(CATALOG) and list(table["model"][:2]) == ["naive", "sicoum"]


def test_larger_samples_come_first_and_their_series_are_stored(tmp_path, monkeypatch):
    write_dataset(tmp_path, make_dataset("m4_yearly", series=30))
    monkeypatch.setenv("FIMJAX_DATA", str(tmp_path))
    new, target = tmp_path / "metrics.csv", tmp_path / "statistical.csv"
    both = [rows(("m4_yearly", "sicoum", 0.1, "measured")).assign(series=n, population=30) for n in (5, 8)]
    pd.concat(both).to_csv(new, index=False)
    add_scores([new], target)
    assert list(pd.read_csv(target)["series"]) == [8, 5]
    stored = json.loads((tmp_path / "samples.json").read_text())["m4_yearly"]
    dataset = make_dataset("m4_yearly", series=30)
    assert set(stored) == set(series_fingerprints(take_sample(dataset, 8)))
    assert set(stored[:5]) == set(series_fingerprints(take_sample(dataset, 5)))


@pytest.mark.parametrize("name", CATALOG)
def test_every_data_set_has_bundled_scores_of_every_statistical_model(name):
    table = read_published(STATISTICAL)
    table = table[table["dataset"] == name].drop_duplicates("model").set_index("model")
    assert set(table.index) == {*SINGLE, *COMBINED}
    assert table[list(METRICS)].notna().all().all() and table["version"].str.startswith("statsforecast ").all()
    assert (table["population"] == CATALOG[name].series).all()
    sampled = table["series"] < table["population"]
    assert table.loc[sampled, ["scrps_lo", "scrps_hi"]].notna().all().all()
    if name.split("_")[0] != "m4" or name == "m4_weekly":
        assert not sampled.any()
    if sampled.any():
        assert len(read_samples()[name]) >= table.loc[sampled, "series"].max()


def test_agreement_of_the_bundled_scores_is_printed(capsys):
    agreement.main()
    printed = capsys.readouterr().out
    assert "| m1_quarterly | sicoum_narrow | 203 of 203 | 0.084 | 0.084 |" in printed
    assert "statsforecast 2.0.1" in printed
