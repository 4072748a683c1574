"""FIM-l and FIM in PyTorch, built from fimjax's configs: what fimjax's speed is held against.

The networks are those of fimjax.models, parameter by parameter and name by name; the tests hold one against the other.
How they are computed is PyTorch's way: packed projections, its fused attention, and what several parts of a model need
is computed once. Nothing here imports JAX, so that a process that measures PyTorch has nothing else in it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.torch_layers import (
    DenseBlock,
    Projection,
    QueryDecoder,
    SummaryAttention,
    TransformerEncoder,
    apply_quantile_head,
)
from benchmarks.torch_polynomials import FITS, local_polynomials, typical_misses
from benchmarks.torch_windows import (
    STATISTICS,
    Affine,
    SeasonPhase,
    Windows,
    expand,
    fit_range,
    waves,
    window_statistics,
)
from fimjax.config import FIMConfig, FIMLocalConfig, ModelConfig
from fimjax.config.checks import require

NARROWEST_WINDOW = 1e-3  # as in fimjax.models.fim
WAVES = 4  # as in fimjax.nn.query_decoder


class Known(NamedTuple):
    """The points of B windows, in the unit square."""

    values: Tensor  # [B, T], zeros where nothing was observed, like the times
    times: Tensor  # [B, T]
    mask: Tensor  # [B, T]


def to_unit_square(values: Tensor, times: Tensor, mask: Tensor, value_map: Affine, time_map: Affine) -> Known:
    """Points [..., T] by the maps [...] of their windows, windows folded into one axis."""
    maps = (value_map, values), (time_map, times)
    normalised = (affine.normalise(x).masked_fill(~mask, 0.0) for affine, x in maps)
    return Known(*(x.flatten(0, -2) for x in (*normalised, mask)))


class FIMLocal(nn.Module):
    """FIM-l, the interpolator; see fimjax.models.fim_local."""

    def __init__(self, config: FIMLocalConfig):
        super().__init__()
        require(config.norm_first, "norm_first: the PyTorch models have their LayerNorms before the blocks")
        self.config = c = config
        width = c.width
        times = 1 + 2 * c.time_waves + (2 * c.season_harmonics + 1 if c.season_harmonics else 0)
        self.value_embedding, self.time_embedding = nn.Linear(1, width), nn.Linear(times, width)
        self.branch_encoder = TransformerEncoder(2 * width, c.layers, c.heads, c.feedforward)
        self.branch_mlp = DenseBlock(2 * width, width)
        self.summary = SummaryAttention(width, 1)
        if c.query_layers:
            guesses = len(FITS) if c.polynomials else 0
            sizes = times + 2 * guesses, 2 * width, c.query_layers, c.heads, c.feedforward
            self.query_decoder = QueryDecoder(*sizes, c.quantile_levels, guesses=guesses)
            return
        self.trunk_embedding = nn.Linear(times, width)
        self.trunk_mlp = nn.Sequential(*(DenseBlock(width, width) for _ in range(c.trunk_layers)))
        self.projection = Projection(width, tuple(n * width for n in c.projection), max(1, len(c.quantile_levels)))

    def encode_points(self, known: Known, phases: Tensor | None) -> Tensor:
        """Points of B windows, phases [B, T, F] -> [B, T, 2D]"""
        of_times = self.time_embedding(self.time_features(known.times, phases))
        embedded = [self.value_embedding(known.values[..., None]), of_times]
        return self.branch_encoder(torch.cat(embedded, -1), known.mask)

    def summarise(self, points: Tensor, mask: Tensor) -> Tensor:
        """[B, T, 2D], [B, T] -> [B, D]"""
        return self.summary(self.branch_mlp(points), mask)

    def decode(self, h: Tensor, times: Tensor, phases: Tensor | None) -> Tensor:
        """h [B, D], times [B, Q] in the unit square, phases [B, Q, F] -> [B, Q, L]"""
        trunk = self.trunk_mlp(self.trunk_embedding(self.time_features(times, phases)))
        return apply_quantile_head(self.projection(h, trunk), self.config.quantile_levels)

    def decode_points(self, points: Tensor, known: Known, times: Tensor, phases: Tensor | None) -> Tensor:
        """points [B, T, 2D] that encode known ones, times [B, Q] in the unit square, phases [B, Q, F] -> [B, Q, L]"""
        if not self.config.query_layers:
            return self.decode(self.summarise(points, known.mask), times, phases)
        features = self.time_features(times, phases)
        if not self.config.polynomials:
            return self.query_decoder(features, points, known.mask)
        guesses, misses = local_polynomials(times, *known), typical_misses(*known)
        features = torch.cat([features, guesses, misses.log()[:, None].expand_as(guesses)], -1)
        return self.query_decoder(features, points, known.mask, guesses=guesses, unit=misses.amin(-1))

    def forward(self, values: Tensor, times: Tensor, mask: Tensor, query_times: Tensor, clock: SeasonPhase) -> Tensor:
        """Interpolates windows [B, T] at query_times [B, Q] -> [B, Q, L], in the units of the values."""
        harmonics = self.config.season_harmonics
        times = times.masked_fill(~mask, 0.0)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        known = to_unit_square(values, times, mask, value_map, time_map)
        points = self.encode_points(known, clock.phases(times, harmonics))
        asked = time_map.normalise(query_times), clock.phases(query_times, harmonics)
        return value_map.invert(self.decode_points(points, known, *asked))

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
    values: Tensor  # [B, W, T], in units of the series, zeros where nothing was observed
    times: Tensor  # [B, W, T], in windows since the forecast origin
    phases: Tensor | None  # [B, W, T, F], of the season at these times
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
            sizes = features, 2 * width, c.query_layers, c.heads, c.feedforward
            self.query_decoder = QueryDecoder(*sizes, c.quantile_levels, c.anchor_heads, pinned=1)
            if c.placed_points:
                self.point_embedding = nn.Linear(1 + features, 2 * width)
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
        values = value_map.normalise(past.values).masked_fill(~past.mask, 0.0)
        times = past.time_map().normalise(past.times).masked_fill(~past.mask, 0.0)
        phases = past.clock().phases(times, self.config.local.season_harmonics)
        spans, periods = fit_range(values, past.mask), fit_range(times, past.mask)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.config.freeze_local):
            h, points = self.embed(values, times, phases, spans, periods, past.mask)
        statistics = window_statistics(values, times, past.mask, spans, periods)
        seen = past.mask.any(-1)
        encoded = self.window_encoder(torch.cat([h, self.scale_embedding(statistics)], -1), seen)
        summary = None if self.config.query_layers else self.extractor(self.summary(encoded, seen))
        return Forecast(summary, points, encoded, past, values, times, phases, value_map, periods)

    def embed(
        self, values: Tensor, times: Tensor, phases: Tensor | None, spans: Affine, periods: Affine, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """FIM-l's embedding of each window and of its points: [B, W, T] -> [B, W, D] and [B, W, T, 2D]."""
        count = values.shape[1]
        spans = Affine(spans.shift, spans.scale.clamp(min=NARROWEST_WINDOW))
        known = to_unit_square(values, times, mask, spans, periods)
        points = self.local.encode_points(known, None if phases is None else phases.flatten(0, 1))
        h = self.local.summarise(points, known.mask)
        return h.unflatten(0, (-1, count)), points.unflatten(0, (-1, count))

    def decode(self, forecast: Forecast, query_times: Tensor) -> Tensor:
        """The unseen window at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        past, clock = forecast.past, forecast.past.clock()
        ahead = past.time_map().normalise(query_times)
        phases = clock.phases(ahead, self.config.local.season_harmonics)
        if not self.config.query_layers:
            out = self.local.decode(forecast.h, past.target_map().normalise(query_times), phases)
            return forecast.value_map.invert(out)
        features, mask = query_features(ahead, clock, phases), beside(past.mask.any(-1), past.mask)
        anchored = (observed_values(forecast), last_value(forecast)[:, None]) if self.config.anchor_heads else ()
        out = self.query_decoder(features, self.build_memory(forecast), mask, *anchored)
        return forecast.value_map.invert(out)

    def build_memory(self, forecast: Forecast) -> Tensor:
        """The windows, and every point together with its window and its place: [B, W + W * T, 2D]."""
        placed = forecast.points + forecast.windows[:, :, None]
        if self.config.placed_points:
            when = query_features(forecast.times, forecast.past.clock(), forecast.phases)
            placed = placed + self.point_embedding(torch.cat([forecast.values[..., None], when], -1))
        return beside(forecast.windows, placed)

    def interpolate(self, forecast: Forecast, query_times: Tensor) -> Tensor:
        """FIM-l's answer for the last seen windows, query_times [B, W', Q] -> [B, W', Q, L], in units of the series."""
        past, count = forecast.past, query_times.shape[1]
        fields = past.values, forecast.times, past.mask, forecast.points
        values, times, mask, points = (x[:, -count:] for x in fields)
        asked = past.time_map().normalise(query_times)
        phases = past.clock().phases(asked, self.config.local.season_harmonics)
        periods = Affine(forecast.periods.shift[:, -count:], forecast.periods.scale[:, -count:])
        value_map = fit_range(values, mask)
        known = to_unit_square(values, times, mask, value_map, periods)
        points, asked = points.flatten(0, 1), periods.normalise(asked).flatten(0, 1)
        out = self.local.decode_points(points, known, asked, None if phases is None else phases.flatten(0, 1))
        return value_map.invert(out.unflatten(0, (-1, count)))

    def forward(self, past: Windows, query_times: Tensor) -> Tensor:
        """Forecasts each series at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        return self.decode(self.encode(past), query_times)


def query_features(ahead: Tensor, clock: SeasonPhase, phases: Tensor | None) -> Tensor:
    """What is known of a time before any value is: [B, ...] and phases [B, ..., F'] -> [B, ..., F]."""
    steps = expand(-clock.step.log(), ahead).expand_as(ahead)
    features = [ahead[..., None], steps[..., None], waves(ahead, WAVES)]
    return torch.cat(features if phases is None else [*features, phases], -1)


def observed_values(forecast: Forecast) -> Tensor:
    """The mean of each window, and every point, in units of the series: [B, W + W * T]."""
    means = forecast.values.sum(-1) / forecast.past.mask.sum(-1).clamp(min=1)
    return beside(means, forecast.values)


def last_value(forecast: Forecast) -> Tensor:
    """The newest observation [B], in units of the series."""
    newest = forecast.times.masked_fill(~forecast.past.mask, -math.inf).flatten(1).argmax(-1, keepdim=True)
    return forecast.values.flatten(1).gather(-1, newest)[:, 0]


def beside(of_windows: Tensor, of_points: Tensor) -> Tensor:
    """[B, W, ...] and [B, W, T, ...] -> [B, W + W * T, ...]"""
    return torch.cat([of_windows, of_points.flatten(1, 2)], 1)


def build_model(config: ModelConfig) -> FIMLocal | FIM:
    """The module that a config describes."""
    return FIM(config) if isinstance(config, FIMConfig) else FIMLocal(config)
