"""The forecast as one pure function of arrays: what the forecaster compiles and what an artefact holds."""

from typing import Any

import jax
import jax.numpy as jnp

from fimjax.config import Config
from fimjax.models import build_model
from fimjax.nn.windows import split_windows

Params = dict[str, Any]


def forecast_windows(
    config: Config,
    params: Params,
    times: jax.Array,
    values: jax.Array,
    mask: jax.Array,
    steps: jax.Array,
    season: jax.Array,
    query_times: jax.Array,
) -> jax.Array:
    """Forecasts B series, each cut into the model's windows from its last observation backwards.

    Args:
        config, params: a FIM.
        times, values, mask: [B, N], times in regular steps, in any order.
        steps: [B], steps that each window lasts, at least up to the last query time.
        season: [B], season length in steps, 1 = none or unknown.
        query_times: [B, Q], after the last observation.

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
        windows=config.model.windows - 1,
        slots=config.prior.slots,
    )
    return build_model(config.model).apply({"params": params}, windows, query_times)
