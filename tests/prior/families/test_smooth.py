"""The smooth process."""

import numpy as np

from fimjax.prior.families import smooth
from tests.prior.families.draws import draws


def test_noise_is_white_and_on_noisy_values_only():
    path = draws(smooth.draw, 200, steps=300)
    noise = path.noisy - path.clean
    assert (0.008 < noise.std(axis=1)).all() and (noise.std(axis=1) < 0.6).all()
    autocorrelation = (noise[:, 1:] * noise[:, :-1]).mean(axis=1) / noise.var(axis=1)
    assert abs(autocorrelation.mean()) < 0.02
    second_differences = np.abs(np.diff(path.clean, n=2)).max(axis=1)
    assert np.median(second_differences) < np.median(np.abs(np.diff(noise)).max(axis=1))
