"""One optimiser step, a pure function of the state: it draws its own batch and knows of no mesh."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import struct

from fimjax.config import Config
from fimjax.errors import ConfigError
from fimjax.prior.sampler import Sample, sample_groups
from fimjax.training.losses import Params, make_loss, points_and_questions
from fimjax.training.microbatching import ALL_SLOTS, Capacity, assign_microbatches, only
from fimjax.training.optim import frozen_parts, make_optimizer, make_schedule, split_params
from fimjax.training.validation import make_evaluation

Metrics = dict[str, jax.Array]

PARAMS_STREAM, TRAINING_STREAM, VALIDATION_STREAM = 0, 1, 2
"""Keys of their own for parameters, training series and validation series, all from one seed."""


@struct.dataclass
class TrainState:
    """All that training changes, and so all that a checkpoint must hold."""

    step: jax.Array
    params: Params
    average: Params | None  # running average of the trained parameters, if the config asks for one
    optimizer: Any
    skipped: jax.Array  # non-finite steps so far
    bad_run: jax.Array  # non-finite steps since the last good one


def stream_key(seed: int, stream: int) -> jax.Array:
    return jax.random.fold_in(jax.random.key(seed), stream)


def init_state(config: Config, params: Params) -> TrainState:
    """The state before the first step."""
    trained, _ = split_params(params, frozen_parts(config.model))
    zero = jnp.zeros((), jnp.int32)
    average = jax.tree.map(jnp.copy, trained) if config.training.average_decay else None
    return TrainState(zero, params, average, make_optimizer(config.training).init(trained), zero, zero)


def inference_params(state: TrainState) -> Params:
    """The parameters to validate with and to ship: the averaged ones where there are any."""
    return state.params if state.average is None else {**state.params, **state.average}


def groups_per_device(series: int, devices: int, group_size: int, key: str) -> int:
    """How many groups of series each device draws; an uneven share is an error that names the key."""
    if series % (devices * group_size):
        raise ConfigError(
            f"{key}: {series} series cannot be shared by {devices} devices in groups of {group_size} "
            f"(prior.group_size); use a multiple of {devices * group_size}"
        )
    return series // (devices * group_size)


def draw_batch(config: Config, key: jax.Array, groups: int, axis_name: str | None) -> Sample:
    """This device's share of the batch that `key` stands for.

    Groups are numbered over all devices, so that the batch is the same on any number of them.
    """
    device = jax.lax.axis_index(axis_name) if axis_name else 0
    return sample_groups(key, device * groups, groups, config.prior)


def average_over_devices(tree: Any, axis_name: str | None) -> Any:
    return jax.lax.pmean(tree, axis_name) if axis_name else tree


def make_gradient(
    config: Config, model: nn.Module, groups: int, axis_name: str | None = None
) -> Callable[[TrainState], tuple[jax.Array, Params]]:
    """Loss and raw gradient of the trained parameters on the batch of the state's step, averaged over devices."""
    total_gradient = make_total_gradient(config, model)
    key = stream_key(config.training.seed, TRAINING_STREAM)

    def gradient(state: TrainState) -> tuple[jax.Array, Params]:
        sample = draw_batch(config, jax.random.fold_in(key, state.step), groups, axis_name)
        return mean_over_devices(*total_gradient(state.params, sample), axis_name)

    return gradient


def mean_over_devices(
    value: jax.Array, count: jax.Array, grads: Params, axis_name: str | None
) -> tuple[jax.Array, Params]:
    """Loss and gradient of all series of all devices, from each one's sums."""
    # Numerator and denominator are averaged apart: devices need not have the same number of series that count.
    value, count, grads = average_over_devices((value, count, grads), axis_name)
    return jax.tree.map(lambda x: x / jnp.where(count > 0, count, 1.0), (value, grads))


def make_total_gradient(
    config: Config, model: nn.Module
) -> Callable[[Params, Sample], tuple[jax.Array, jax.Array, Params]]:
    """Of a batch: the sum of the losses of its series, how many there are, and the gradient of that sum."""
    rooms = Capacity(config.training.point_capacity, config.training.query_capacity)
    loss = make_loss(model, config.training, rooms)
    frozen = frozen_parts(config.model)

    def of_series(params: Params, sample: Sample) -> tuple[jax.Array, jax.Array, Params]:
        trained, kept = split_params(params, frozen)

        def total(trained: Params) -> tuple[jax.Array, jax.Array]:
            mean = loss({**kept, **trained}, sample)
            return mean.total, mean.count

        (value, count), grads = jax.value_and_grad(total, has_aux=True)(trained)
        return value, count, grads

    def of_batch(params: Params, sample: Sample) -> tuple[jax.Array, jax.Array, Params]:
        masks = points_and_questions(model, sample)
        rounds = assign_microbatches([(mask, room) for mask, room in zip(masks, rooms) if mask is not None])
        add = lambda i, sums: jax.tree.map(jnp.add, sums, of_series(params, only(sample, rounds == i)))
        zeros = jax.tree.map(jnp.zeros_like, jax.eval_shape(of_series, params, sample))
        return jax.lax.fori_loop(0, jnp.max(rounds) + 1, add, zeros)

    return of_series if rooms == ALL_SLOTS else of_batch


def make_train_step(
    config: Config, model: nn.Module, groups: int, axis_name: str | None = None
) -> Callable[[TrainState], tuple[TrainState, Metrics]]:
    """The step that training repeats: draw, differentiate, update."""
    gradient, update = make_gradient(config, model, groups, axis_name), make_update(config)
    return lambda state: update(state, *gradient(state))


def make_update(config: Config) -> Callable[[TrainState, jax.Array, Params], tuple[TrainState, Metrics]]:
    """From a loss and its gradient to the next state.

    A step whose loss or gradient is not finite changes nothing but the counters: one bad batch must not cost a run.
    """
    optimizer, schedule = make_optimizer(config.training), make_schedule(config.training)
    frozen, decay = frozen_parts(config.model), config.training.average_decay

    def update(state: TrainState, loss: jax.Array, grads: Params) -> tuple[TrainState, Metrics]:
        norm = optax.tree.norm(grads)
        good = jnp.isfinite(loss) & jnp.isfinite(norm)
        trained, kept = split_params(state.params, frozen)

        updates, new_optimizer = optimizer.update(grads, state.optimizer, trained)
        new_trained = optax.apply_updates(trained, updates)
        new_trained, new_optimizer = _choose(good, (new_trained, new_optimizer), (trained, state.optimizer))
        average = state.average
        if average is not None:
            average = _choose(good, optax.incremental_update(new_trained, average, 1 - decay), average)

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

    return update


def _choose(condition: jax.Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def make_validation(
    config: Config, model: nn.Module, groups: int, at_once: int, axis_name: str | None = None
) -> Callable[[Params], Metrics]:
    """Metrics on the validation set: the same series every time, from a key that training never uses.

    At most `at_once` groups are drawn at a time, so that validating needs no more memory than training.
    """
    evaluate = make_evaluation(model, config.training)
    key = stream_key(config.training.seed, VALIDATION_STREAM)
    chunk = max(n for n in range(1, at_once + 1) if groups % n == 0)

    def validate(params: Params) -> Metrics:
        device = jax.lax.axis_index(axis_name) if axis_name else 0
        firsts = device * groups + jnp.arange(0, groups, chunk)
        parts = jax.lax.map(lambda first: evaluate(params, sample_groups(key, first, chunk, config.prior)), firsts)
        means = average_over_devices(jax.tree.map(jnp.sum, parts), axis_name)
        return {name: mean.value for name, mean in means.items()}

    return validate
