"""Exponentiated series."""

import dataclasses

import numpy as np

from fimjax.prior.effects.exponential import LOG_DEVIATION, YEARLY_FACTORS, exponential, exponentiate
from fimjax.prior.effects.noise import noise
from fimjax.prior.effects.outliers import outliers
from fimjax.prior.effects.scale import spread
from fimjax.prior.family import noise_free
from tests.prior.effects.apply import EVERYWHERE, QUIET, WAVE, apply

ALWAYS = dataclasses.replace(QUIET, exponential=1.0, noise=1.0, outliers=1.0)


def test_exponential_is_of_the_standardised_path():
    wave = np.asarray(WAVE)
    expected = np.exp(0.5 * (wave - wave.mean()) / wave.std())
    np.testing.assert_allclose(exponentiate(noise_free(WAVE), spread(WAVE, EVERYWHERE), 0.5).clean, expected, rtol=1e-3)


def test_exponentials_stay_positive_with_noise_and_have_the_given_spread():
    clean, noisy, _ = apply((exponential, noise, outliers), ALWAYS, path=noise_free(WAVE - 50.0))
    assert (clean > 0).all() and (noisy > 0).all()
    deviation, (low, high) = np.log(clean).std(axis=1), LOG_DEVIATION
    assert deviation.min() >= low * 0.99 and deviation.max() <= high * 1.01
    assert deviation.max() > 10 * deviation.min()


def test_yearly_series_have_a_wider_spread():
    yearly, hourly = (np.log(apply(exponential, ALWAYS, season=season)[0]).std(axis=1) for season in (1, 168))
    assert yearly.min() > 0.97 * YEARLY_FACTORS[0] * LOG_DEVIATION[0] and yearly.max() > LOG_DEVIATION[1]
    assert np.median(yearly) > 1.5 * np.median(hourly)


def test_share_of_exponentials_and_families_without_them():
    config = dataclasses.replace(QUIET, exponential=0.6)
    clean, _, state = apply(exponential, config)
    is_changed = (clean != np.asarray(WAVE)).any(axis=1)
    assert 0.5 < is_changed.mean() < 0.7
    np.testing.assert_array_equal(state.is_multiplicative, is_changed)
    clean, _, state = apply(exponential, config, may_exponentiate=False)
    assert (clean == np.asarray(WAVE)).all() and not state.is_multiplicative.any()
