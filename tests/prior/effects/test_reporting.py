"""The season and the floor as the model sees them."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.config import PriorConfig
from fimjax.prior.effects.reporting import FLOOR_DISTANCE, reported_floor, reported_season
from tests.prior.effects.apply import WAVE, N

SEASONS = (1, 1, 4, 7, 12, 12, 24)
HIDDEN_FLOOR = PriorConfig(hidden_floor=0.4)


def test_seasons_are_hidden_and_wrong_in_their_shares():
    u = jax.random.uniform(jax.random.key(4), (4_000,))
    config = PriorConfig(seasons=SEASONS, hidden_season=0.15, wrong_season=0.1)
    reported = np.asarray(reported_season(u, jnp.array(12), config))
    assert set(reported) == set(config.seasons)
    share = lambda season: np.mean(np.array(config.seasons) == season)
    np.testing.assert_allclose((reported == 1).mean(), config.hidden_season + 0.1 * share(1), atol=0.02)
    np.testing.assert_allclose((reported != 12).mean(), config.hidden_season + 0.1 * (1 - share(12)), atol=0.02)
    never_wrong = PriorConfig(seasons=SEASONS, hidden_season=0.15)
    assert set(np.asarray(reported_season(u, jnp.array(12), never_wrong))) == {1, 12}


def test_floors_lie_below_all_values_and_at_zero_for_nonnegative_series():
    valid = jnp.arange(N) > 5
    u = jax.random.uniform(jax.random.key(7), (2, 2_000))

    def floors(values, is_nonnegative):
        draw = jax.vmap(
            lambda *numbers: reported_floor(*numbers, values, valid, jnp.array(is_nonnegative), HIDDEN_FLOOR)
        )
        return np.asarray(draw(*u))

    wave, found = np.asarray(WAVE)[6:], floors(WAVE, False)
    is_known = np.isfinite(found)
    assert abs(is_known.mean() - (1 - HIDDEN_FLOOR.hidden_floor)) < 0.04 and (found[~is_known] == -np.inf).all()
    distances, (low, high) = (wave.min() - found[is_known]) / wave.std(), FLOOR_DISTANCE
    assert low * 0.9 < distances.min() < 0.1 and 20 < distances.max() < high * 1.01
    assert set(floors(WAVE, True)) == {0.0, -np.inf}
    np.testing.assert_allclose(np.unique(floors(WAVE - 30.0, True))[1], wave.min() - 30.0)
