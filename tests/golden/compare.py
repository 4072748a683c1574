"""Compares today's answers of the bundled weights with those of fimjax 0.1: `python -m tests.golden.compare [--quick]`.

It prints the largest deviation of each model. Compiler flags change the last digits, so it runs with XLA's defaults.
"""

import argparse
import sys

import numpy as np

from tests.golden.answers import MODELS, compute_answers, stored_answers

TOLERANCE = 1e-5
"""Largest deviation, in parts of the range of each series' answers in a call."""
EXACT = ("unique_id", "ds", "cutoff", "y")
"""Columns that must be equal, as must be anomalies."""


def deviations(found: dict[str, np.ndarray], stored: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest deviation of each column of predictions, in parts of the range of the series that it belongs to."""
    largest = {}
    for key, new in found.items():
        old, call = stored[key], _call(key)
        if _is_exact(key):
            np.testing.assert_array_equal(new, old, err_msg=key)
            continue
        np.testing.assert_array_equal(np.isnan(new), np.isnan(old), err_msg=key)
        ids = stored[f"{call}/unique_id"]
        columns = [x for other, x in stored.items() if _call(other) == call and not _is_exact(other)]
        largest[key] = 0.0
        for series in np.unique(ids):
            rows = ids == series
            numbers = np.concatenate([x[rows] for x in columns])
            # A constant series has no range: its own size counts.
            scale = np.nanmax(numbers) - np.nanmin(numbers) or np.nanmax(np.abs(numbers)) or 1.0
            largest[key] = max(largest[key], float(np.nanmax(np.abs(new[rows] - old[rows]))) / scale)
    return largest


def _call(key: str) -> str:
    return key.rpartition("/")[0]


def _is_exact(key: str) -> bool:
    column = key.rpartition("/")[2]
    return column in EXACT or column.endswith("-anomaly")


def main() -> int:
    """Prints the largest deviations; returns 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one call of each kind, of fim-small only")
    quick = parser.parse_args().quick
    ok = True
    for name in MODELS[:1] if quick else MODELS:
        found = compute_answers(name, quick=quick)
        worst = deviations(found, stored_answers(name))
        key = max(worst, key=lambda key: worst[key])
        print(
            f"{name}: {len(found)} columns, largest deviation {worst[key]:.1e} of a series' range ({key})", flush=True
        )
        ok &= worst[key] <= TOLERANCE
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
