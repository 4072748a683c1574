"""The lab report's FIM-l and FIM in PyTorch, built from fimjax's configs: the reference for fimjax's speed.

The networks have the parameters of fimjax.models under the same names, and the tests check that both compute the same.
They are written the way PyTorch is fast: packed projections and fused attention. Attention and encoder layers are
written out because `nn.TransformerEncoder` is slower (it copies tokens into another layout and back) and returns NaN
for a window without observations. Nothing here imports JAX, so a process that measures PyTorch contains nothing else.
"""

import functools
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fimjax.config import ModelConfig, ReportFIMConfig, ReportFIMLocalConfig
from fimjax.config.checks import require

LayerNorm = functools.partial(nn.LayerNorm, eps=1e-6)  # Flax's epsilon
MIN_WINDOW_RANGE = 1e-3  # as in fimjax.models
STATISTICS, CLIP = 9, 10.0  # as in fimjax.nn.windows


def expand(x: Tensor, like: Tensor) -> Tensor:
    """Appends axes of length one to x until it has as many axes as `like`."""
    return x.reshape(x.shape + (1,) * (like.ndim - x.ndim))


@dataclass(frozen=True)
class Affine:
    """x -> (x - shift) / scale, with one shift and scale per leading index; the scale of constants is 0."""

    shift: Tensor
    scale: Tensor

    def normalise(self, x: Tensor) -> Tensor:
        divisor = torch.where(self.scale > 0, self.scale, 1.0)
        return (x - expand(self.shift, x)) / expand(divisor, x)

    def invert(self, z: Tensor) -> Tensor:
        return expand(self.shift, z) + expand(self.scale, z) * z


def fit_range(x: Tensor, mask: Tensor) -> Affine:
    """Maps the observed minimum to 0 and the maximum to 1: [..., T], [..., T] -> [...]; zeros without observations."""
    lowest = x.masked_fill(~mask, math.inf).amin(-1)
    highest = x.masked_fill(~mask, -math.inf).amax(-1)
    some = mask.any(-1)
    return Affine(torch.where(some, lowest, 0.0), torch.where(some, highest - lowest, 0.0))


def fit_moments(x: Tensor, mask: Tensor) -> Affine:
    """Maps observed values to mean 0 and standard deviation 1: [B, N], [B, N] -> [B]."""
    unit = fit_range(x, mask)
    inside = unit.normalise(x).masked_fill(~mask, 0.0)
    count = mask.sum(-1).clamp(min=1)
    mean = inside.sum(-1) / count
    deviation = (inside - mean[:, None]).masked_fill(~mask, 0.0)
    return Affine(unit.invert(mean), unit.scale * (deviation.square().sum(-1) / count).sqrt())


@dataclass(frozen=True)
class Windows:
    """The past of B series in W windows of T slots, as in fimjax.nn.windows."""

    values: Tensor  # [B, W, T], zero where not observed
    times: Tensor  # [B, W, T], zero where not observed
    mask: Tensor  # [B, W, T], True = observed
    origin: Tensor  # [B]
    duration: Tensor  # [B]
    steps: Tensor  # [B]

    def value_map(self) -> Affine:
        """Mean 0 and standard deviation 1 over all observations of a series."""
        return fit_moments(self.values.flatten(1), self.mask.flatten(1))

    def time_map(self) -> Affine:
        """Time in windows since the forecast origin."""
        return Affine(self.origin, self.duration)

    def target_map(self) -> Affine:
        """The unit interval of the target window, from its first step to its last."""
        first = torch.where(self.steps > 1, self.duration / self.steps, 0.0)
        return Affine(self.origin + first, self.duration - first)


def window_statistics(values: Tensor, times: Tensor, mask: Tensor, spans: Affine, periods: Affine) -> Tensor:
    """The nine statistics of each window, [B, W, T] -> [B, W, 9]; see fimjax.nn.windows."""
    first = values.gather(-1, times.masked_fill(~mask, math.inf).argmin(-1, keepdim=True))[..., 0]
    last = values.gather(-1, times.masked_fill(~mask, -math.inf).argmax(-1, keepdim=True))[..., 0]
    of_values = [spans.shift, spans.shift + spans.scale, spans.scale, first, last, last - first]
    of_times = [periods.shift, periods.shift + periods.scale, periods.scale]
    statistics = torch.cat([torch.stack(of_values, -1).clamp(-CLIP, CLIP), torch.stack(of_times, -1)], -1)
    return statistics.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def split_heads(x: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Splits a packed projection: [B, T, parts * N * D] -> parts times [B, N, T, D]."""
    return x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """[B, N, Q, D], twice [B, N, T, D], [B, T] -> [B, Q, N * D]; zeros where the mask hides all tokens."""
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
    return out.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Self-attention with one product for its three projections."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask [B, T] -> [B, T, D]"""
        return self.out(attend(*split_heads(self.query_key_value(x), 3, self.heads), mask))


class CrossAttention(nn.Module):
    """Attention from queries to tokens; queries that all sets share are projected once."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """queries [B or 1, Q, D], tokens [B, T, D], mask [B, T] -> [B, Q, D]"""
        (query,) = split_heads(self.query(queries), 1, self.heads)
        key, value = split_heads(self.key_value(tokens), 2, self.heads)
        return self.out(attend(query.expand(len(tokens), -1, -1, -1), key, value, mask))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm before it."""

    def __init__(self, width: int, heads: int, feedforward: int):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm_attention, self.norm_feedforward = LayerNorm(width), LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, feedforward * width), nn.Linear(feedforward * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x), mask)
        return x + self.narrow(F.relu(self.widen(self.norm_feedforward(x))))


class TransformerEncoder(nn.Module):
    """Encoder layers with a LayerNorm at the end."""

    def __init__(self, width: int, layers: int, heads: int, feedforward: int):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(width, heads, feedforward) for _ in range(layers))
        self.norm = LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask [B, T] -> [B, T, D]"""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class SummaryAttention(nn.Module):
    """One learnable query attends to all observed tokens."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.query = nn.Parameter(0.02 * torch.randn(1, width))
        self.attention = CrossAttention(width, heads)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens [B, T, D], mask [B, T] -> [B, D]"""
        return self.attention(self.query[None], tokens, mask)[:, 0]


class DenseBlock(nn.Module):
    """Linear without bias, LeakyReLU, LayerNorm."""

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.linear, self.norm = nn.Linear(inputs, width, bias=False), LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(F.leaky_relu(self.linear(x)))


class Projection(nn.Module):
    """phi_7, from (summary, trunk) to the outputs; a LayerNorm follows the first and the third layer."""

    def __init__(self, width: int, hidden: tuple[int, ...], outputs: int):
        super().__init__()
        self.from_summary = nn.Linear(width, hidden[0], bias=False)
        self.from_trunk = nn.Linear(width, hidden[0], bias=False)
        self.norm = LayerNorm(hidden[0])
        pairs = enumerate(zip(hidden, hidden[1:]), start=1)
        layers = [DenseBlock(a, b) if i == 2 else nn.Sequential(nn.Linear(a, b), nn.LeakyReLU()) for i, (a, b) in pairs]
        self.hidden = nn.Sequential(*layers)
        self.outputs = nn.Linear(hidden[-1], outputs)

    def forward(self, summary: Tensor, trunk: Tensor) -> Tensor:
        """summary [B, D], trunk [B, Q, D] -> [B, Q, L]"""
        x = self.from_summary(summary)[:, None] + self.from_trunk(trunk)
        return self.outputs(self.hidden(self.norm(F.leaky_relu(x))))


def apply_quantile_head(raw: Tensor, levels: tuple[float, ...]) -> Tensor:
    """Returns a value as it is, or quantiles that increase with their level: [..., L] -> [..., L]."""
    if not levels:
        return raw
    middle = min(range(len(levels)), key=lambda i: abs(levels[i] - 0.5))
    below, median, above = raw.split([middle, 1, len(levels) - middle - 1], -1)
    falls = F.softplus(below).flip(-1).cumsum(-1).flip(-1)
    return torch.cat([median - falls, median, median + F.softplus(above).cumsum(-1)], -1)


class FIMLocal(nn.Module):
    """FIM-l, the interpolator of the lab report."""

    def __init__(self, config: ReportFIMLocalConfig):
        super().__init__()
        self.config = c = config
        width = c.width
        self.value_embedding, self.time_embedding = nn.Linear(1, width), nn.Linear(1, width)
        self.branch_encoder = TransformerEncoder(2 * width, c.layers, c.heads, c.feedforward)
        self.branch_mlp = DenseBlock(2 * width, width)
        self.summary = SummaryAttention(width, 1)
        self.trunk_embedding = nn.Linear(1, width)
        self.trunk_mlp = nn.Sequential(*(DenseBlock(width, width) for _ in range(c.trunk_layers)))
        self.projection = Projection(width, tuple(n * width for n in c.projection), max(1, len(c.quantile_levels)))

    def encode(self, values: Tensor, times: Tensor, mask: Tensor, value_map: Affine, time_map: Affine) -> Tensor:
        """The summary of each window: points [..., T] and maps [...] to the unit square -> [N, D]."""
        maps = (value_map, values), (time_map, times)
        values, times = (m.normalise(x).masked_fill(~mask, 0.0).flatten(0, -2)[..., None] for m, x in maps)
        mask = mask.flatten(0, -2)
        points = self.branch_encoder(torch.cat([self.value_embedding(values), self.time_embedding(times)], -1), mask)
        return self.summary(self.branch_mlp(points), mask)

    def decode(self, summary: Tensor, times: Tensor) -> Tensor:
        """summary [B, D], times [B, Q] in the unit square -> [B, Q, L]"""
        trunk = self.trunk_mlp(self.trunk_embedding(times[..., None]))
        return apply_quantile_head(self.projection(summary, trunk), self.config.quantile_levels)

    def forward(self, values: Tensor, times: Tensor, mask: Tensor, query_times: Tensor) -> Tensor:
        """Interpolates windows [B, T] at query_times [B, Q] -> [B, Q, L], in the units of the values."""
        times = times.masked_fill(~mask, 0.0)
        value_map, time_map = fit_range(values, mask), fit_range(times, mask)
        summary = self.encode(values, times, mask, value_map, time_map)
        return value_map.invert(self.decode(summary, time_map.normalise(query_times)))


class FIM(nn.Module):
    """FIM, the forecaster of the lab report."""

    def __init__(self, config: ReportFIMConfig):
        super().__init__()
        for name in ("positional_encoding", "learned_scale", "similarity_weight"):
            require(not getattr(config, name), f"{name}: the PyTorch models do not have it")
        self.config = c = config
        width = c.local.width
        self.local = FIMLocal(c.local).requires_grad_(False)
        self.scale_embedding = nn.Linear(STATISTICS, width)
        self.window_encoder = TransformerEncoder(2 * width, c.layers, c.heads, c.feedforward)
        self.summary = SummaryAttention(2 * width, c.heads)
        self.extractor = nn.Sequential(
            DenseBlock(2 * width, 4 * width),
            nn.Linear(4 * width, 2 * width),
            nn.LeakyReLU(),
            nn.Linear(2 * width, width),
        )

    def forward(self, past: Windows, query_times: Tensor) -> Tensor:
        """Forecasts each series at query_times [B, Q] -> [B, Q, L], in the units of the series."""
        value_map = past.value_map()
        values = value_map.normalise(past.values).masked_fill(~past.mask, 0.0)
        times = past.time_map().normalise(past.times).masked_fill(~past.mask, 0.0)
        spans, periods = fit_range(values, past.mask), fit_range(times, past.mask)
        with torch.no_grad():  # FIM-l is frozen
            wide = Affine(spans.shift, spans.scale.clamp(min=MIN_WINDOW_RANGE))
            windows = self.local.encode(values, times, past.mask, wide, periods).unflatten(0, past.mask.shape[:2])
        statistics = window_statistics(values, times, past.mask, spans, periods)
        observed = past.mask.any(-1)
        encoded = self.window_encoder(torch.cat([windows, self.scale_embedding(statistics)], -1), observed)
        target = self.extractor(self.summary(encoded, observed))
        return value_map.invert(self.local.decode(target, past.target_map().normalise(query_times)))


def build_model(config: ModelConfig) -> FIMLocal | FIM:
    """Builds the module of a config."""
    return FIM(config) if isinstance(config, ReportFIMConfig) else FIMLocal(config)
