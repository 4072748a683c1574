"""What ships with weights: config, parameters, and how they came about."""

import dataclasses
import json
import shutil

import chex
import jax
import numpy as np
import pytest

from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.config import Config
from fimjax.forecaster import Forecaster
from fimjax.models import count_params
from research import bundle as module
from research.bundle import bundle
from tests.examples import RICH_LOCAL, with_params
from tests.inference.small import forecaster, frame
from tests.training.examples import run_config

STEPS = {"train": (1, 2, 3), "validation": (2, 3)}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs by their logs, and what would be their checkpoints."""
    model = forecaster()
    settings = run_config(RICH_LOCAL, seed=3).training
    fim = Config(model.config.model, model.config.prior, settings)
    found = {
        tmp_path / "local": (run_config(RICH_LOCAL, seed=7), with_params(RICH_LOCAL)[1]["params"]),
        tmp_path / "fim": (fim, model.params),
    }
    for run in found:
        run.mkdir()
        lines = [
            {"phase": phase, "step": step, "loss": loss} | ({"series_per_second": 0.5} if phase == "train" else {})
            for phase, steps in STEPS.items()
            for step, loss in zip(steps, (0.25, 0.5, 0.125))
        ]
        (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(module, "load_params", lambda run, which="best": found[run])
    return found


def test_a_bundle_holds_the_parameters_and_the_story_of_both_stages(runs, tmp_path):
    bundle([tmp_path / "fim"], tmp_path / "local", tmp_path / "weights")
    config, params, about = load_pretrained(tmp_path / "weights")
    expected, expected_params = runs[tmp_path / "fim"]
    assert config == expected
    chex.assert_trees_all_equal(params, expected_params)
    local, fim = about["stages"]
    assert (local["stage"], local["seed"], fim["stage"], fim["seed"]) == ("FIM-l", 7, "FIM", 3)
    assert fim["steps"] == 3 and fim["series"] == 3 * 16 and fim["minutes"] == 1.6  # 48 series at 0.5 a second
    assert fim["best_step"] == 2 and fim["validation_loss"] == 0.25
    assert "cores" in about["hardware"]
    log = [json.loads(line) for line in (tmp_path / "weights" / "training.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in log] == ["FIM-l"] * 5 + ["FIM"] * 5


def test_what_a_run_began_from_comes_first_in_its_story(runs, tmp_path):
    runs[tmp_path / "again"] = runs[tmp_path / "fim"]
    shutil.copytree(tmp_path / "fim", tmp_path / "again")
    bundle([tmp_path / "again"], None, tmp_path / "second", before=[tmp_path / "fim"])
    bundle([tmp_path / "again"], None, tmp_path / "third", before=[tmp_path / "second", tmp_path / "fim"])
    for name, expected in (
        ("second", ["before: FIM", "FIM"]),
        ("third", ["before: before: FIM", "before: FIM", "before: FIM", "FIM"]),
    ):
        about = load_pretrained(tmp_path / name)[2]
        log = [json.loads(line)["stage"] for line in (tmp_path / name / "training.jsonl").read_text().splitlines()]
        assert [stage["stage"] for stage in about["stages"]] == expected and about["steps"] == 3 * len(expected)
        assert log == [stage for stage in expected for _ in range(5)]


def test_parameters_are_averaged_with_those_of_another_run(runs, tmp_path):
    fim, params = runs[tmp_path / "fim"]
    other = jax.tree.map(lambda x: x + 2.0, params)
    stage = {"stage": "FIM", "seed": 1, "steps": 5, "minutes": 0.1}
    save_pretrained(tmp_path / "other", fim, other, {"stages": [stage]})
    (tmp_path / "other" / "training.jsonl").write_text('{"stage": "FIM"}\n')
    bundle([tmp_path / "fim"], None, tmp_path / "weights", mean_with=tmp_path / "other")
    _, found, about = load_pretrained(tmp_path / "weights")
    chex.assert_trees_all_close(found, jax.tree.map(lambda x: x + 1.0, params), rtol=1e-5, atol=1e-5)
    assert about["mean_of"] == ["before: FIM, seed 1", "FIM, seed 3"] and about["steps"] == 5 + 3
    wider = dataclasses.replace(fim, model=dataclasses.replace(fim.model, layers=7))
    save_pretrained(tmp_path / "wider", wider, with_params(wider.model)[1]["params"], {"stages": []})
    with pytest.raises(SystemExit, match="wider: no model to take the mean with: model.layers"):
        bundle([tmp_path / "fim"], None, tmp_path / "weights", mean_with=tmp_path / "wider")


def test_members_are_stacked_and_answer_with_their_mean(runs, tmp_path):
    fim, params = runs[tmp_path / "fim"]
    other = dataclasses.replace(fim, training=dataclasses.replace(fim.training, seed=4))
    runs[tmp_path / "other"] = (other, with_params(fim.model, seed=5)[1]["params"])
    shutil.copytree(tmp_path / "fim", tmp_path / "other")
    bundle([tmp_path / "fim", tmp_path / "other"], None, tmp_path / "weights")
    config, _, about = load_pretrained(tmp_path / "weights")
    assert config == dataclasses.replace(fim, members=2) and about["parameters"] == 2 * count_params(params)
    assert [stage["seed"] for stage in about["stages"]] == [3, 4] and about["steps"] == 6

    together = Forecaster.from_pretrained(tmp_path / "weights")
    alone = [Forecaster(*runs[tmp_path / name]) for name in ("fim", "other")]
    gap = frame((30,)).drop(index=[10, 11, 12])
    for ask in (lambda m: m.forecast(frame(), h=5, level=80), lambda m: m.interpolate(gap, level=80)):
        found, *expected = (ask(model).iloc[:, 2:].to_numpy(float) for model in (together, *alone))
        np.testing.assert_allclose(found, np.mean(expected, axis=0), rtol=1e-3, atol=1e-3)
    slopes = [m.derivative(gap, [5.5, 11.25, 31.0])["FIM"].to_numpy() for m in (together, *alone)]
    np.testing.assert_allclose(slopes[0], np.mean(slopes[1:], axis=0), rtol=1e-2, atol=1e-3)


def test_runs_that_differ_in_more_than_their_seeds_are_no_members(runs, tmp_path):
    fim, params = runs[tmp_path / "fim"]
    training = dataclasses.replace(fim.training, learning_rate=0.5)
    runs[tmp_path / "other"] = (dataclasses.replace(fim, training=training), params)
    with pytest.raises(SystemExit, match=r"other: .*training.learning_rate: .* against 0.5; training.seed: 3 as the"):
        bundle([tmp_path / "fim", tmp_path / "other"], None, tmp_path / "weights")
    assert not (tmp_path / "weights").exists()


def test_the_newest_checkpoint_has_its_own_figures(runs, tmp_path, monkeypatch):
    asked = []
    load = module.load_params
    monkeypatch.setattr(module, "load_params", lambda run, which: asked.append(which) or load(run, which))
    bundle([tmp_path / "fim"], None, tmp_path / "weights", "latest")
    (fim,) = load_pretrained(tmp_path / "weights")[2]["stages"]
    log = [json.loads(line) for line in (tmp_path / "weights" / "training.jsonl").read_text().splitlines()]
    newest = [line for line in log if line["phase"] == "validation"][-1]
    assert asked == ["latest"] and (fim["best_step"], fim["validation_loss"]) == (newest["step"], newest["loss"])
