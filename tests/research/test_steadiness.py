"""Series are split into level, season and noise, and the prior has them in the proportions of M4."""

import numpy as np
import pytest

from configs.small_fim import get_config
from research.persistence import SETTINGS, prior_series
from research.season import decompose
from research.steadiness import describe

RNG = np.random.default_rng(0)
T = np.arange(240)
ERRORS = 0.05 * RNG.normal(size=T.size)


def test_strength_of_a_season():
    swing = np.sin(2 * np.pi * T / 12)
    strong, weak = (decompose(np.exp(size * swing + ERRORS), 12) for size in (0.5, 0.01))
    # The variance of the season is 0.5^2 / 2, that of the noise 0.05^2, slightly less around a moving mean.
    assert strong.strength == pytest.approx(1 - 0.0025 / 0.1275, abs=0.005) and weak.strength < 0.15


def test_movement_is_relative_to_the_noise():
    steady, moving = (decompose(np.exp(rise * T + ERRORS), 12).movement for rise in (0.0, 0.02))
    assert steady < -0.8 and moving == pytest.approx(np.log(0.02 * np.sqrt(12) / 0.05), abs=0.15)


@pytest.mark.parametrize("y, season", [(np.ones(40), 4), (np.arange(40.0), 4), (np.exp(ERRORS[:40]), 12)])
def test_series_without_noise_logarithm_or_enough_seasons_are_skipped(y, season):
    assert decompose(y, season) is None


@pytest.mark.slow
@pytest.mark.long
def test_in_the_prior_levels_move_with_the_noise_as_in_m4():
    setting = SETTINGS["m4_quarterly"]
    rows = describe(prior_series(setting, get_config().prior)[0], setting.season)
    # M4: 0.3, 0.1 and 0.3 in the middle; an earlier prior had 0.7 for strong seasons.
    assert all(abs(row["50%"] - middle) < 0.3 for row, middle in zip(rows.values(), (0.3, 0.1, 0.3)))
