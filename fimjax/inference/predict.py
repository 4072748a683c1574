"""Predictions as pure functions of arrays: the forecaster compiles them, and an export contains one of them."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp

from fimjax.config import Config, FIMConfig, ModelConfig, ReportFIMConfig, WindowConfig
from fimjax.models import Params, build_model, interpolates
from fimjax.nn.season import SeasonPhase
from fimjax.nn.windows import split_windows

PredictFunction = Callable[..., jax.Array]
"""From (config, params, times, values, mask, window_steps, season, query_times, floor) to [B, Q, L]; the floor may be
left out."""


class InferenceConfig(NamedTuple):
    """All settings that a prediction depends on; hashable, because compiled functions take it as a static argument."""

    model: ModelConfig
    windows: WindowConfig

    def with_slots(self, slots: int) -> "InferenceConfig":
        """The same with smaller or larger windows: empty slots cost as much as full ones."""
        return self._replace(windows=replace(self.windows, slots=slots))


@functools.cache
def inference_config(config: Config) -> InferenceConfig:
    """The settings of a prediction, with room for all points of a window.

    FIM attends to points one by one, so it can read more of them than in training, and its forecasts improve
    (research/log.md). Networks on a grid get worse if steps are filled that were always empty in training.
    """
    found = InferenceConfig(config.model, config.windows)
    return found.with_slots(max(found.windows.slots, found.windows.max_steps)) if interpolates(config.model) else found


def forecast_windows(
    config: InferenceConfig,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    window_steps: jax.Array,
    season: jax.Array,
    query_times: jax.Array,
    floor: jax.Array | None = None,
) -> jax.Array:
    """Forecasts B series, each cut into the model's windows from its last observation backwards.

    Args:
        config, params: of a model that forecasts.
        times, values, mask: [B, T], times in regular steps, in any order; mask is True where observed.
        window_steps: [B], steps in each window, at least up to the last query time.
        season: [B], steps in a season, 1 = none or unknown.
        query_times: [B, Q], after the last observation.
        floor: [B], a bound that no value lies below, -inf if unknown; None if unknown for all.

    Returns:
        [B, Q, L], in the units of the series.
    """
    windows = split_windows(
        times,
        values,
        mask,
        steps=window_steps,
        step=jnp.ones(values.shape[0]),
        season=season,
        windows=config.windows.count - 1,
        slots=config.windows.slots,
        floor=floor,
    )
    model = build_model(config.model, config.windows.count)
    return cast(jax.Array, model.apply({"params": params}, windows, query_times))


def interpolate_window(
    config: InferenceConfig,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    window_steps: jax.Array,
    season: jax.Array,
    query_times: jax.Array,
    floor: jax.Array | None = None,
) -> jax.Array:
    """Interpolates B windows with the FIM-l inside a FIM.

    Args:
        window_steps, floor: not used; all others as of `forecast_windows`.

    Returns:
        [B, Q, L] at query times between the first and the last observation.
    """
    assert isinstance(config.model, FIMConfig | ReportFIMConfig), "only a FIM interpolates"
    local = build_model(config.model.local, config.windows.count)
    phase = SeasonPhase(jnp.zeros(values.shape[0]), jnp.ones(values.shape[0]), season)
    return cast(jax.Array, local.apply({"params": params["local"]}, values, times, mask, query_times, phase))


@functools.cache
def with_slopes(function: PredictFunction) -> PredictFunction:
    """The same function with the derivatives by query time behind its outputs: [B, Q, 2L].

    A query time has no influence on predictions at others, so one forward derivative gives all of them.
    """

    def sloped(config: InferenceConfig, params: Params, *arrays: jax.Array) -> jax.Array:
        history, query_times, floor = arrays[:5], arrays[5], arrays[6:]
        predict = lambda when: function(config, params, *history, when, *floor)
        return jnp.concatenate(jax.jvp(predict, (query_times,), (jnp.ones_like(query_times),)), axis=-1)

    return sloped
