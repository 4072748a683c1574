"""Writes `prior_moments.npz` with the OLD code, and does not run with any other.

`cd <old> && PYTHONPATH=<old> python -m tests.golden.write_prior_moments`. For each config the groups 0, 1, ... of
`sample_groups(key(seed))` are drawn until there are 8192 series, and the statistics of `moments.py` are summarised for
each family and for all series. Under `<config>/<family>/` (`all` for all of them) stand `deciles` [S, 9], `means` [S],
`finite` [S] and `series`; `statistics` names the S rows. `<config>/shares` says how many series of a group each of
`<config>/families` has. With a seed other than 0, nothing is written, but the batch is held against what is stored.
"""

import importlib
import sys
import time
from pathlib import Path

import jax
import numpy as np

from fimjax.config import PriorConfig
from fimjax.prior.sampler import family_counts, sample_groups
from tests.golden.moments import STATISTICS, disagreement, series_statistics, summarise

FILE = Path(__file__).parent / "prior_moments.npz"
CONFIGS = ("small_fim", "bundled_fim", "tiny_fim_local", "paper_fim_local", "bundled_nbeats")
FIELDS = ("times", "noisy", "clean", "observed", "valid", "steps", "season", "floor")
SERIES, CHUNK = 8192, 256


def draw_statistics(prior: PriorConfig, seed: int) -> np.ndarray:
    """The statistics of the first series of a seed, a chunk after the other."""
    groups = CHUNK // prior.group_size
    sample = jax.jit(lambda key, first: sample_groups(key, first, groups, prior))
    parts = []
    for first in range(0, SERIES // prior.group_size, groups):
        drawn = sample(jax.random.key(seed), first)
        parts.append(series_statistics(**{name: np.asarray(getattr(drawn, name)) for name in FIELDS}))
    return np.concatenate(parts)


def main(seed: int) -> None:
    """Writes the summaries of seed 0, or compares another seed with them."""
    arrays, stored = {"statistics": np.array(STATISTICS)}, {} if seed == 0 else dict(np.load(FILE))
    for name in CONFIGS:
        began = time.perf_counter()
        prior = importlib.import_module(f"configs.{name}").get_config().prior
        found = draw_statistics(prior, seed)
        counts = {family: n for family, n in family_counts(prior.weights, prior.group_size).items() if n}
        families = np.tile(np.repeat(list(counts), list(counts.values())), len(found) // prior.group_size)
        arrays[f"{name}/families"], arrays[f"{name}/shares"] = np.array(list(counts)), np.array(list(counts.values()))
        for family in ("all", *counts):
            chosen = found if family == "all" else found[families == family]
            if stored:
                summary = {key: stored[f"{name}/{family}/{key}"] for key in ("deciles", "finite", "series")}
                off = disagreement(summary, chosen)
                worst = max(off, key=off.get)
                print(f"{name}/{family}: {worst} is {off[worst]:.1f} off")
            arrays |= {f"{name}/{family}/{key}": x for key, x in summarise(chosen).items()}
        print(f"{name}: {len(found)} series, {time.perf_counter() - began:.0f} s")
    if not stored:
        np.savez_compressed(FILE, **arrays)
        print(f"{FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
