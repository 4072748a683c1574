"""Checkpoints of runs: resuming, another number of devices, a kill while saving, the wrong model."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

from fimjax.checkpoints import runs
from fimjax.checkpoints.runs import RunCheckpoints, load_run, write_config
from fimjax.config import Config, to_dict
from fimjax.errors import CheckpointError, ConfigError
from fimjax.models import Params, build_model, init_params
from fimjax.training.loop import TrainingDiverged, train
from fimjax.training.parallel import everywhere_like, from_global, replicate, to_global
from fimjax.training.step import (
    TrainState,
    TrainStep,
    inference_params,
    init_state,
    join_from_checkpoint,
    split_for_checkpoint,
)
from tests.examples import DEEPONET
from tests.training.examples import (
    AVERAGED_RUN,
    DEEPONET_RUN,
    QUANTILE_REPORT_RUN,
    REPORT_LOCAL_RUN,
    REPORT_RUN,
    ROOT,
    run_config,
)

ONE, FOUR = jax.devices()[:1], jax.devices()[:4]


def fresh_state(config: Config, seed: int = 0) -> TrainState:
    model = build_model(config.model, config.windows.count)
    return init_state(config, jax.jit(lambda key: init_params(model, key))(jax.random.key(seed)))


def fresh_params(config: Config, seed: int) -> Params:
    return jax.tree.map(np.asarray, fresh_state(config, seed).params)


def save_states(run: Path, config: Config, losses: dict[int, float | None], devices=ONE) -> None:
    """Saves a fresh state for each step, with the step as its seed, and the validation loss if there is one."""
    with contextlib.closing(RunCheckpoints(run, config)) as checkpoints:
        for step, loss in losses.items():
            stacked = replicate(fresh_state(config, seed=step), devices)
            metrics = None if loss is None else {"loss": loss}
            checkpoints.save(step, *split_for_checkpoint(to_global(stacked, devices)), metrics)


def restored(run: Path, config: Config, devices=ONE) -> TrainState:
    like = split_for_checkpoint(jax.eval_shape(lambda: fresh_state(config)))
    with contextlib.closing(RunCheckpoints(run, config)) as checkpoints:
        parts = checkpoints.restore(*(everywhere_like(part, devices) for part in like))
    return join_from_checkpoint(config, *(from_global(part) for part in parts))


def shorter(config, steps):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, steps=steps))


BY_THREES = run_config(DEEPONET, average_decay=0.9, steps_per_dispatch=3, log_every=3)


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


def test_a_run_of_four_devices_continues_with_one(tmp_path):
    config = AVERAGED_RUN
    train(shorter(config, 3), tmp_path, devices=FOUR)
    before = restored(tmp_path, config, FOUR)
    chex.assert_trees_all_equal(restored(tmp_path, config, ONE), before)
    assert train(config, tmp_path, devices=ONE, resume=True).step == 6


@pytest.mark.parametrize("config", [REPORT_RUN, QUANTILE_REPORT_RUN], ids=["frozen", "frozen_and_averaged"])
def test_the_state_is_restored_exactly(tmp_path, config):
    save_states(tmp_path, config, {3: 1.0}, FOUR)
    chex.assert_trees_all_equal(restored(tmp_path, config), jax.tree.map(np.asarray, fresh_state(config, seed=3)))


def test_inference_reads_parameters_and_config_only(tmp_path):
    train(AVERAGED_RUN, tmp_path, devices=ONE)
    config, params = load_run(tmp_path, "latest")
    assert config == AVERAGED_RUN
    chex.assert_trees_all_equal(params, inference_params(restored(tmp_path, AVERAGED_RUN)))
    for training in (tmp_path / "checkpoints").glob("*/training"):
        shutil.rmtree(training)
    chex.assert_trees_all_equal(load_run(tmp_path, "latest")[1], params)


@pytest.mark.parametrize(
    "losses, best, latest",
    [
        ({1: 3.0, 2: 1.0, 3: 2.0, 4: 4.0, 5: 5.0}, 2, 5),
        ({1: 1.0, 2: None}, 1, 2),
        ({1: 1.0, 2: float("nan"), 3: 2.0, 4: float("inf")}, 1, 4),
    ],
    ids=["by_loss", "no_loss_is_never_best", "not_finite_is_never_best"],
)
def test_the_best_and_the_latest_checkpoint_are_kept(tmp_path, losses, best, latest):
    save_states(tmp_path, DEEPONET_RUN, losses)
    kept = {int(path.name) for path in (tmp_path / "checkpoints").iterdir() if path.name.isdigit()}
    assert {best, latest} == kept
    chex.assert_trees_all_equal(load_run(tmp_path, "best")[1], fresh_params(DEEPONET_RUN, best))
    chex.assert_trees_all_equal(load_run(tmp_path, "latest")[1], fresh_params(DEEPONET_RUN, latest))


def test_a_line_of_metrics_that_a_kill_cut_short_is_dropped(tmp_path):
    train(shorter(DEEPONET_RUN, 3), tmp_path, devices=ONE)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"phase": "train", "st')
    train(DEEPONET_RUN, tmp_path, devices=ONE, resume=True)
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 3, 4, 5, 6, 6]


def test_a_step_after_saving_does_not_reach_the_checkpoint(tmp_path):
    """The next step reuses the buffers of the state while it is still being written."""
    config = DEEPONET_RUN
    state = jax.tree.map(np.asarray, fresh_state(config))
    stacked = replicate(state, FOUR)
    with contextlib.closing(RunCheckpoints(tmp_path, config)) as checkpoints:
        checkpoints.save(1, *split_for_checkpoint(to_global(stacked, FOUR)), {"loss": 1.0})
        overwrite = jax.pmap(lambda tree: jax.tree.map(lambda x: x * 0, tree), donate_argnums=0, devices=FOUR)
        jax.block_until_ready(overwrite(stacked))
    chex.assert_trees_all_equal(restored(tmp_path, config), state)


def test_another_run_is_refused_and_the_differing_keys_are_named(tmp_path):
    train(shorter(DEEPONET_RUN, 3), tmp_path, devices=ONE)
    other_sizes = run_config(dataclasses.replace(DEEPONET, width=32, layers=3))
    by_twos = run_config(DEEPONET, steps_per_dispatch=2, log_every=2, validate_every=2)
    for config, message in (
        (other_sizes, r"is of another model: model\.width: 16 instead of 32; model\.layers: 2 instead of 3"),
        (REPORT_LOCAL_RUN, "is of another model: model: DeepONetConfig instead of ReportFIMLocalConfig"),
        (AVERAGED_RUN, r"training\.average_decay: .* made with 0.0, not with 0.9"),
        (by_twos, r"training\.steps_per_dispatch: 2 does not divide step 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(config, tmp_path, devices=ONE, resume=True)
    assert train(DEEPONET_RUN, tmp_path, devices=ONE, resume=True).step == 6


def test_a_run_without_a_schema_version_cannot_be_resumed(tmp_path, monkeypatch):
    save_states(tmp_path, DEEPONET_RUN, {3: 1.0})
    entries = to_dict(DEEPONET_RUN)
    del entries["schema"]
    monkeypatch.setattr(runs, "_read_stored_config", lambda manager, step: entries)
    with pytest.raises(ConfigError, match="made by an older fimjax and cannot be resumed; .* with --begin-from"):
        train(DEEPONET_RUN, tmp_path, devices=ONE, resume=True)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    train(shorter(DEEPONET_RUN, 3), tmp_path, devices=ONE)
    with pytest.raises(CheckpointError, match="holds a run at step 3"):
        train(DEEPONET_RUN, tmp_path, devices=ONE)


def test_a_missing_run_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere: no such run"):
        load_run(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="empty: holds no checkpoint"):
        load_run(tmp_path / "empty")


def test_fim_takes_its_fim_l_from_a_run(tmp_path):
    save_states(tmp_path / "local", REPORT_LOCAL_RUN, {3: 1.0})
    write_config(tmp_path / "local", REPORT_LOCAL_RUN)
    train(shorter(REPORT_RUN, 3), tmp_path / "fim", devices=ONE, local_run=tmp_path / "local")
    config, params = load_run(tmp_path / "fim")
    assert config.model == REPORT_RUN.model
    chex.assert_trees_all_equal(params["local"], fresh_params(REPORT_LOCAL_RUN, seed=3))
    with pytest.raises(ConfigError, match="needs a pretrained FIM-l"):
        train(REPORT_RUN, tmp_path / "none", devices=ONE)
    wider = dataclasses.replace(REPORT_RUN.model.local, width=32)
    other = dataclasses.replace(REPORT_RUN, model=dataclasses.replace(REPORT_RUN.model, local=wider))
    with pytest.raises(ConfigError, match=r"local: the FIM-l in .*: model\.local\.width: 16 instead of 32"):
        train(other, tmp_path / "wider", devices=ONE, local_run=tmp_path / "local")
    with pytest.raises(ConfigError, match="local: .* is a run of ReportFIMConfig, not of FIM-l"):
        train(REPORT_RUN, tmp_path / "wrong", devices=ONE, local_run=tmp_path / "fim")


def test_divergence_stops_training_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    correct = TrainStep.gradient

    def nan_from_step_three(self, state):
        return jax.tree.map(lambda x: jnp.where(state.step >= 3, jnp.nan, x), correct(self, state))

    monkeypatch.setattr(TrainStep, "gradient", nan_from_step_three)
    config = run_config(DEEPONET, steps=30)
    with pytest.raises(TrainingDiverged, match="3 non-finite steps in a row .* step 3 .* intact"):
        train(config, tmp_path, devices=ONE)
    state = restored(tmp_path, config)
    assert state.skipped == 0 and state.step == 3


KILLED_WHILE_SAVING = """
import os, signal, sys
from pathlib import Path
from fimjax.checkpoints.runs import RunCheckpoints
from fimjax.training.parallel import replicate, to_global
from fimjax.training.step import split_for_checkpoint
from tests.training.examples import DEEPONET_RUN
from tests.checkpoints.test_runs import fresh_state

def parts(seed):
    return split_for_checkpoint(to_global(replicate(fresh_state(DEEPONET_RUN, seed))))

checkpoints = RunCheckpoints(Path(sys.argv[1]), DEEPONET_RUN)
checkpoints.save(1, *parts(1), {"loss": 1.0})
checkpoints.wait()

def die(*args, **kwargs):
    print("saving", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

# The arrays are on disk, and the checkpoint is about to get its name.
from orbax.checkpoint._src.path import atomicity
for kind in ("AtomicRenameTemporaryPath", "CommitFileTemporaryPath"):
    getattr(atomicity, kind).finalize = die
checkpoints.save(2, *parts(2), {"loss": 0.5})
checkpoints.wait()
"""


@pytest.mark.processes
def test_a_kill_while_saving_loses_nothing_older(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_SAVING, str(tmp_path)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert child.returncode == -signal.SIGKILL and "saving" in child.stdout, child.stderr[-2000:]
    left = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert any(name.startswith("2") and name != "2" for name in left), left  # a partial checkpoint is there
    expected = jax.tree.map(np.asarray, fresh_state(DEEPONET_RUN, seed=1))
    chex.assert_trees_all_equal(load_run(tmp_path)[1], expected.params)
    chex.assert_trees_all_equal(restored(tmp_path, DEEPONET_RUN), expected)
    assert train(DEEPONET_RUN, tmp_path, devices=ONE, resume=True).step == 6
    assert not [p for p in (tmp_path / "checkpoints").iterdir() if ocp.step.TMP_DIR_SUFFIX in p.name]
