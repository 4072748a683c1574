"""Published scores of other models, and our scores of the statistical models, which ship with fimjax."""

import json
from importlib.resources import files

import pandas as pd

SCRPS_TABLE, MASE_TABLE = "table1_scrps.csv", "table4_mase.csv"
"""The paper's tables 1 (sCRPS) and 4 (MASE)."""

FEV = "fev.csv"
"""MASE and WQL of statistical models in fev's public "Chronos zero-shot" benchmark."""

STATISTICAL = "statistical.csv"
"""Scores of the statistical models, written by evaluate.py. Fitting them takes days on a small machine."""

SAMPLES = "samples.json"
"""The series in the samples of STATISTICAL."""

MEASURED, BUNDLED_SCORES = "measured", "bundled"
"""Values of the column `source`: scores computed in this run, or shipped with fimjax."""

TRAINED_ON = {"timesfm": ("m4",), "chronos_bolt_small": ("m4",), "moirai_small": ("m1", "m3", "m4", "tourism")}
"""Competitions in the training data of the paper's external models.

The note to the paper's table 1 names TimesFM and Chronos-Bolt; the fev benchmark flags Moirai.
"""


def read_published(name: str) -> pd.DataFrame:
    """Reads one of the CSV files above."""
    with (files(__name__) / name).open() as file:
        return pd.read_csv(file, dtype={"data": str})


def read_samples() -> dict[str, list[str]]:
    """Fingerprints of the sampled series by data set; the first n of them make the sample of n series."""
    return json.loads((files(__name__) / SAMPLES).read_text())


def is_trained_on(trained_on: tuple[str, ...], dataset: str) -> bool:
    """Whether these training data, named by data set or by competition, include a data set."""
    return dataset in trained_on or dataset.split("_")[0] in trained_on
