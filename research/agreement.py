"""Do our scores of statistical models agree with published scores of the same models?

`python -m research.agreement` prints two tables in Markdown: the bundled scores next to the paper's, and next to fev's.
The second one also has our scores with StatsForecast 2.0.1, because fits change slightly between versions.

What was learned: AutoARIMA agrees with the paper, except on Tourism yearly, where the paper uses another copy of the
data. The paper's SiCoUM agrees with `sicoum_narrow`, a quarter of the
variance of its equation 5. With StatsForecast 2.0.1 the MASE of our AutoARIMA and AutoETS agrees with fev's within
0.002.
"""

from pathlib import Path

import pandas as pd

from fimjax.evaluation.published import STATISTICAL, read_published
from fimjax.evaluation.report.agreement import agreement_with_fev, agreement_with_paper

OLDER = Path(__file__).with_name("statsforecast_2.0.1.csv")
"""Our scores with StatsForecast 2.0.1."""


def to_markdown(table: pd.DataFrame) -> str:
    """Formats a table in Markdown."""
    cells = table.map(lambda x: f"{x:z.3f}" if isinstance(x, float) else str(x))
    lines = [cells.columns, ["---"] * len(cells.columns), *cells.to_numpy()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    bundled = read_published(STATISTICAL).drop_duplicates(["dataset", "model"])  # the largest sample comes first
    print("### The paper\n\n" + to_markdown(agreement_with_paper(bundled)))
    print("\n### fev\n\n" + to_markdown(agreement_with_fev(pd.concat([bundled, pd.read_csv(OLDER)]))))


if __name__ == "__main__":
    main()
