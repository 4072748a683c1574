"""FIM-l and FIM in PyTorch, built from fimjax's configs: what fimjax's speed is held against.

The networks are those of fimjax.models, parameter by parameter and name by name; the tests hold one against the other.
How they are computed is PyTorch's way: packed projections, its fused attention, and what several parts of a model need
is computed once. Nothing here imports JAX, so that a process that measures PyTorch has nothing else in it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.torch_layers import (
    DenseBlock,
    Projection,
    QueryDecoder,
    SummaryAttention,
    TransformerEncoder,
    apply_head,
)
from benchmarks.torch_windows import STATISTICS, Affine, Clock, Windows, fit_range, waves, window_statistics
from fimjax.config import FIMConfig, FIMLocalConfig, ModelConfig
from fimjax.config.errors import require

NARROWEST_WINDOW = 1e-3  # as in fimjax.models.fim
WAVES = 4  # as in fimjax.nn.queries


class FIMLocal(nn.Module):
    """FIM-l, the interpolator; see fimjax.models.fim_local."""

    def __init__(self, config: FIMLocalConfig):
        super().__init__()
        require(config.norm_first, "norm_first: the PyTorch models have their LayerNorms before the blocks")
        self.config = c = config
        width, outputs = c.width, max(1, len(c.quantile_levels))
        times = 1 + 2 * c.time_waves + (2 * c.season_harmonics + 1 if c.season_harmonics else 0)
        self.value_embedding, self.time_embedding = nn.Linear(1, width), nn.Linear(times, width)
        self.branch_encoder = TransformerEncoder(2 * width, c.layers, c.heads, c.feedforward)
        self.branch_mlp = DenseBlock(2 * width, width)
        self.summary = SummaryAttention(width, 1)
        if c.query_layers:
            self.query_decoder = QueryDecoder(times, 2 * width, c.query_layers, c.heads, c.feedforward, outputs)
            return
        self.trunk_embedding = nn.Linear(times, width)
        self.trunk_mlp = nn.Sequential(*(DenseBlock(width, width) for _ in range(c.trunk_layers)))
        self.projection = Projection(width, tuple(n * width for n in c.projection), outputs)

    def encode_points(self, values: Tensor, times: Tensor, mask: Tensor, phases: Tensor | None) -> Tensor:
        """values, times [B, T] in the unit square, mask [B, T], phases [B, T, F] -> [B, T, 2D]"""
        values, times = values.masked_fill(~mask, 0.0), times.masked_fill(~mask, 0.0)
        embedded = [self.value_embedding(values[..., None]), self.time_embedding(self.time_features(times, phases))]
        return self.branch_encoder(torch.cat(embedded, -1), mask)

    def summarise(self, points: Tensor, mask: Tensor) -> Tensor:
        """[B, T, 2D], [B, T] -> [B, D]"""
        return self.summary(self.branch_mlp(points), mask)

    def decode(self, h: Tensor, times: Tensor, phases: Tensor | None) -> Tensor:
        """h [B, D], times [B, Q] in the unit square, phases [B, Q, F] -> [B, Q, L]"""
        trunk = self.trunk_mlp(self.trunk_embedding(self.time_features(times, phases)))
        return apply_head(self.projection(h, trunk), self.config.quantile_levels)

    def decode_points(self, points: Tensor, mask: Tensor, times: Tensor, phases: Tensor | None) -> Tensor:
        """points [B, T, 2D], mask [B, T], times [B, Q] in the unit square, phases [B, Q, F] -> [B, Q, L]"""
        if not self.config.query_layers:
            return self.decode(self.summarise(points, mask), times, phases)
        raw = self.query_decoder(self.time_features(times, phases), points, mask)
        return apply_head(raw, self.config.quantile_levels)

    def forward(self, values: Tensor, times: Tensor, mask: Tensor, query_times: Tensor, clock: Clock) -> Tensor:
        """Interpolates windows [B, T] at query_times [B, Q] -> [B, Q, L], in the units of the values."""
        harmonics = self.config.season_harmonics
        times = times.masked_fill(~mask, 0.0)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        unit_square = value_map.normalise(values), time_map.normalise(times)
        points = self.encode_points(*unit_square, mask, clock.phases(times, harmonics))
        asked = time_map.normalise(query_times), clock.phases(query_times, harmonics)
        return value_map.invert(self.decode_points(points, mask, *asked))

    def time_features(self, times: Tensor, phases: Tensor | None) -> Tensor:
        """Time, its waves and the season's phases, as far as the config asks for them: [B, T] -> [B, T, F]."""
        features = [times[..., None]]
        if self.config.time_waves:
            features.append(waves(0.5 * times, self.config.time_waves))
        if phases is not None:
            features.append(phases)
        return torch.cat(features, -1)


@dataclass(frozen=True)
class Forecast:
    """The unseen window of B series, ready to be asked at any time; see fimjax.models.fim."""

    h: Tensor | None  # [B, D]
    points: Tensor  # [B, W, T, 2D]
    windows: Tensor  # [B, W, 2D]
    past: Windows
    value_map: Affine  # [B]
    periods: Affine  # [B, W], of the observed times of each window, in windows since the forecast origin


class FIM(nn.Module):
    """FIM, the forecaster; see fimjax.models.fim."""

    def __init__(self, config: FIMConfig):
        super().__init__()
        require(config.norm_first, "norm_first: the PyTorch models have their LayerNorms before the blocks")
        for name in ("positional_encoding", "learned_scale", "similarity_weight"):
            require(not getattr(config, name), f"{name}: the PyTorch models do without")
        self.config = c = config
        width = c.local.width
        self.local = FIMLocal(c.local).requires_grad_(not c.freeze_local)
        self.scale_embedding = nn.Linear(STATISTICS, width)
        self.window_encoder = TransformerEncoder(2 * width, c.layers, c.heads, c.feedforward)
        if c.query_layers:
            features = 2 + 2 * WAVES + (2 * c.local.season_harmonics + 1 if c.local.season_harmonics else 0)
            outputs = max(1, len(c.quantile_levels))
            self.query_decoder = QueryDecoder(features, 2 * width, c.query_layers, c.heads, c.feedforward, outputs)
        else:
            self.summary = SummaryAttention(2 * width, c.heads)
            self.extractor = nn.Sequential(
                DenseBlock(2 * width, 4 * width),
                nn.Linear(4 * width, 2 * width),
                nn.LeakyReLU(),
                nn.Linear(2 * width, width),
            )

    def encode(self, past: Windows) -> Forecast:
        """Reads the past of each series."""
        value_map = past.value_map()
        values, times = value_map.normalise(past.values), past.time_map().normalise(past.times)
        spans, periods = fit_range(values, past.mask), fit_range(times, past.mask)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.config.freeze_local):
            h, points = self.embed(values, times, spans, periods, past)
        statistics = window_statistics(values, times, past.mask, spans, periods)
        seen = past.mask.any(-1)
        encoded = self.window_encoder(torch.cat([h, self.scale_embedding(statistics)], -1), seen)
        summary = None if self.config.query_layers else self.extractor(self.summary(encoded, seen))
        return Forecast(summary, points, encoded, past, value_map, periods)

    def embed(
        self, values: Tensor, times: Tensor, spans: Affine, periods: Affine, past: Windows
    ) -> tuple[Tensor, Tensor]:
        """FIM-l's embedding of each window and of its points: [B, W, T] -> [B, W, D] and [B, W, T, 2D]."""
        count, mask = values.shape[1], past.mask.flatten(0, 1)
        spans = Affine(spans.shift, spans.scale.clamp(min=NARROWEST_WINDOW))
        phases = past.clock().phases(times, self.config.local.season_harmonics)
        unit_square = spans.normalise(values).flatten(0, 1), periods.normalise(times).flatten(0, 1)
        points = self.local.encode_points(*unit_square, mask, None if phases is None else phases.flatten(0, 1))
        h = self.local.summarise(points, mask)
        return h.unflatten(0, (-1, count)), points.unflatten(0, (-1, count))

    def decode(self, forecast: Forecast, query_times: Tensor) -> Tensor:
        """The unseen window at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        past, clock = forecast.past, forecast.past.clock()
        ahead = past.time_map().normalise(query_times)
        phases = clock.phases(ahead, self.config.local.season_harmonics)
        if not self.config.query_layers:
            out = self.local.decode(forecast.h, past.target_map().normalise(query_times), phases)
            return forecast.value_map.invert(out)
        steps = -clock.step.log()[:, None].expand_as(ahead)
        features = [ahead[..., None], steps[..., None], waves(ahead, WAVES)] + ([] if phases is None else [phases])
        memory = torch.cat([forecast.windows, (forecast.points + forecast.windows[:, :, None]).flatten(1, 2)], 1)
        mask = torch.cat([past.mask.any(-1), past.mask.flatten(1)], 1)
        out = apply_head(self.query_decoder(torch.cat(features, -1), memory, mask), self.config.quantile_levels)
        return forecast.value_map.invert(out)

    def interpolate(self, forecast: Forecast, query_times: Tensor) -> Tensor:
        """FIM-l's answer for the last seen windows, query_times [B, W', Q] -> [B, W', Q, L], in units of the series."""
        past, count = forecast.past, query_times.shape[1]
        values, mask, points = (x[:, -count:] for x in (past.values, past.mask, forecast.points))
        asked = past.time_map().normalise(query_times)
        phases = past.clock().phases(asked, self.config.local.season_harmonics)
        periods = Affine(forecast.periods.shift[:, -count:], forecast.periods.scale[:, -count:])
        fields = points, mask, periods.normalise(asked), phases
        out = self.local.decode_points(*(None if x is None else x.flatten(0, 1) for x in fields))
        return fit_range(values, mask).invert(out.unflatten(0, (-1, count)))

    def forward(self, past: Windows, query_times: Tensor) -> Tensor:
        """Forecasts each series at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        return self.decode(self.encode(past), query_times)


def build_model(config: ModelConfig) -> FIMLocal | FIM:
    """The module that a config describes."""
    return FIM(config) if isinstance(config, FIMConfig) else FIMLocal(config)
