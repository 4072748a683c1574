"""FIM asked in other ways, as contenders: `--models fim,calibrated=fimjax.evaluation.variants:calibrated`."""

import functools
from typing import Any

from fimjax.forecaster import Forecaster


def calibrated() -> "Calibrated":
    """The default weights, intervals by how far off those of the last horizon of each data set's histories were."""
    return Calibrated(Forecaster.from_pretrained())


class Calibrated:
    """A forecaster that is always asked to calibrate."""

    def __init__(self, model: Forecaster):
        self.name, self.version = model.name, f"{model.version}-calibrated"
        self.forecast: Any = functools.partial(model.forecast, calibrate=True)
