"""Checkpoints of training runs: the only module that uses Orbax."""

import json
import logging
import math
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import preservation_policy

from fimjax.config import Config, differing_keys, from_dict, to_dict
from fimjax.config.migration import upgrade_parameter_name
from fimjax.errors import CheckpointError, ConfigError
from fimjax.models import Params, build_model, param_shapes

# Orbax logs every detail of its work at INFO, and warns of choices that are ours.
logging.getLogger("absl").setLevel(logging.ERROR)

FOLDER = "checkpoints"


class RunCheckpoints:
    """The checkpoints of one run: the latest one and the one with the lowest validation loss are kept.

    Each holds three items: `params`, what inference needs; `training`, the rest of the state; `config`. Saving is
    asynchronous. A checkpoint appears under its name only when it is complete, so a process killed while saving loses
    nothing older.
    """

    def __init__(self, run: Path, config: Config):
        self.config = config
        keep = preservation_policy.AnyPreservationPolicy(
            [
                preservation_policy.LatestN(1),
                preservation_policy.BestN(
                    n=1,
                    get_metric_fn=lambda metrics: metrics["loss"],
                    reverse=True,
                    keep_checkpoints_without_metrics=False,
                ),
            ]
        )
        self._manager = ocp.CheckpointManager(
            (run / FOLDER).absolute(),
            item_names=("params", "training", "config"),
            options=ocp.CheckpointManagerOptions(
                preservation_policy=keep,
                best_fn=lambda metrics: metrics["loss"],
                best_mode="min",
                cleanup_tmp_directories=True,
            ),
        )

    @property
    def latest_step(self) -> int | None:
        """The step of the newest checkpoint."""
        return self._manager.latest_step()

    def save(self, step: int, params: Params, training: Any, metrics: dict[str, float] | None = None) -> None:
        """Starts to save global arrays; returns as soon as they are copied.

        Args:
            params: parameters for inference; training: the rest of the state.
            metrics: of the validation at this step, by which checkpoints are ranked.
        """
        if step == self.latest_step:
            return  # a signal right after a validation asks for what has just been saved
        if metrics is not None and not math.isfinite(metrics["loss"]):
            metrics = None  # a loss of NaN must not displace the best checkpoint
        self._manager.save(
            step,
            args=ocp.args.Composite(
                params=ocp.args.StandardSave(params),
                training=ocp.args.StandardSave(training),
                config=ocp.args.JsonSave(to_dict(self.config)),
            ),
            metrics=metrics,
        )

    def restore(self, params_like: Params, training_like: Any) -> tuple[Params, Any]:
        """Parameters and the rest of the state of the latest checkpoint, with the shapes and shardings given.

        Raises:
            ConfigError: the checkpoint is of another model; the message names the differing keys.
        """
        step = self.latest_step
        assert step is not None
        folder = self._manager.directory
        stored = _read_stored_config(self._manager, step)
        if "schema" not in stored:
            raise ConfigError(
                f"the run in {folder} was made by an older fimjax and cannot be resumed; start a new run from its "
                f"parameters with --begin-from"
            )
        check_same_run(folder, from_dict(stored), self.config, step)
        restored = self._manager.restore(
            step,
            args=ocp.args.Composite(
                params=ocp.args.StandardRestore(params_like), training=ocp.args.StandardRestore(training_like)
            ),
        )
        return restored["params"], restored["training"]

    def wait(self) -> None:
        """Returns when everything is on disk."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        """Waits for the last save and frees the manager."""
        self.wait()
        self._manager.close()


def check_same_run(folder: Any, saved: Config, wanted: Config, step: int) -> None:
    """Raises a ConfigError that names the settings with which this run cannot be continued."""
    differences = differing_keys(saved.model, wanted.model, "model.")
    if differences:
        raise ConfigError(f"the checkpoint in {folder} is of another model: {'; '.join(differences)}")
    before, now = saved.training.average_decay, wanted.training.average_decay
    if bool(before) != bool(now):
        raise ConfigError(f"training.average_decay: the run in {folder} was made with {before}, not with {now}")
    if step % wanted.training.steps_per_dispatch:
        raise ConfigError(
            f"training.steps_per_dispatch: {wanted.training.steps_per_dispatch} does not divide step {step}, "
            f"at which the run in {folder} stopped"
        )


def latest_step(run: Path) -> int:
    """The step of the newest complete checkpoint of a run, 0 if there is none. Nothing is created."""
    folder = run / FOLDER
    steps = ocp.utils.checkpoint_steps(folder.absolute()) if folder.is_dir() else []
    return max(steps, default=0)


def load_run(run: Path | str, which: Literal["best", "latest"] = "best") -> tuple[Config, Params]:
    """Config and parameters of a trained model, for inference. Nothing else is read.

    Args:
        run: the folder of a run, or its `checkpoints` folder.
        which: the checkpoint with the lowest validation loss, or the newest one.

    Returns:
        The config of the run, and the parameters as NumPy arrays.
    """
    run = Path(run)
    folder = run / FOLDER if (run / FOLDER).is_dir() else run
    if not folder.is_dir():
        raise CheckpointError(f"{run}: no such run")
    with ocp.CheckpointManager(
        folder.absolute(),
        item_names=("params", "config"),
        options=ocp.CheckpointManagerOptions(
            read_only=True,
            create=False,
            best_fn=lambda metrics: metrics["loss"],
            best_mode="min",
            multiprocessing_options=_this_process_alone(),
        ),
    ) as manager:
        step = manager.best_step() if which == "best" else manager.latest_step()
        step = manager.latest_step() if step is None else step
        if step is None:
            raise CheckpointError(f"{run}: holds no checkpoint")
        stored = _read_stored_config(manager, step)
        config = from_dict(stored)
        shapes = param_shapes(build_model(config.model, config.windows.count))
        device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes)
        # Runs of older versions have parameters of other names: these are read as they were stored.
        item = ocp.args.StandardRestore(like) if "schema" in stored else ocp.args.StandardRestore()
        params = manager.restore(step, args=ocp.args.Composite(params=item))["params"]
    return config, _upgrade_names(jax.tree.map(np.asarray, params))


def write_config(run: Path, config: Config) -> None:
    """The config as a file that people can read."""
    (run / "config.json").write_text(json.dumps(to_dict(config), indent=2) + "\n")


def _read_stored_config(manager: ocp.CheckpointManager, step: int) -> dict[str, Any]:
    return manager.restore(step, args=ocp.args.Composite(config=ocp.args.JsonRestore()))["config"]


def _upgrade_names(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    return {upgrade_parameter_name(name): _upgrade_names(value) for name, value in tree.items()}


def _this_process_alone() -> ocp.options.MultiprocessingOptions:
    """Reading needs no other process, so none waits for another."""
    me = jax.process_index()
    return ocp.options.MultiprocessingOptions(
        primary_host=me, active_processes={me}, barrier_sync_key_prefix=f"reader_{me}"
    )
