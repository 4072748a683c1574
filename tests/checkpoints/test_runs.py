"""Checkpoints: resuming, another number of devices, a kill in the middle of saving, the wrong model."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import chex
import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

import fimjax.training.step as step_module
from fimjax.checkpoints.runs import Checkpoints, load_params, write_config
from fimjax.errors import CheckpointError, ConfigError
from fimjax.models import build_model, init_params
from fimjax.training.loop import TrainingDiverged, train
from fimjax.training.parallel import replicate
from fimjax.training.step import init_state
from tests.examples import OPERATOR
from tests.training.examples import AVERAGED_RUN, FROZEN_RUN, LOCAL_RUN, OPERATOR_RUN, RICH_RUN, run_config

ONE, FOUR = jax.devices()[:1], jax.devices()[:4]


def fresh_state(config, seed=0):
    model = build_model(config.model)
    return init_state(config, jax.jit(lambda key: init_params(model, key))(jax.random.key(seed)))


def fresh_params(config, seed):
    return jax.tree.map(np.asarray, fresh_state(config, seed).params)


def restored(run, config, devices=ONE):
    checkpoints = Checkpoints(run, config, devices)
    state = checkpoints.restore(jax.eval_shape(lambda: fresh_state(config)))
    checkpoints.close()
    return state


def shorter(config, steps):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, steps=steps))


BY_THREES = run_config(OPERATOR, average_decay=0.9, steps_per_dispatch=3, log_every=3)


def test_resuming_is_bit_for_bit_the_run_that_was_never_stopped(tmp_path):
    config = BY_THREES
    train(config, tmp_path / "whole", devices=FOUR)
    train(shorter(config, 3), tmp_path / "parts", devices=FOUR)
    outcome = train(config, tmp_path / "parts", devices=FOUR, resume=True)
    assert outcome.step == 6
    whole, parts = (restored(tmp_path / name, config) for name in ("whole", "parts"))
    assert whole.step == 6
    chex.assert_trees_all_equal(whole, parts)
    lines = [
        [
            {key: value for key, value in json.loads(line).items() if key != "series_per_second"}
            for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        ]
        for name in ("whole", "parts")
    ]
    logged = range(config.training.log_every, 7, config.training.log_every)
    assert [line["step"] for line in lines[0] if line["phase"] == "train"] == list(logged)
    assert lines[0] == lines[1]


def test_a_run_of_four_devices_goes_on_with_one(tmp_path):
    config = AVERAGED_RUN
    train(shorter(config, 3), tmp_path, devices=FOUR)
    before = restored(tmp_path, config, FOUR)
    chex.assert_trees_all_equal(restored(tmp_path, config, ONE), before)
    assert train(config, tmp_path, devices=ONE, resume=True).step == 6


def test_the_state_comes_back_as_it_was(tmp_path):
    for name, config in {"frozen": FROZEN_RUN, "rich": RICH_RUN}.items():
        state = jax.tree.map(np.asarray, fresh_state(config, seed=3))
        checkpoints = Checkpoints(tmp_path / name, config, FOUR)
        checkpoints.save(1, replicate(state, FOUR), {"loss": 1.0})
        checkpoints.close()
        chex.assert_trees_all_equal(restored(tmp_path / name, config), state)


def test_inference_reads_parameters_and_config_only(tmp_path):
    train(AVERAGED_RUN, tmp_path, devices=ONE)
    config, params = load_params(tmp_path, "latest")
    assert config == AVERAGED_RUN
    chex.assert_trees_all_equal(params, step_module.inference_params(restored(tmp_path, AVERAGED_RUN)))
    for checkpoint in (tmp_path / "checkpoints").iterdir():
        training = checkpoint / "training"
        if training.is_dir():
            subprocess.run(["rm", "-r", str(training)], check=True)
    chex.assert_trees_all_equal(load_params(tmp_path, "latest")[1], params)


def test_best_and_latest_are_kept(tmp_path):
    config = OPERATOR_RUN
    checkpoints = Checkpoints(tmp_path, config, ONE)
    for step, loss in enumerate([3.0, 1.0, 2.0, 4.0, 5.0], start=1):
        checkpoints.save(step, replicate(fresh_state(config, seed=step), ONE), {"loss": loss})
    checkpoints.wait()
    checkpoints.close()
    assert sorted(int(p.name) for p in (tmp_path / "checkpoints").iterdir() if p.name.isdigit()) == [2, 5]
    for which, seed in (("best", 2), ("latest", 5)):
        chex.assert_trees_all_equal(load_params(tmp_path, which)[1], fresh_params(config, seed))


def test_a_save_without_metrics_is_the_latest_but_never_the_best(tmp_path):
    config = OPERATOR_RUN
    checkpoints = Checkpoints(tmp_path, config, ONE)
    checkpoints.save(1, replicate(fresh_state(config, seed=1), ONE), {"loss": 1.0})
    checkpoints.save(2, replicate(fresh_state(config, seed=2), ONE))
    checkpoints.close()
    assert restored(tmp_path, config).step == 0  # the counter of the state that was saved as step 2
    for which, seed in (("best", 1), ("latest", 2)):
        chex.assert_trees_all_equal(load_params(tmp_path, which)[1], fresh_params(config, seed))


def test_a_validation_that_is_not_a_number_is_never_the_best(tmp_path):
    config = OPERATOR_RUN
    checkpoints = Checkpoints(tmp_path, config, ONE)
    for step, loss in enumerate([1.0, float("nan"), 2.0, float("inf")], start=1):
        checkpoints.save(step, replicate(fresh_state(config, seed=step), ONE), {"loss": loss})
    checkpoints.close()
    chex.assert_trees_all_equal(load_params(tmp_path, "best")[1], fresh_params(config, 1))
    chex.assert_trees_all_equal(load_params(tmp_path, "latest")[1], fresh_params(config, 4))


def test_a_line_of_metrics_cut_short_by_a_kill_is_forgotten(tmp_path):
    train(shorter(OPERATOR_RUN, 3), tmp_path, devices=ONE)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"phase": "train", "st')
    train(OPERATOR_RUN, tmp_path, devices=ONE, resume=True)
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 3, 4, 5, 6, 6]


def test_a_change_after_saving_does_not_reach_the_checkpoint(tmp_path):
    """The state is given to the next step while it is still being written."""
    config = OPERATOR_RUN
    state = jax.tree.map(np.asarray, fresh_state(config))
    stacked = replicate(state, FOUR)
    checkpoints = Checkpoints(tmp_path, config, FOUR)
    checkpoints.save(1, stacked, {"loss": 1.0})
    overwrite = jax.pmap(lambda tree: jax.tree.map(lambda x: x * 0, tree), donate_argnums=0, devices=FOUR)
    jax.block_until_ready(overwrite(stacked))
    checkpoints.close()
    chex.assert_trees_all_equal(restored(tmp_path, config), state)


def test_another_model_is_refused_and_the_differing_keys_are_named(tmp_path):
    train(shorter(OPERATOR_RUN, 3), tmp_path, devices=ONE)
    other = dataclasses.replace(OPERATOR_RUN, model=dataclasses.replace(OPERATOR, width=32, layers=3))
    with pytest.raises(ConfigError, match=r"model\.width: 16 against 32; model\.layers: 2 against 3"):
        train(other, tmp_path, devices=ONE, resume=True)
    with pytest.raises(ConfigError, match="DeepONetConfig against FIMLocalConfig"):
        train(LOCAL_RUN, tmp_path, devices=ONE, resume=True)
    with pytest.raises(ConfigError, match=r"training\.average_decay: .* made with 0.0, not with 0.9"):
        train(AVERAGED_RUN, tmp_path, devices=ONE, resume=True)
    by_twos = run_config(OPERATOR, steps_per_dispatch=2, log_every=2, validate_every=2)
    with pytest.raises(ConfigError, match=r"training\.steps_per_dispatch: 2 does not divide step 3"):
        train(by_twos, tmp_path, devices=ONE, resume=True)
    assert train(OPERATOR_RUN, tmp_path, devices=ONE, resume=True).step == 6


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    train(shorter(OPERATOR_RUN, 3), tmp_path, devices=ONE)
    with pytest.raises(CheckpointError, match="holds a run at step 3"):
        train(OPERATOR_RUN, tmp_path, devices=ONE)


def test_a_missing_run_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere: no such run"):
        load_params(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="empty: holds no checkpoint"):
        load_params(tmp_path / "empty")


def test_fim_takes_its_fim_l_from_a_run(tmp_path):
    local = fresh_params(LOCAL_RUN, seed=3)
    checkpoints = Checkpoints(tmp_path / "local", LOCAL_RUN, ONE)
    checkpoints.save(1, replicate(fresh_state(LOCAL_RUN, seed=3), ONE), {"loss": 1.0})
    checkpoints.close()
    write_config(tmp_path / "local", LOCAL_RUN)
    train(shorter(FROZEN_RUN, 3), tmp_path / "fim", devices=ONE, local_run=tmp_path / "local")
    config, params = load_params(tmp_path / "fim")
    assert config.model == FROZEN_RUN.model
    chex.assert_trees_all_equal(params["local"], local)
    with pytest.raises(ConfigError, match="needs a pretrained FIM-l"):
        train(FROZEN_RUN, tmp_path / "none", devices=ONE)
    wider = dataclasses.replace(FROZEN_RUN.model.local, width=32)
    other = dataclasses.replace(FROZEN_RUN, model=dataclasses.replace(FROZEN_RUN.model, local=wider))
    with pytest.raises(ConfigError, match=r"model\.local\.width: 16 against 32"):
        train(other, tmp_path / "wider", devices=ONE, local_run=tmp_path / "local")


def test_divergence_stops_training_and_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    honest = step_module.make_gradient

    def broken_from_step_four(*args):
        gradient = honest(*args)
        return lambda state: jax.tree.map(lambda x: jax.numpy.where(state.step >= 3, jax.numpy.nan, x), gradient(state))

    monkeypatch.setattr(step_module, "make_gradient", broken_from_step_four)
    config = run_config(OPERATOR, steps=30)
    with pytest.raises(TrainingDiverged, match="3 non-finite steps in a row .* step 3 .* intact"):
        train(config, tmp_path, devices=ONE)
    state = restored(tmp_path, config)
    assert state.skipped == 0 and state.step == 3


KILLED_WHILE_SAVING = """
import os, signal, sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
import orbax.checkpoint as ocp
from fimjax.checkpoints.runs import Checkpoints
from fimjax.training.parallel import replicate
from tests.training.examples import OPERATOR_RUN
from tests.checkpoints.test_runs import fresh_state

checkpoints = Checkpoints(Path(sys.argv[1]), OPERATOR_RUN)
checkpoints.save(1, replicate(fresh_state(OPERATOR_RUN, seed=1)), {"loss": 1.0})
checkpoints.wait()

def die_in_the_middle(*args, **kwargs):
    print("saving", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

# The arrays are on disk and the checkpoint is about to get its name.
from orbax.checkpoint._src.path import atomicity
for kind in ("AtomicRenameTemporaryPath", "CommitFileTemporaryPath"):
    getattr(atomicity, kind).finalize = die_in_the_middle
checkpoints.save(2, replicate(fresh_state(OPERATOR_RUN, seed=2)), {"loss": 0.5})
checkpoints.wait()
"""


@pytest.mark.processes
def test_a_kill_in_the_middle_of_saving_loses_nothing_older(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_SAVING, str(tmp_path)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert child.returncode == -signal.SIGKILL and "saving" in child.stdout, child.stderr[-2000:]
    left = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert any(name.startswith("2") and name != "2" for name in left), left  # a half-written one is there
    config = OPERATOR_RUN
    expected = jax.tree.map(np.asarray, fresh_state(config, seed=1))
    chex.assert_trees_all_equal(load_params(tmp_path)[1], expected.params)
    chex.assert_trees_all_equal(restored(tmp_path, config), expected)
    assert train(config, tmp_path, devices=ONE, resume=True).step == 6
    assert not [p for p in (tmp_path / "checkpoints").iterdir() if ocp.step.TMP_DIR_SUFFIX in p.name]
