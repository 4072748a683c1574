import numpy as np
import pandas as pd
import pytest

from fimjax.cli.evaluate import OUTPUTS, make_tables, print_comparison
from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.published import MASE_TABLE, SCRPS_TABLE, read_published
from fimjax.evaluation.report.comparison import compare_with_published, comparison_note
from fimjax.evaluation.report.tables import FLAG

SCORES = {
    "scrps": 0.1,
    "nd": 0.12,
    "mase": 1.0,
    "mase_pooled": 5.0,
    "mase_pooled_naive": 0.8,
    "smape": 10.0,
    "coverage_80": 0.7,
    "coverage_95": 0.9,
    "coverage_difference": 0.1,
    "wall_seconds": 2.0,
    "trained_on": False,
    "version": "v",
}


def row(dataset, model="mine", **other):
    count = CATALOG[dataset].series
    return {"dataset": dataset, "model": model, "series": count, "population": count, **SCORES, **other}


def compare(*rows):
    return compare_with_published(pd.DataFrame(rows)).set_index("measure")


def paper(table, column):
    return read_published(table).set_index("dataset")[column]


def test_a_model_with_twice_the_papers_scores_has_ratio_two():
    scrps, mase = 2 * paper(SCRPS_TABLE, "sicoum"), 2 * paper(MASE_TABLE, "sicoum")
    table = compare(*(row(name, scrps=scrps[name], mase_pooled_naive=mase[name]) for name in scrps.index))
    for name in ("sCRPS / the paper's SiCoUM", "pooled MASE / the paper's SiCoUM"):
        assert tuple(table.loc[name]) == ("15 of 15", "2.000")


def test_ratios_are_geometric_means_over_the_data_sets_that_the_run_has():
    table = compare(
        row("m1_yearly", scrps=0.100, mase_pooled_naive=0.5),
        row("m4_yearly", scrps=0.200, mase_pooled_naive=0.9),
        row("m4_hourly", scrps=9.0, mase_pooled_naive=9.0),  # not in the paper
    )
    expected = np.sqrt(0.100 / 0.129 * 0.200 / 0.115)
    assert tuple(table.loc["sCRPS / the paper's SiCoUM"]) == ("2 of 15", f"{expected:.3f}")
    expected = np.sqrt(0.5 / 0.686 * 0.9 / 0.814)
    assert tuple(table.loc["pooled MASE / the paper's SiCoUM"]) == ("2 of 15", f"{expected:.3f}")


def test_wins_are_counted_after_rounding_to_three_digits():
    # m1_yearly: SiCoUM 0.129, ARIMA 0.133, best network 0.134; tourism_yearly: 0.145, 0.128, 0.116
    table = compare(row("m1_yearly", scrps=0.1287), row("tourism_yearly", scrps=0.127))
    assert table.loc["sCRPS below the paper's SiCoUM", "mine"] == "1 of 2", "0.1287 is 0.129: no win"
    assert table.loc["sCRPS below the paper's ARIMA", "mine"] == "2 of 2"
    assert table.loc["sCRPS below the paper's best network (best_cftl)", "mine"] == "1 of 2"
    assert table.loc["sCRPS below the paper's ARIMA", "data sets"] == "2 of 15"


def test_ratios_use_the_runs_seasonal_naive_with_and_without_intervals():
    rows = [
        row("m1_yearly", scrps=0.10, mase=2.0),
        row("m1_yearly", "seasonal_naive", scrps=0.16, nd=0.20, mase=4.0),
        row("tourism_monthly", scrps=0.10, mase=1.0),
        row("tourism_monthly", "seasonal_naive", scrps=0.09, nd=0.125, mase=1.0),
        row("m4_monthly", scrps=5.0, mase=5.0),  # not in fev's benchmark
        row("m4_monthly", "seasonal_naive", scrps=0.1, nd=0.1, mase=1.0),
    ]
    table = compare(*rows)
    assert list(table.columns) == ["data sets", "mine"], "statistical models are not compared"
    assert tuple(table.loc["MASE / SeasonalNaive"]) == ("2 of 11", f"{np.sqrt(0.5):.3f}")
    with_intervals = np.sqrt(0.10 / 0.16 * 0.10 / 0.09)
    assert tuple(table.loc["WQL / SeasonalNaive with intervals"]) == ("2 of 11", f"{with_intervals:.3f}")
    without = np.sqrt(0.10 / 0.20 * 0.10 / 0.125)
    assert tuple(table.loc["WQL / SeasonalNaive without, as in fev"]) == ("2 of 11", f"{without:.3f}")
    assert "is from this run" in comparison_note(pd.DataFrame(rows))


def test_without_seasonal_naive_in_the_run_fevs_scores_are_used():
    rows = [row("m1_yearly", scrps=0.1045, mase=2.447), row("m3_monthly", scrps=0.149, mase=1.146)]
    table = compare(*rows)
    assert tuple(table.loc["MASE / SeasonalNaive"]) == ("2 of 11", f"{np.sqrt(0.5):.3f}")
    assert table.loc["WQL / SeasonalNaive without, as in fev", "mine"] == f"{np.sqrt(0.5):.3f}"
    assert "WQL / SeasonalNaive with intervals" not in table.index, "fev's has none"
    assert "fev's published scores" in comparison_note(pd.DataFrame(rows))


def test_too_high_coverage_does_not_offset_too_low_coverage():
    table = compare(
        row("m1_yearly", coverage_80=0.7, coverage_95=0.9),
        row("m4_hourly", coverage_80=0.9, coverage_95=0.94),
    )
    assert tuple(table.loc["80 % interval, coverage error"]) == ("2 of 16", "0.100")
    assert tuple(table.loc["95 % interval, coverage error"]) == ("2 of 16", "0.030")


def test_the_total_of_m4_is_weighted_by_population_and_needs_all_six():
    mase = {"hourly": 1.0, "daily": 3.0, "weekly": 2.5, "monthly": 0.9, "quarterly": 1.2, "yearly": 3.1}
    counts = {"hourly": 414, "daily": 4227, "weekly": 359, "monthly": 48000, "quarterly": 24000, "yearly": 23000}
    rows = [row(f"m4_{name}", mase=value) for name, value in mase.items()]
    expected = sum(counts[name] * mase[name] for name in mase) / 100_000
    assert tuple(compare(*rows).loc["M4 total MASE"]) == ("6 of 6", f"{expected:.3f}")
    sample = [one | {"series": 50} if one["dataset"] == "m4_monthly" else one for one in rows]
    assert tuple(compare(*sample).loc["M4 total MASE"]) == ("6 of 6, 1 sampled", f"{expected:.3f}")
    assert "M4 total MASE" not in compare(*rows[1:]).index
    other = [one | {"model": "other"} for one in rows[1:]]
    assert "M4 total MASE" not in compare(*rows, *other).index, "one of the models has five"


def test_samples_are_counted():
    table = compare(row("m1_yearly"), row("m4_daily", series=300), row("m4_hourly", series=30))
    assert table.loc["sCRPS / the paper's SiCoUM", "data sets"] == "2 of 15, 1 sampled"
    assert table.loc["MASE / SeasonalNaive", "data sets"] == "1 of 11"
    assert table.loc["80 % interval, coverage error", "data sets"] == "3 of 16, 2 sampled"


def test_measures_without_any_data_set_are_left_out():
    assert list(compare(row("m4_hourly")).index) == ["80 % interval, coverage error", "95 % interval, coverage error"]
    table = compare(row("m4_daily"))
    assert "sCRPS / the paper's SiCoUM" in table.index and "MASE / SeasonalNaive" not in table.index


def test_models_have_their_own_columns_and_training_flags():
    table = compare(
        row("m1_yearly", scrps=0.129),
        row("m1_yearly", "other", scrps=0.258),
        row("m4_daily", scrps=0.024),
        row("m4_daily", "other", scrps=0.048, trained_on=True),
        row("m3_yearly", scrps=7.0),  # the other one lacks it
    )
    assert tuple(table.loc["sCRPS / the paper's SiCoUM"]) == ("2 of 15", "1.000", f"2.000{FLAG}")
    assert not table.loc["MASE / SeasonalNaive", "other"].endswith(FLAG), "m4_daily is not in it"


def test_the_comparison_needs_a_model_that_is_not_statistical(capsys):
    rows = [row("m1_yearly", scrps=0.258), row("m1_yearly", "seasonal_naive")]
    tables = make_tables(pd.DataFrame(rows), {})
    assert list(tables)[:2] == ["summary", "comparison"] and "comparison.csv" in OUTPUTS
    assert {f"{name}.csv" for name in tables} <= set(OUTPUTS)
    print_comparison(*tables["comparison"])
    printed = capsys.readouterr().out
    assert any(line.split()[-4:] == ["1", "of", "15", "2.000"] for line in printed.splitlines())
    assert "SeasonalNaive is from this run" in " ".join(printed.split())
    assert "comparison" not in make_tables(pd.DataFrame(rows[1:]), {})


@pytest.mark.parametrize("model", ["naive", "auto_ets", "sicoum", "sicoum_narrow"])
def test_statistical_models_are_not_compared(model):
    assert compare_with_published(pd.DataFrame([row("m1_yearly", model)])).empty
