"""A tiny config of every model that forecasts."""

import dataclasses

from fimjax.config import ChronosBoltConfig, GridModelConfig, ModelConfig, MQCNNConfig, NBEATSConfig, PatchTSTConfig
from tests.examples import FIM, LEVELS, QUANTILE_REPORT_FIM, REPORT_FIM

_SHARED = dict(context=24, horizon=8, quantile_levels=LEVELS)

GRID_MODELS: dict[str, GridModelConfig] = {
    "nbeats": NBEATSConfig(**_SHARED, stacks=2, blocks=2, width=16),
    "mqcnn": MQCNNConfig(
        **_SHARED, dilations=(1, 2, 4), channels=8, future_width=6, agnostic_width=10, specific_width=4
    ),
    "patchtst": PatchTSTConfig(**_SHARED, patch_size=6, stride=3, width=16, heads=2, layers=2, feedforward=24),
    "chronos_bolt": ChronosBoltConfig(
        **_SHARED, patch_size=5, width=16, heads=2, head_width=8, encoder_layers=2, decoder_layers=1, feedforward=24
    ),
}
SEASONAL_GRID_MODELS: dict[str, GridModelConfig] = {
    name: dataclasses.replace(config, season_harmonics=2, subtract_last_value=True)
    for name, config in GRID_MODELS.items()
}
FORECASTING_MODELS: dict[str, ModelConfig] = {
    "fim_report": REPORT_FIM,
    "fim_report_quantiles": QUANTILE_REPORT_FIM,
    "fim": FIM,
    # With all their optional inputs; the files of each model test the plain networks.
    **SEASONAL_GRID_MODELS,
}
