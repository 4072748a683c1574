"""The distribution of the synthetic series against stored moments of the sampler of fimjax 0.1 (tests/golden).

The settings are those of fimjax 0.1 too, because some recipes have changed their prior since then.
"""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from fimjax.config import PriorConfig, WindowConfig, from_dict
from fimjax.prior.sampler import family_counts, sample_groups
from tests.golden import moments

FOLDER = Path(moments.__file__).parent
STORED = np.load(FOLDER / "prior_moments.npz")
OLD_CONFIGS = json.loads((FOLDER / "configs_old.json").read_text())
FIELDS = ("times", "noisy", "clean", "observed", "valid", "steps", "season", "floor")
SEED = 11  # the stored moments are those of seed 0
SERIES, CHUNK = 4096, 256
MAX_DISAGREEMENT = 5.0
"""In standard errors. Two seeds of one sampler come close to 4 in hundreds of comparisons."""


def draw_statistics(prior: PriorConfig, windows: WindowConfig) -> np.ndarray:
    """Statistics [SERIES, S] of the first groups of a seed."""
    groups = CHUNK // prior.group_size
    sample = jax.jit(lambda key, first: sample_groups(key, first, groups, prior, windows))
    chunks = []
    for first in range(0, SERIES // prior.group_size, groups):
        drawn = sample(jax.random.key(SEED), first)
        chunks.append(moments.series_statistics(**{name: np.asarray(getattr(drawn, name)) for name in FIELDS}))
    return np.concatenate(chunks)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "small_fim",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("bundled_fim", "tiny_fim_local", "paper_fim_local", "bundled_nbeats")
        ),
    ],
)
def test_statistics_of_every_family_are_unchanged(name):
    config = from_dict(OLD_CONFIGS[name])
    prior = config.prior
    counts = {family: n for family, n in family_counts(prior.weights, prior.group_size).items() if n}
    statistics = draw_statistics(prior, config.windows)
    families = np.tile(np.repeat(list(counts), list(counts.values())), len(statistics) // prior.group_size)
    too_far = {}
    for family in ("all", *counts):
        summary = {key: STORED[f"{name}/{family}/{key}"] for key in ("deciles", "finite", "series")}
        chosen = statistics if family == "all" else statistics[families == family]
        found = moments.disagreement(summary, chosen)
        too_far |= {f"{family}/{statistic}": x for statistic, x in found.items() if x > MAX_DISAGREEMENT}
    assert not too_far
