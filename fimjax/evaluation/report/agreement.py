"""Compares our scores of statistical models with the published scores of the same models."""

from typing import Any

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.published import FEV, MASE_TABLE, SCRPS_TABLE, read_published

TOLERANCE = 0.003
"""Largest difference in sCRPS that rounding and versions of StatsForecast explain."""


def agreement_with_paper(metrics: pd.DataFrame) -> pd.DataFrame:
    """Compares AutoARIMA and SiCoUM with the paper: sCRPS, and MASE relative to both naive forecasts."""
    scrps, mase = (read_published(name).set_index("dataset") for name in (SCRPS_TABLE, MASE_TABLE))
    rows = []
    for row in metrics.to_dict("records"):
        theirs = {"auto_arima": "arima", "sicoum": "sicoum", "sicoum_narrow": "sicoum"}.get(row["model"])
        if theirs is None or row["dataset"] not in scrps.index:
            continue
        paper = scrps.loc[row["dataset"], theirs]
        rows.append(
            {
                "dataset": row["dataset"],
                "model": row["model"],
                "series": f"{row['series']:,} of {row['population']:,}",
                "scrps": row["scrps"],
                "paper's": paper,
                "difference": row["scrps"] - paper,
                "agrees": _agrees(row, paper),
                "paper's MASE": mase.loc[row["dataset"], theirs],
                "over last value": row["mase_pooled_naive"],
                "over last season": row["mase_pooled"],
            }
        )
    return pd.DataFrame(rows)


def _agrees(row: dict[str, Any], paper: float) -> str:
    """Whether the sCRPS of a row agrees with the paper: within TOLERANCE, or within a sample's interval."""
    if abs(row["scrps"] - paper) <= TOLERANCE:
        return "yes"
    if row.get("scrps_lo", np.nan) <= paper <= row.get("scrps_hi", np.nan):
        return "within the sample's interval"
    return "no"


def agreement_with_fev(metrics: pd.DataFrame) -> pd.DataFrame:
    """Compares our scores with those of the fev benchmark; its SeasonalNaive has no intervals, so its WQL is ND."""
    table = metrics.merge(read_published(FEV), on=["dataset", "model"], suffixes=("", "_fev"))
    table["loss"] = table["scrps"].where(table["model"] != "seasonal_naive", table["nd"])
    table["series"] = [f"{n:,} of {m:,}" for n, m in zip(table["series"], table["population"])]
    order = [*CATALOG]
    table = table.sort_values(["model", "dataset"], key=lambda c: c.map(order.index) if c.name == "dataset" else c)
    columns = {"mase": "mase", "mase_fev": "fev's mase", "loss": "wql", "wql": "fev's wql"}
    return table[["dataset", "model", "series", "version", *columns]].rename(columns=columns).reset_index(drop=True)
