"""What do series of the prior look like? `python -m research.prior_gallery --out gallery.png` draws them."""

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING

import jax
import numpy as np

from configs.small_fim import get_config
from fimjax.config import PriorWeights, WindowConfig
from fimjax.prior.families import FAMILIES
from fimjax.prior.sampler import Sample, sample_group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 6
ROWS_OF_ONE_FAMILY = 5
INK, SKY, SAND = "#1f2933", "#2f7ed8", "#f6ead2"


def draw_rows(seed: int, families: list[str], per_family: int) -> Sample:
    """Draws `per_family` series of each family."""
    weights = PriorWeights(**{name: float(name in families) for name in FAMILIES})
    prior = dataclasses.replace(get_config().prior, weights=weights, group_size=per_family * len(families))
    windows = WindowConfig(count=5, slots=128, min_steps=4, max_steps=96, min_history=3)
    sample = jax.jit(lambda key: sample_group(key, prior, windows))(jax.random.key(seed))
    return jax.tree.map(np.asarray, sample)


def plot_series(axes: "Axes", sample: Sample, i: int) -> None:
    """Plots one series: observed points, target points as rings, the curve without noise, the target window shaded."""
    valid, observed = sample.valid[i].ravel(), sample.observed[i].ravel()
    is_target = np.arange(valid.size) >= valid.size - sample.valid.shape[2]
    times = sample.times[i].ravel() - sample.origin[i]
    noisy, clean = sample.noisy[i].ravel(), sample.clean[i].ravel()
    size = float(np.clip(220 / valid.sum(), 0.8, 9.0))
    axes.axvspan(0, sample.duration[i], color=SAND, zorder=0, linewidth=0)
    axes.plot(times[valid], clean[valid], color=SKY, linewidth=1.0, zorder=2)
    shown = observed & ~is_target
    axes.scatter(times[shown], noisy[shown], s=size, color=INK, zorder=3, linewidths=0)
    unseen = valid & is_target
    axes.scatter(times[unseen], noisy[unseen], s=size, facecolors="none", edgecolors=INK, zorder=3, linewidths=0.5)
    axes.margins(x=0.02, y=0.08)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right", "left", "bottom"]].set_color("#c8ced3")
    history = int((valid & ~is_target).sum())
    title = f"m = {sample.season[i]}   n = {history}   h = {sample.steps[i]}"
    axes.set_title(title, fontsize=7, color="#52606d", pad=2)


def draw_gallery(out: str, seed: int, family: str | None) -> None:
    """Writes the picture: one row a family, or several rows of one family."""
    from matplotlib.figure import Figure

    families = [family] if family else list(FAMILIES)
    rows = ROWS_OF_ONE_FAMILY if family else len(families)
    sample = draw_rows(seed, families, rows * COLUMNS // len(families))
    figure = Figure(figsize=(2.3 * COLUMNS, 1.25 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for i, axes in enumerate(grid.ravel()):
        plot_series(axes, sample, i)
    for row, axes in enumerate(grid[:, 0]):
        name = families[min(row, len(families) - 1)].replace("_", " ")
        axes.set_ylabel(name, fontsize=8.5, color=INK, rotation=0, ha="right", va="center", labelpad=6)
    figure.suptitle(
        "The synthetic prior: dots are observed, the line has no noise, the shaded window is forecast\n"
        "(m: season, n: steps of history, h: horizon)",
        fontsize=9,
        color=INK,
    )
    figure.savefig(out, dpi=130, facecolor="white")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research.prior_gallery", description="Draw a gallery of the prior."
    )
    parser.add_argument("--out", required=True, help="picture to write, e.g. gallery.png")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=list(FAMILIES), help="one family only; all of them by default")
    options = parser.parse_args(arguments)
    try:
        draw_gallery(options.out, options.seed, options.family)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("matplotlib"):
            raise
        print("The gallery needs matplotlib: pip install 'fimjax[plot]'", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
