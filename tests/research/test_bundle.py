"""Weights are written with parameters, lineage and log."""

import dataclasses
import json
import shutil

import chex
import jax
import pytest

from fimjax.checkpoints.pretrained import load_pretrained, save_pretrained
from fimjax.config import Config
from fimjax.models import model_name
from research import bundle as module
from research.bundle import LOGS, WEIGHTS, bundle, log_path, read_lineage
from tests.examples import FIM_LOCAL, with_params
from tests.inference.small import forecaster
from tests.training.examples import run_config

STEPS = {"train": (1, 2, 3), "validation": (2, 3)}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs with logs and fake checkpoints."""
    model = forecaster()
    settings = run_config(FIM_LOCAL, seed=3).training
    fim = Config(model.config.model, model.config.windows, training=settings)
    found = {
        tmp_path / "local": (
            run_config(FIM_LOCAL, seed=7),
            with_params(FIM_LOCAL)[1]["params"],
        ),
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
    monkeypatch.setattr(module, "load_run", lambda run, which="best": found[run])
    return found


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_weights_have_the_parameters_and_the_lineage_of_both_stages(runs, tmp_path):
    bundle(tmp_path / "fim", tmp_path / "weights", parents=[tmp_path / "local"])
    config, params, about = load_pretrained(tmp_path / "weights")
    expected, expected_params = runs[tmp_path / "fim"]
    assert config == expected
    chex.assert_trees_all_equal(params, expected_params)
    local, fim = about["lineage"]
    assert (local["model"], local["seed"], local["parents"]) == (model_name(FIM_LOCAL), 7, [])
    assert (fim["model"], fim["seed"], fim["parents"]) == ("FIM", 3, [1])
    assert fim["steps"] == 3 and fim["series"] == 3 * 16 and fim["minutes"] == 1.6  # 48 series at 0.5 a second
    assert fim["checkpoint_step"] == 2 and fim["validation_loss"] == 0.25
    assert "cores" in about["hardware"] and "average" not in about
    assert [line["stage"] for line in read_log(tmp_path / "weights.jsonl")] == [1] * 5 + [2] * 5
    assert log_path(WEIGHTS / "fim-small") == LOGS / "fim-small.jsonl"


def test_lineages_of_several_parents_are_joined_without_repetition(runs, tmp_path):
    runs[tmp_path / "again"] = runs[tmp_path / "fim"]
    shutil.copytree(tmp_path / "fim", tmp_path / "again")
    bundle(tmp_path / "again", tmp_path / "second", parents=[tmp_path / "fim"])
    bundle(tmp_path / "again", tmp_path / "third", parents=[tmp_path / "second", tmp_path / "fim"])
    for name, expected in (("second", [[], [1]]), ("third", [[], [1], [1, 2]])):
        about = load_pretrained(tmp_path / name)[2]
        assert [stage["parents"] for stage in about["lineage"]] == expected and about["steps"] == 3 * len(expected)
        numbers = [line["stage"] for line in read_log(tmp_path / f"{name}.jsonl")]
        assert numbers == [stage for stage in range(1, len(expected) + 1) for _ in range(5)]


def test_parameters_are_averaged(runs, tmp_path):
    fim, params = runs[tmp_path / "fim"]
    shift = lambda x: jax.tree.map(lambda leaf: leaf + x, params)
    facts = {"model": "FIM", "steps": 5, "minutes": 0.1}
    stages = [{"stage": 1, "parents": [], "seed": 1, **facts}, {"stage": 2, "parents": [1], "seed": 2, **facts}]
    save_pretrained(tmp_path / "other", fim, shift(2.0), {"lineage": stages, "average": {"1": 0.5, "2": 0.5}})
    bundle(tmp_path / "fim", tmp_path / "weights", average_with=tmp_path / "other")
    _, found, about = load_pretrained(tmp_path / "weights")
    chex.assert_trees_all_close(found, shift(1.0), rtol=1e-5, atol=1e-5)
    assert about["average"] == {"1": 0.25, "2": 0.25, "3": 0.5} and about["steps"] == 5 + 5 + 3
    assert about["lineage"][-1]["parents"] == [1, 2]
    wider = dataclasses.replace(fim, model=dataclasses.replace(fim.model, feedforward=3))
    save_pretrained(tmp_path / "wider", wider, with_params(wider.model)[1]["params"], {})
    with pytest.raises(SystemExit, match="wider: its parameters cannot be averaged with the run's: model.feedforward"):
        bundle(tmp_path / "fim", tmp_path / "weights", average_with=tmp_path / "wider")


def test_labels_of_older_weights_are_read_as_a_chain():
    facts = {"seed": 3, "steps": 5, "series": 320, "minutes": 0.1, "best_step": 4, "validation_loss": 0.5}
    lineage, shares = read_lineage({"stages": [{"stage": "before: FIM", **facts}, {"stage": "FIM", **facts}]})
    assert [(stage["stage"], stage["model"], stage["parents"]) for stage in lineage] == [
        (1, "FIM", []),
        (2, "FIM", [1]),
    ]
    assert lineage[0]["checkpoint_step"] == 4 and shares == {2: 1.0}


def test_the_newest_checkpoint_has_its_own_validation_loss(runs, tmp_path, monkeypatch):
    requested = []
    load = module.load_run
    monkeypatch.setattr(module, "load_run", lambda run, which: requested.append(which) or load(run, which))
    bundle(tmp_path / "fim", tmp_path / "weights", "latest")
    (fim,) = load_pretrained(tmp_path / "weights")[2]["lineage"]
    newest = [line for line in read_log(tmp_path / "weights.jsonl") if line["phase"] == "validation"][-1]
    assert requested == ["latest"] and (fim["checkpoint_step"], fim["validation_loss"]) == (
        newest["step"],
        newest["loss"],
    )
