"""How far the level of a series moves beside its errors, in the training parts of M4 and in the prior.

`python -m research.steadiness` takes logarithms apart into a moving mean over a season, the season, and what is
left. It prints the middle and the spread of log(movement / errors), by how strong the season is. Where the prior spreads
wider than the data, a model trained on it cannot tell from the errors of a series how far its level will go, and is unsure
of what is steady. The test parts are not read.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fimjax.config import PriorConfig
from fimjax.errors import EvaluationError
from research.persistence import SETTINGS, data_series, prior_series
from research.season import take_apart

STRENGTHS = {"weak": (0.0, 0.5), "middling": (0.5, 0.9), "strong": (0.9, 1.0)}
SEASONAL = tuple(name for name, setting in SETTINGS.items() if setting.season > 1)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def describe(histories: list[np.ndarray], season: int) -> dict[str, dict[str, float]]:
    """Rows of the table, by the strength of the season."""
    parts = [found for y in histories if (found := take_apart(y, season)) is not None]
    strength, movement = np.array(parts).T
    rows = {}
    for name, (low, high) in STRENGTHS.items():
        chosen = movement[(strength >= low) & (strength < high)]
        quantiles = dict(zip((f"{q:.0%}" for q in QUANTILES), np.quantile(chosen, QUANTILES)))
        rows[name] = {"series": len(chosen), **quantiles, "deviation": chosen.std()}
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=6_000, help="series of each data set (default: 6000)")
    parser.add_argument("--data", type=Path, help="folder of the data (default: FIMJAX_DATA, or the user's cache)")
    arguments = parser.parse_args()
    rows = {}
    try:
        for name in SEASONAL:
            setting = SETTINGS[name]
            of_data, _ = data_series(name, 1, arguments.sample, arguments.data)
            of_prior, _ = prior_series(setting, PriorConfig())
            for source, histories in ((name, of_data), (f"prior, season {setting.season}", of_prior)):
                found = describe(histories, setting.season)
                rows |= {f"{source}, {strength} season": row for strength, row in found.items()}
    except EvaluationError as error:
        print(f"steadiness: {error}", file=sys.stderr)
        return 2
    print(pd.DataFrame(rows).T.astype({"series": int}).to_string(float_format="{:.2f}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
