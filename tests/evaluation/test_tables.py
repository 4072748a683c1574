import numpy as np
import pandas as pd
import pytest

from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.published import FEV, MASE_TABLE, SCRPS_TABLE, is_trained_on, read_published
from fimjax.evaluation.report.agreement import agreement_with_fev, agreement_with_paper
from fimjax.evaluation.report.tables import FLAG, mase_table, scrps_table, summary

ROWS = [
    # dataset, model, scrps, mase, trained_on, series, population
    ("m1_yearly", "mine", 0.100, 2.0, False, 181, 181),
    ("m1_yearly", "sicoum", 0.200, 4.0, False, 181, 181),
    ("m4_yearly", "mine", 0.200, 3.0, True, 300, 23_000),
    ("m4_yearly", "sicoum", 0.100, 3.0, False, 300, 23_000),
]


def frame(rows=ROWS):
    names = ("dataset", "model", "scrps", "mase", "trained_on", "series", "population")
    table = pd.DataFrame(rows, columns=names)
    sampled = table["series"] < table["population"]
    for end, sign in (("lo", -1), ("hi", 1)):
        table[f"scrps_{end}"] = (table["scrps"] + sign * 0.01).where(sampled)
    fixed = {"nd": 0.209, "mase_pooled": 0.7, "mase_pooled_naive": 0.8, "smape": 10.0, "coverage_difference": 0.1}
    return table.assign(**fixed, wall_seconds=2.0, version="v")


def test_the_papers_tables_are_complete():
    scrps, mase = read_published(SCRPS_TABLE), read_published(MASE_TABLE)
    assert set(scrps["dataset"]) == set(mase["dataset"]) == set(CATALOG) - {"m4_hourly"}
    assert list(scrps.columns) == list(mase.columns) and not scrps.isna().any().any()
    cell = scrps.set_index("dataset").loc["tourism_monthly"]
    assert (cell["arima"], cell["sicoum"], cell["timesfm"]) == (0.091, 0.082, 0.085)
    assert mase.set_index("dataset").loc["tourism_monthly", "sicoum"] == 0.333
    assert len(read_published(FEV)) == 33


def test_cells_carry_flags_and_intervals():
    table = scrps_table(frame()).set_index("dataset")
    assert table.loc["m1_yearly", "mine"] == "0.100"
    assert list(table["series"][:2]) == ["181", "300 of 23,000"]
    assert table.loc["m4_yearly", "mine"] == f"0.200 [0.190, 0.210]{FLAG}"
    assert table.loc["m4_yearly", "sicoum"] == "0.100 [0.090, 0.110]"
    assert table.loc["m4_yearly", "paper: timesfm"] == f"0.091{FLAG}"
    assert table.loc["m1_yearly", "paper: timesfm"] == "0.145"
    assert table.loc["m1_yearly", "paper: moirai_small"] == f"0.210{FLAG}"


def test_means_below_the_table():
    table = scrps_table(frame()).set_index("dataset")
    weighted = (181 * 0.1 + 23_000 * 0.2) / 23_181
    assert table.loc["average, weighted by series", "mine"] == f"{weighted:.3f}{FLAG}", "it was trained on one of them"
    assert table.loc["average, weighted by series", "sicoum"] == f"{(181 * 0.2 + 23_000 * 0.1) / 23_181:.3f}"
    ratio = np.sqrt(0.1 / 0.129 * 0.2 / 0.115)
    assert table.loc["geometric mean of ratios to the paper's SiCoUM", "mine"] == f"{ratio:.3f}{FLAG}"
    assert table.loc["data sets ahead of the paper's SiCoUM", "mine"] == f"1{FLAG}"
    assert table.loc["data sets ahead of the paper's SiCoUM", "series"] == "2 data sets"
    assert table.loc["geometric mean of ratios to the paper's SiCoUM", "paper: sicoum"] == "1.000"


def test_a_data_set_that_the_paper_lacks_has_empty_cells():
    rows = [
        *ROWS,
        ("m4_hourly", "mine", 0.05, 1.0, False, 414, 414),
        ("m4_hourly", "sicoum", 0.04, 1.0, False, 414, 414),
    ]
    table = scrps_table(frame(rows)).set_index("dataset")
    assert table.loc["m4_hourly", "mine"] == "0.050" and table.loc["m4_hourly", "paper: sicoum"] == ""
    assert table.loc["data sets ahead of the paper's SiCoUM", "mine"] == f"1{FLAG}"
    only = scrps_table(frame(rows[-2:]))
    assert list(only["dataset"]) == ["m4_hourly"]


def test_table_4_is_relative_to_the_last_value():
    assert mase_table(frame()).set_index("dataset").loc["m1_yearly", "mine"] == "0.800"


def test_summary():
    table = summary(frame()).set_index("model")
    assert table.loc["mine", "scrps / sicoum"] == pytest.approx(1.0), "half on one, double on the other"
    assert table.loc["mine", "mase / sicoum"] == pytest.approx(np.sqrt(0.5))
    assert "scrps / seasonal_naive" not in table
    assert table.loc["mine", "ahead of sicoum"] == 1 and list(table["best"]) == [1, 1]
    assert table.loc["mine", "trained on"] == f"1{FLAG}" and table.loc["sicoum", "trained on"] == "0"
    assert table.loc["mine", "series per second"] == pytest.approx(481 / 4)


def test_averages_over_samples_have_bounds_and_ratios_are_resampled_in_pairs():
    noise = np.random.default_rng(0).normal(1, 0.1, 1000)
    resampled = {
        (d, m): ({"scrps": x * noise, "mase": noise, "mase_pooled": noise, "smape": noise} if d == "m4_yearly" else {})
        for d, m, x in (row[:3] for row in ROWS)
    }
    table = summary(frame(), resampled).set_index("model")
    assert table.loc["mine", "scrps, weighted, lo"] < table.loc["mine", "scrps, weighted"]
    low, high = (181 * 0.1 + 23_000 * 0.2 * np.quantile(noise, q) for q in (0.025, 0.975))
    assert table.loc["mine", "scrps, weighted, lo"] == pytest.approx(low / 23_181)
    assert table.loc["mine", "scrps, weighted, hi"] == pytest.approx(high / 23_181)
    assert table.loc["mine", "scrps / sicoum, lo"] == pytest.approx(table.loc["mine", "scrps / sicoum, hi"]), "pairs"
    resampled["m4_yearly", "sicoum"] = {}
    assert "scrps, weighted, lo" not in summary(frame(), resampled), "a sample without resamples"


def test_the_summary_leaves_out_data_sets_that_a_model_lacks():
    table = summary(frame(ROWS[:3])).set_index("model")
    assert set(table["data sets"]) == {1} and table.loc["mine", "mase, weighted"] == 2.0


def test_agreement_with_the_paper_has_a_tolerance():
    rows = [
        ("m1_yearly", "auto_arima", 0.1359, 1.0, False, 181, 181),
        ("m1_yearly", "sicoum", 0.1325, 1.0, False, 181, 181),
        ("m4_yearly", "sicoum", 0.1235, 1.0, False, 300, 23_000),
        ("m4_hourly", "sicoum", 0.1, 1.0, False, 414, 414),
    ]
    table = agreement_with_paper(frame(rows))
    assert list(table["agrees"]) == ["yes", "no", "within the sample's interval"]
    assert list(table["paper's"]) == [0.133, 0.129, 0.115]


def test_fevs_seasonal_naive_is_compared_as_a_point_forecast():
    rows = [
        ("m1_yearly", "seasonal_naive", 0.18, 4.894, False, 181, 181),
        ("m1_yearly", "auto_ets", 0.139, 3.9, False, 181, 181),
    ]
    table = agreement_with_fev(frame(rows)).set_index("model")
    assert (table.loc["seasonal_naive", "wql"], table.loc["seasonal_naive", "fev's wql"]) == (0.209, 0.209)
    assert (table.loc["auto_ets", "wql"], table.loc["auto_ets", "fev's wql"]) == (0.139, 0.139)


def test_training_data_may_be_a_whole_competition():
    assert (
        is_trained_on(("m4",), "m4_daily")
        and is_trained_on(("m4_daily",), "m4_daily")
        and not is_trained_on(("m4_daily",), "m4_weekly")
    )
