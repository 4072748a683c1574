"""Figures that others have published, and those of the statistical models that ship with fimjax."""

import json
from importlib.resources import files

import pandas as pd

SCRPS_TABLE, MASE_TABLE = "table1_scrps.csv", "table4_mase.csv"
"""The paper's tables 1 (sCRPS) and 4 (MASE)."""

FEV = "fev.csv"
"""MASE and WQL of statistical models in the public "Chronos zero-shot" benchmark of fev."""

STATISTICAL = "statistical.csv"
"""What evaluate.py measured for the statistical models, which take days to fit on a small machine."""

SAMPLES = "samples.json"
"""Which series the samples in STATISTICAL are of."""

OLDER = "statsforecast_2.0.1.csv"
"""The same by StatsForecast 2.0.1, where fev's figures were to be met: fits change a little from version to version."""

HERE, COMMITTED = "here", "committed"
"""Where a figure comes from: measured in this run, or shipped with fimjax."""

SEEN = {"timesfm": ("m4",), "chronos_bolt_small": ("m4",), "moirai_small": ("m1", "m3", "m4", "tourism")}
"""Competitions that the paper's external models saw in training: TimesFM and Chronos-Bolt by the paper's own note to
table 1, Moirai by the flags of the fev benchmark."""


def read_published(name: str) -> pd.DataFrame:
    """One of the tables above."""
    with (files(__name__) / name).open() as file:
        return pd.read_csv(file, dtype={"data": str})


def read_samples() -> dict[str, list[str]]:
    """By data set, the fingerprints of the series in STATISTICAL's samples: the first n are those of a sample of n."""
    return json.loads((files(__name__) / SAMPLES).read_text())


def has_seen(trained_on: tuple[str, ...], dataset: str) -> bool:
    """Whether a model trained on these data sets, or on these whole competitions, saw this one."""
    return dataset in trained_on or dataset.split("_")[0] in trained_on
