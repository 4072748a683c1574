"""A model's answers as pure functions of arrays: what the forecaster compiles and what an artefact holds."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from fimjax.config import Config, FIMConfig
from fimjax.models import build_model
from fimjax.nn.season import SeasonPhase
from fimjax.nn.windows import split_windows

Params = dict[str, Any]

Program = Callable[..., jax.Array]
"""From (config, params, times, values, mask, steps, season, query_times, floor) to [B, Q, outputs]; the floor may be
left out."""


def mean_of_members(config: Config, params: Params, ask: Callable[[Params], jax.Array]) -> jax.Array:
    """The mean of what a model's members answer, one after the other; their parameters are stacked, [members, ...]."""
    if config.members == 1:
        return ask(params)
    return jnp.mean(jax.lax.map(ask, params), axis=0)


@functools.cache
def reading(config: Config) -> Config:
    """The config with the room that windows have when a model is asked, not trained.

    FIM attends to points one by one, so that it can read more of them than its training had room for, and forecasts the
    better for it (docs/accuracy.md). Networks on a grid are thrown by steps that were never filled in training.
    """
    if not isinstance(config.model, FIMConfig):
        return config
    slots = max(config.prior.slots, config.prior.max_window_steps)
    return dataclasses.replace(config, prior=dataclasses.replace(config.prior, slots=slots))


def forecast_windows(
    config: Config,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    steps: jax.Array,
    season: jax.Array,
    query_times: jax.Array,
    floor: jax.Array | None = None,
) -> jax.Array:
    """Forecasts B series, each cut into the model's windows from its last observation backwards.

    Args:
        config, params: a FIM, or another model that forecasts; windows have room for `prior.slots` points each. The
            parameters of several members are stacked.
        times, values, mask: [B, N], times in regular steps, in any order.
        steps: [B], steps that each window lasts, at least up to the last query time.
        season: [B], season length in steps, 1 = none or unknown.
        query_times: [B, Q], after the last observation.
        floor: [B], below which no value lies, -inf if it is unknown; None for all unknown.

    Returns:
        [B, Q, L], in the units of the series.
    """
    windows = split_windows(
        times,
        values,
        mask,
        steps=steps,
        step=jnp.ones(values.shape[0]),
        season=season,
        windows=config.prior.windows - 1,
        slots=config.prior.slots,
        floor=floor,
    )
    model = build_model(config.model)
    return mean_of_members(config, params, lambda member: model.apply({"params": member}, windows, query_times))


def interpolate_window(
    config: Config,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    steps: jax.Array,
    season: jax.Array,
    query_times: jax.Array,
    floor: jax.Array | None = None,
) -> jax.Array:
    """Interpolates B windows with the FIM-l inside a FIM; arguments as of `forecast_windows`, `steps` and `floor` being
    unused.

    Returns:
        [B, Q, L] at query times between the first and the last observation.
    """
    local = build_model(config.model.local)
    clock = SeasonPhase(jnp.zeros(values.shape[0]), jnp.ones(values.shape[0]), season)
    ask = lambda member: local.apply({"params": member["local"]}, values, times, mask, query_times, clock)
    return mean_of_members(config, params, ask)


@functools.cache
def with_slopes(program: Program) -> Program:
    """The same program with the derivative of each output by its query time after the outputs: [B, Q, 2L].

    A query time has no influence on the answer at another, so one forward derivative tells all of them.
    """

    def sloping(config: Config, params: Params, *arrays: jax.Array) -> jax.Array:
        past, query_times, floor = arrays[:5], arrays[5], arrays[6:]
        ask = lambda when: program(config, params, *past, when, *floor)
        return jnp.concatenate(jax.jvp(ask, (query_times,), (jnp.ones_like(query_times),)), axis=-1)

    return sloping
