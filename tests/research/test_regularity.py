"""A forecaster that knows how the synthetic series were made has only their noise as error."""

import numpy as np
import pandas as pd
import pytest

from research.regularity import LEVEL, SETTINGS, SHARE, WIDTH, compare, make_series


class Ideal:
    """Knows the season and how the level moves."""

    name = "Ideal"

    def __init__(self, setting, errors):
        self.setting, self.errors = setting, errors

    def forecast(self, past, h, season_length, level):
        assert season_length == self.setting.season and level == LEVEL
        certain = make_series(self.setting, 0.0, len(past))
        moved = np.zeros(len(past))
        for t in range(past.shape[1]):
            moved += SHARE * (past[:, t] - certain[:, t] - moved)
        middle = certain[:, -h:] + moved[:, None]
        half = self.errors * np.sqrt(1 + SHARE**2 * np.arange(h)) * WIDTH / 2
        columns = {"": middle, f"-lo-{LEVEL}": middle - half, f"-hi-{LEVEL}": middle + half}
        return pd.DataFrame({f"{self.name}{name}": values.ravel() for name, values in columns.items()})


@pytest.mark.parametrize("name", SETTINGS)
def test_the_ideal_forecaster_has_only_the_noise_as_error(name):
    row = compare(Ideal(SETTINGS[name], 0.1), SETTINGS[name], 0.1, 200)
    assert row["width / ideal"] == pytest.approx(1.0)
    assert row["error / ideal"] == pytest.approx(1.0, abs=0.03) and row["80 % covers"] == pytest.approx(0.8, abs=0.015)


def test_weekends_are_smaller():
    setting = SETTINGS["hours with weekends"]
    days = make_series(setting, 0.0, 20)[:, : 21 * 24].reshape(20, 3, 7, 24)
    heights = np.sort(np.ptp(days, axis=-1), axis=-1)
    np.testing.assert_allclose(heights[..., :2], heights[..., 2:4] / 3, rtol=1e-6)
    np.testing.assert_allclose(heights[..., 2], heights[..., 6], rtol=1e-6)
