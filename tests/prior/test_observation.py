"""All effects together."""

import numpy as np

from fimjax.prior.family import Path
from fimjax.prior.observation import EFFECTS
from tests.prior.effects.apply import QUIET, WAVE, N, apply


def test_without_effects_both_values_of_the_path_are_kept():
    clean, noisy, _ = apply(EFFECTS, QUIET, number=3, path=Path(clean=WAVE, noisy=WAVE + 1.0))
    np.testing.assert_array_equal(clean, np.broadcast_to(WAVE, (3, N)))
    np.testing.assert_array_equal(noisy, np.broadcast_to(WAVE + 1.0, (3, N)))
