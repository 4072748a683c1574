"""The windowed view of series in PyTorch: scaling, seasons and statistics, as in fimjax.nn."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

STATISTICS, CLIP = 9, 10.0  # as in fimjax.nn.statistics


def expand(x: Tensor, like: Tensor) -> Tensor:
    """x with trailing axes of one, until it has as many as `like`."""
    return x.reshape(x.shape + (1,) * (like.ndim - x.ndim))


@dataclass(frozen=True)
class Affine:
    """x -> (x - shift) / scale, one shift and one scale for each leading index; a scale of 0 is that of a constant."""

    shift: Tensor
    scale: Tensor

    def normalise(self, x: Tensor) -> Tensor:
        divisor = torch.where(self.scale > 0, self.scale, 1.0)
        return (x - expand(self.shift, x)) / expand(divisor, x)

    def invert(self, z: Tensor) -> Tensor:
        return expand(self.shift, z) + expand(self.scale, z) * z


def fit_range(x: Tensor, mask: Tensor) -> Affine:
    """Takes the observed minimum to 0 and the maximum to 1: [..., T], [..., T] -> [...]; zeros if nothing is there."""
    lowest = x.masked_fill(~mask, math.inf).amin(-1)
    highest = x.masked_fill(~mask, -math.inf).amax(-1)
    some = mask.any(-1)
    return Affine(torch.where(some, lowest, 0.0), torch.where(some, highest - lowest, 0.0))


def fit_moments(x: Tensor, mask: Tensor) -> Affine:
    """Gives the observed points mean 0 and deviation 1: [B, N], [B, N] -> [B]."""
    unit = fit_range(x, mask)
    inside = unit.normalise(x).masked_fill(~mask, 0.0)
    count = mask.sum(-1).clamp(min=1)
    mean = inside.sum(-1) / count
    deviation = (inside - mean[:, None]).masked_fill(~mask, 0.0)
    return Affine(unit.invert(mean), unit.scale * (deviation.square().sum(-1) / count).sqrt())


def waves(turns: Tensor, count: int) -> Tensor:
    """Sines and cosines of the first multiples of an angle, given in turns: [...] -> [..., 2 * count]."""
    angles = (2 * math.pi * turns)[..., None] * torch.arange(1, count + 1, dtype=turns.dtype)
    return torch.cat([angles.sin(), angles.cos()], -1)


@dataclass(frozen=True)
class SeasonPhase:
    """What turns a time into a phase of the season; fields are [B]."""

    origin: Tensor
    step: Tensor
    season: Tensor

    def phases(self, times: Tensor, harmonics: int) -> Tensor | None:
        """[B, ...] -> [B, ..., 2 * harmonics + 1], zeros for series without a season; None without harmonics."""
        if harmonics == 0:
            return None
        season = expand(self.season.to(times.dtype), times)
        turns = torch.remainder((times - expand(self.origin, times)) / expand(self.step, times), season) / season
        length = season.log().expand_as(times)[..., None]
        return torch.cat([waves(turns, harmonics), length], -1).masked_fill(season[..., None] <= 1, 0.0)


@dataclass(frozen=True)
class Windows:
    """The past of B series in W windows of T slots, as in fimjax.nn.windows."""

    values: Tensor  # [B, W, T], zero where nothing was observed
    times: Tensor  # [B, W, T], likewise
    mask: Tensor  # [B, W, T], True = observed
    origin: Tensor  # [B]
    duration: Tensor  # [B]
    steps: Tensor  # [B]
    season: Tensor  # [B]

    def value_map(self) -> Affine:
        """Mean 0 and deviation 1 over all that was observed of a series."""
        return fit_moments(self.values.flatten(1), self.mask.flatten(1))

    def time_map(self) -> Affine:
        """Time in windows since the forecast origin."""
        return Affine(self.origin, self.duration)

    def target_map(self) -> Affine:
        """The unit interval of the unseen window, from its first step to its last."""
        first = torch.where(self.steps > 1, self.duration / self.steps, 0.0)
        return Affine(self.origin + first, self.duration - first)

    def clock(self) -> SeasonPhase:
        """The season in windows since the forecast origin."""
        return SeasonPhase(torch.zeros_like(self.duration), 1 / self.steps, self.season)


def window_statistics(values: Tensor, times: Tensor, mask: Tensor, spans: Affine, periods: Affine) -> Tensor:
    """The nine statistics of each window, [B, W, T] -> [B, W, 9]; see fimjax.nn.statistics."""
    first = values.gather(-1, times.masked_fill(~mask, math.inf).argmin(-1, keepdim=True))[..., 0]
    last = values.gather(-1, times.masked_fill(~mask, -math.inf).argmax(-1, keepdim=True))[..., 0]
    of_values = [spans.shift, spans.shift + spans.scale, spans.scale, first, last, last - first]
    of_times = [periods.shift, periods.shift + periods.scale, periods.scale]
    statistics = torch.cat([torch.stack(of_values, -1).clamp(-CLIP, CLIP), torch.stack(of_times, -1)], -1)
    return statistics.masked_fill(~mask.any(-1, keepdim=True), 0.0)
