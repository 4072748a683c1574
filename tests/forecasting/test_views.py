"""Several looks at a series: each is what it says, and several are averaged."""

import numpy as np
import pytest

from fimjax import Forecaster
from fimjax.forecasting.views import VIEWS, read_views, turn_back
from tests.forecasting.small import forecaster, frame

COLUMNS = ["FIM-lo-80", "FIM", "FIM-hi-80"]


def seen_through(names, df, h=5):
    model = forecaster()
    model.views = read_views(names)
    return model.forecast(df, h, level=80)[COLUMNS].to_numpy()


def test_a_flipped_series_is_forecast_upside_down():
    df = frame((30, 9))
    upside_down = seen_through("plain", df.assign(y=-df["y"]))
    np.testing.assert_allclose(seen_through("flipped", df), -upside_down[:, ::-1], rtol=1e-5, atol=1e-5)


def test_answers_are_averaged():
    df = frame((30, 9))
    single = [seen_through(name, df) for name in VIEWS]
    assert np.abs(single[0] - single[1]).max() > 1e-3  # longer windows do see something else
    np.testing.assert_allclose(seen_through(tuple(VIEWS), df), np.mean(single, axis=0), rtol=1e-6)


def test_turning_back_keeps_order_and_slopes():
    out = np.array([[1.0, 2.0, 4.0, 0.1, 0.2, 0.4]])
    np.testing.assert_array_equal(turn_back(out, 3), [[-4.0, -2.0, -1.0, -0.4, -0.2, -0.1]])


def test_views_are_part_of_the_version():
    plain, flipped = forecaster(), forecaster()
    flipped.views = read_views(("plain", "flipped"))
    assert plain.version != flipped.version


@pytest.mark.parametrize("names, message", [(("sideways",), "'sideways' is unknown"), ((), "none is given")])
def test_unknown_views_are_named(names, message):
    with pytest.raises(ValueError, match=f"views: {message}; there are plain"):
        Forecaster.from_pretrained(views=names)
