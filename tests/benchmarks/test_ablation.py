"""Each variant changes one family of the prior, and the table shows how scores change."""

import dataclasses

import pandas as pd
import pytest

from benchmarks import ablation
from benchmarks.ablation import FAMILIES, FULL, Variant
from fimjax.cli.train import parse
from research.development import DATASETS


def prior_of(variant):
    return parse(["--config", ablation.CONFIG, "--run", "x", *variant.overrides()]).settings.prior.weights


@pytest.mark.long
def test_each_variant_changes_its_family_and_nothing_else():
    whole = prior_of(Variant(FULL, ""))
    assert {name: x for name, x in dataclasses.asdict(whole).items() if x} == ablation.WEIGHTS
    for family in FAMILIES:
        without, alone = prior_of(Variant(family, "without")), prior_of(Variant(family, "alone"))
        for other in FAMILIES:
            assert getattr(without, other) == (0 if other == family else getattr(whole, other))
            assert (getattr(alone, other) > 0) == (other == family)


def test_the_whole_prior_has_several_seeds():
    names = [variant.name for variant in ablation.variants()]
    assert len(set(names)) == len(names) == ablation.SEEDS + 2 * len(FAMILIES)
    seeds = [parse(["--config", ablation.CONFIG, *v.overrides()]).settings.training.seed for v in ablation.variants()]
    assert seeds[: ablation.SEEDS] == list(range(ablation.SEEDS)) and set(seeds[ablation.SEEDS :]) == {0}


def make_results(value):
    """Results in which the score of a run is value(variant) on every data set."""
    rows = []
    for variant in ablation.variants():
        score = value(variant)
        shared = {"variant": variant.name, "family": variant.family, "kind": variant.kind, "seed": variant.seed}
        scores = {"sCRPS/SNaive": score, "MASE/SNaive": 2 * score, "coverage 80": 0.7}
        rows += [shared | {"dataset": name} | scores for name in DATASETS]
    return pd.DataFrame(rows)


def test_changes_are_relative_to_the_mean_over_seeds():
    results = make_results(
        lambda v: {"": 0.7 + 0.1 * v.seed, "alone": 2.0, "without": 0.8}[v.kind] + 0.08 * (v.family == "ets")
    )
    table = ablation.by_family(ablation.summarise(results))
    assert table.index[0] == "ets" and table.loc["ets", "sCRPS change without it"] == pytest.approx(0.1)
    assert table.loc["rbf", "sCRPS change without it"] == pytest.approx(0.0, abs=1e-9)
    text = ablation.report(results)
    assert "sCRPS/SNaive 0.8000 (0.7000 to 0.9000)" in text and "+10.0 %" in text


def test_the_picture_is_drawn(tmp_path):
    ablation.draw(make_results(lambda v: 1.0 + len(v.name) / 100), tmp_path / "ablation.png")
    assert (tmp_path / "ablation.png").stat().st_size > 10_000


def test_the_stored_results_are_complete():
    results = ablation.read_results()
    assert set(results["variant"]) == {variant.name for variant in ablation.variants()}
    assert (results.groupby("variant").size() == len(DATASETS)).all()
