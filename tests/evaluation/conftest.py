"""What tests of metrics share: cases to score, and GluonTS."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from fimjax.evaluation.forecasts import LEVELS
from tests.evaluation.scored import CASES, Case


@pytest.fixture(scope="module", params=CASES)
def case(request) -> Case:
    return CASES[request.param]()


@pytest.fixture(scope="module")
def gluonts():
    """GluonTS, where it is installed: pip refuses to, as it wants an older toolz than chex does."""
    with warnings.catch_warnings():
        # It recommends a faster JSON library, of which nothing here makes use.
        warnings.filterwarnings("ignore", message="Using `json`-module", category=UserWarning)
        pytest.importorskip("gluonts.model.evaluation")
    import gluonts.dataset.split
    import gluonts.ev.metrics
    import gluonts.ev.ts_stats
    import gluonts.model.forecast

    return gluonts


@pytest.fixture(scope="module")
def by_gluonts(gluonts) -> Callable:
    """The value of a metric of gluonts.ev, by its name there; with axis=1 one a series."""

    def value(case: Case, name: str, axis: int | None = None, **arguments) -> np.ndarray:
        errors = [gluonts.ev.ts_stats.seasonal_error(history, case.season) for history in case.histories]
        data = {"label": case.y, "mean": case.point, "naive_2": case.naive, "seasonal_error": np.array(errors)}
        data |= {str(level): case.quantiles[..., i] for i, level in enumerate(LEVELS)}
        return getattr(gluonts.ev.metrics, name)(**arguments)(axis=axis).update(data).get()

    return value
