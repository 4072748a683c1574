"""One optimiser step as a pure function of the state: it draws its own batch and does not know how many devices run."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct

from fimjax.config import Config
from fimjax.errors import ConfigError
from fimjax.models import Params
from fimjax.prior.sampler import Sample, sample_groups
from fimjax.training.losses import Loss, packed_slots
from fimjax.training.microbatching import ALL_SLOTS, Capacity, assign_microbatches, select_series
from fimjax.training.optim import frozen_parts, make_optimizer, make_schedule, split_params
from fimjax.training.validation import validation_metrics

Metrics = dict[str, jax.Array]

PARAMS_STREAM, TRAINING_STREAM, VALIDATION_STREAM = 0, 1, 2
"""Random streams for parameters, training series and validation series, all derived from one seed."""


class TrainState(struct.PyTreeNode):
    """Everything that training changes, and so everything that a checkpoint must hold."""

    step: jax.Array
    params: Params | None
    average: Params | None  # running average of the trained parameters, if the config asks for one
    optimizer: Any
    skipped: jax.Array  # non-finite steps so far
    bad_run: jax.Array  # non-finite steps since the last good one


def stream_key(seed: int, stream: int) -> jax.Array:
    """The key of one of the random streams."""
    return jax.random.fold_in(jax.random.key(seed), stream)


def init_state(config: Config, params: Params) -> TrainState:
    """The state before the first step."""
    trained, _ = split_params(params, frozen_parts(config.model))
    zero = jnp.zeros((), jnp.int32)
    average = jax.tree.map(jnp.copy, trained) if config.training.average_decay else None
    return TrainState(zero, params, average, make_optimizer(config.training).init(trained), zero, zero)


def inference_params(state: TrainState) -> Params:
    """The parameters for validation and inference: the averaged ones if there are any."""
    assert state.params is not None
    return state.params if state.average is None else {**state.params, **state.average}


def split_for_checkpoint(state: TrainState) -> tuple[Params, TrainState]:
    """The parameters for inference, and the rest of the state without a second copy of them."""
    rest = state.replace(params=None) if state.average is None else state.replace(average=None)
    return inference_params(state), rest


def join_from_checkpoint(config: Config, params: Params, rest: TrainState) -> TrainState:
    """Undoes `split_for_checkpoint`."""
    if rest.params is None:
        return rest.replace(params=params)
    trained, _ = split_params(params, frozen_parts(config.model))
    return rest.replace(average=trained)


def groups_per_device(series: int, devices: int, group_size: int, key: str) -> int:
    """Groups of series that each device draws; an uneven share is an error that names the key."""
    if series % (devices * group_size):
        raise ConfigError(
            f"{key}: {series} series cannot be shared by {devices} devices in groups of {group_size} "
            f"(prior.group_size); use a multiple of {devices * group_size}"
        )
    return series // (devices * group_size)


@dataclass(frozen=True)
class TrainStep:
    """The step that training repeats: draw a batch, compute the gradient, update the parameters."""

    config: Config
    model: Any
    groups: int
    """Groups of series that this device draws."""
    axis_name: str | None = None
    """Name of pmap's axis; None for one device."""

    def __call__(self, state: TrainState) -> tuple[TrainState, Metrics]:
        """The next state, and the metrics of this step."""
        return self.update(state, *self.gradient(state))

    def gradient(self, state: TrainState) -> tuple[jax.Array, Params]:
        """Loss and raw gradient on the batch of the state's step, averaged over devices."""
        assert state.params is not None
        return self.batch_gradient(state.params, self.draw_batch(state.step))

    def batch_gradient(self, params: Params, sample: Sample) -> tuple[jax.Array, Params]:
        """Loss and raw gradient on a batch, of which each device has a share."""
        total, count, grads = self.total_gradient(params, sample)
        # Totals and counts are averaged separately, because devices may count different numbers of series.
        total, count, grads = _average_over_devices((total, count, grads), self.axis_name)
        return jax.tree.map(lambda x: x / jnp.where(count > 0, count, 1.0), (total, grads))

    def draw_batch(self, step: jax.Array) -> Sample:
        """This device's share of the batch of a step. Groups are numbered over all devices, so that the batch is the
        same on any number of them."""
        config = self.config
        key = jax.random.fold_in(stream_key(config.training.seed, TRAINING_STREAM), step)
        first_group = _device_index(self.axis_name) * self.groups
        return sample_groups(key, first_group, self.groups, config.prior, config.windows)

    def total_gradient(self, params: Params, sample: Sample) -> tuple[jax.Array, jax.Array, Params]:
        """The summed loss over the series of a batch, their number, and the gradient of the sum."""
        training = self.config.training
        capacity = Capacity(training.point_capacity, training.query_capacity)
        loss, frozen = Loss(self.model, training, capacity), frozen_parts(self.config.model)

        def of_microbatch(sample: Sample) -> tuple[jax.Array, jax.Array, Params]:
            trained, kept = split_params(params, frozen)

            def total(trained: Params) -> tuple[jax.Array, jax.Array]:
                mean = loss({**kept, **trained}, sample)
                return mean.total, mean.count

            (value, count), grads = jax.value_and_grad(total, has_aux=True)(trained)
            return value, count, grads

        if capacity == ALL_SLOTS:
            return of_microbatch(sample)
        masks = packed_slots(self.model, sample)
        microbatch = assign_microbatches([(mask, share) for mask, share in zip(masks, capacity) if mask is not None])
        add = lambda i, sums: jax.tree.map(jnp.add, sums, of_microbatch(select_series(sample, microbatch == i)))
        zeros = jax.tree.map(jnp.zeros_like, jax.eval_shape(of_microbatch, sample))
        return jax.lax.fori_loop(0, jnp.max(microbatch) + 1, add, zeros)

    def update(self, state: TrainState, loss: jax.Array, grads: Params) -> tuple[TrainState, Metrics]:
        """The next state from a loss and its gradient.

        A step whose loss or gradient is not finite changes nothing but the counters, so one bad batch cannot ruin a
        run.
        """
        training = self.config.training
        optimizer, schedule = make_optimizer(training), make_schedule(training)
        assert state.params is not None
        trained, kept = split_params(state.params, frozen_parts(self.config.model))
        norm = optax.tree.norm(grads)
        good = jnp.isfinite(loss) & jnp.isfinite(norm)

        updates, new_optimizer = optimizer.update(grads, state.optimizer, trained)
        new_trained = optax.apply_updates(trained, updates)
        new_trained, new_optimizer = _choose(good, (new_trained, new_optimizer), (trained, state.optimizer))
        average = state.average
        if average is not None:
            moved = optax.incremental_update(new_trained, average, 1 - training.average_decay)
            average = _choose(good, moved, average)

        bad = (~good).astype(jnp.int32)
        new_state = TrainState(
            step=state.step + 1,
            params={**kept, **new_trained},
            average=average,
            optimizer=new_optimizer,
            skipped=state.skipped + bad,
            bad_run=(state.bad_run + bad) * bad,
        )
        metrics = {
            "loss": loss,
            "gradient_norm": norm,
            "learning_rate": schedule(state.step - state.skipped),  # the optimiser counts good steps only
            "skipped": new_state.skipped,
            "bad_run": new_state.bad_run,
        }
        return new_state, metrics


@dataclass(frozen=True)
class Validation:
    """Metrics on the validation set: the same series every time, from a key that training never uses."""

    config: Config
    model: Any
    groups: int
    """Groups of series that this device validates on."""
    max_groups: int
    """Groups drawn at a time, so that validation needs no more memory than training."""
    axis_name: str | None = None
    """Name of pmap's axis; None for one device."""

    def __call__(self, params: Params) -> Metrics:
        """The metrics, averaged over all series of all devices."""
        config, chunk = self.config, max(n for n in range(1, self.max_groups + 1) if self.groups % n == 0)
        key = stream_key(config.training.seed, VALIDATION_STREAM)
        first_groups = _device_index(self.axis_name) * self.groups + jnp.arange(0, self.groups, chunk)

        def of_chunk(first_group: jax.Array) -> dict[str, Any]:
            sample = sample_groups(key, first_group, chunk, config.prior, config.windows)
            return validation_metrics(self.model, config.training, params, sample)

        parts = jax.lax.map(of_chunk, first_groups)
        means = _average_over_devices(jax.tree.map(jnp.sum, parts), self.axis_name)
        return {name: mean.value for name, mean in means.items()}


def _device_index(axis_name: str | None) -> jax.Array | int:
    return jax.lax.axis_index(axis_name) if axis_name else 0


def _average_over_devices(tree: Any, axis_name: str | None) -> Any:
    return jax.lax.pmean(tree, axis_name) if axis_name else tree


def _choose(condition: jax.Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
