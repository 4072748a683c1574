"""Do our statistical models come out as they did for others? `python -m fimjax.evaluation.report.agreement` prints it."""

import numpy as np
import pandas as pd

from fimjax.evaluation.datasets.catalog import CATALOG
from fimjax.evaluation.published import FEV, MASE_TABLE, OLDER, SCRPS_TABLE, STATISTICAL, read_published

TOLERANCE = 0.003
"""Difference in sCRPS from the paper's figure that rounding and versions explain."""


def agreement_with_paper(metrics: pd.DataFrame) -> pd.DataFrame:
    """Our AutoARIMA and SiCoUM against the paper's columns: sCRPS, and its MASE by both naive forecasts."""
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
                "agrees": judge(row, paper),
                "paper's MASE": mase.loc[row["dataset"], theirs],
                "over last value": row["mase_pooled_naive"],
                "over last season": row["mase_pooled"],
            }
        )
    return pd.DataFrame(rows)


def judge(row: dict, paper: float) -> str:
    """Whether a row's sCRPS is the paper's: to TOLERANCE, or at least within a sample's interval."""
    if abs(row["scrps"] - paper) <= TOLERANCE:
        return "yes"
    if row.get("scrps_lo", np.nan) <= paper <= row.get("scrps_hi", np.nan):
        return "within the sample's interval"
    return "no"


def agreement_with_fev(metrics: pd.DataFrame) -> pd.DataFrame:
    """Our figures against the public ones of the fev benchmark, whose SeasonalNaive has no width, so its WQL is ND."""
    table = metrics.merge(read_published(FEV), on=["dataset", "model"], suffixes=("", "_fev"))
    table["loss"] = table["scrps"].where(table["model"] != "seasonal_naive", table["nd"])
    table["series"] = [f"{n:,} of {m:,}" for n, m in zip(table["series"], table["population"])]
    order = [*CATALOG]
    table = table.sort_values(["model", "dataset"], key=lambda c: c.map(order.index) if c.name == "dataset" else c)
    columns = {"mase": "mase", "mase_fev": "fev's mase", "loss": "wql", "wql": "fev's wql"}
    return table[["dataset", "model", "series", "version", *columns]].rename(columns=columns).reset_index(drop=True)


def to_markdown(table: pd.DataFrame) -> str:
    """A table for a document."""
    cells = table.map(lambda x: f"{x:z.3f}" if isinstance(x, float) else str(x))
    lines = [cells.columns, ["---"] * len(cells.columns), *cells.to_numpy()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Prints how the committed figures compare with the paper's and with fev's."""
    committed = read_published(STATISTICAL).drop_duplicates(["dataset", "model"])  # the largest sample comes first
    print("### The paper\n\n" + to_markdown(agreement_with_paper(committed)))
    print("\n### fev\n\n" + to_markdown(agreement_with_fev(pd.concat([committed, read_published(OLDER)]))))


if __name__ == "__main__":
    main()
