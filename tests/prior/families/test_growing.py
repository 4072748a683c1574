"""Growth at a rate that varies."""

import jax.numpy as jnp
import numpy as np

from fimjax.prior.families import growing
from tests.prior.families.draws import draws


def test_compound_growth_ends_at_one():
    np.testing.assert_allclose(
        growing.compound(jnp.log(jnp.array([1.0, 2.0, 0.5, 4.0]))), [0.25, 0.5, 0.25, 1.0], rtol=1e-6
    )


def test_most_growth_goes_up_at_a_rate_that_varies():
    path = draws(growing.draw, 300, season=4)
    clean, noisy = np.asarray(path.clean, np.float64), np.asarray(path.noisy, np.float64)
    assert np.isfinite(noisy).all() and (noisy > 0).all()
    by_year = np.log(clean[:, 4:]) - np.log(clean[:, :-4])  # without the season
    assert 0.7 < (by_year[:, -200:].mean(axis=1) > 0).mean() < 0.9
    assert 0.01 < np.median(np.abs(by_year[:, -200:].mean(axis=1))) < 0.06  # a year, whatever its steps
    assert (by_year[:, -200:].std(axis=1) > 0.2 * np.abs(by_year[:, -200:].mean(axis=1))).mean() > 0.6
