"""How much does the level of a series move compared with its noise, in M4 and in the prior?

`python -m research.steadiness` splits the logarithms of series into a moving mean over a season, a season and noise. It
prints quantiles of log(movement of the level / noise) by the strength of the season, for the training parts of M4 and
for the prior; the test parts are never read.

What was learned: the ratio varied more in an early prior than in M4, so a model could not infer from the noise of a
series how far its level will move, and its intervals for steady series were too wide. Since then the prior couples both
(`level_noise`).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from configs.small_fim import get_config
from fimjax.errors import EvaluationError
from research.persistence import SETTINGS, data_series, prior_series
from research.season import decompose

STRENGTHS = {"weak": (0.0, 0.5), "middling": (0.5, 0.9), "strong": (0.9, 1.0)}
SEASONAL = tuple(name for name, setting in SETTINGS.items() if setting.season > 1)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def describe(histories: list[np.ndarray], season: int) -> dict[str, dict[str, float]]:
    """Quantiles of the movement, by the strength of the season."""
    parts = [found for y in histories if (found := decompose(y, season)) is not None]
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
    parser.add_argument("--data", type=Path, help="data folder (default: FIMJAX_DATA or the user's cache)")
    arguments = parser.parse_args()
    rows: dict[str, dict[str, float]] = {}
    try:
        for name in SEASONAL:
            setting = SETTINGS[name]
            of_data, _ = data_series(name, 1, arguments.sample, arguments.data)
            of_prior, _ = prior_series(setting, get_config().prior)
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
