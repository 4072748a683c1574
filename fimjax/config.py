"""Every number that a run depends on, as frozen dataclasses. Imports nothing of fimjax."""

import dataclasses
import math
import typing
from dataclasses import dataclass, field
from typing import Any, Literal


class ConfigError(ValueError):
    """A setting that cannot work; the message names its key."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _require_levels(levels: tuple[float, ...], key: str) -> None:
    inside = all(0.0 < level < 1.0 for level in levels)
    rising = all(a < b for a, b in zip(levels, levels[1:]))
    _require(inside and rising, f"{key}: levels must rise strictly inside (0, 1), not {levels}")


@dataclass(frozen=True)
class FIMLocalConfig:
    """FIM-l, the neural interpolation operator (lab report, table 2)."""

    width: int = 256
    """d, the width of each embedding; the branch encoder is twice as wide."""
    heads: int = 4
    """Attention heads of the branch encoder psi_0."""
    layers: int = 6
    """Layers of the branch encoder psi_0."""
    feedforward: int = 4
    """Hidden width of each transformer feed-forward block, in multiples of the encoder's width."""
    norm_first: bool = True
    """LayerNorm before each block (stable without a long warm-up), or after it as in PyTorch's default."""
    trunk_layers: int = 4
    """Layers of the trunk MLP phi_5."""
    projection: tuple[int, ...] = (4, 4, 4, 1)
    """Hidden widths of the projection phi_7, in multiples of d."""
    quantile_levels: tuple[float, ...] = ()
    """Levels of the quantile head; empty for the paper's value head."""
    query_layers: int = 0
    """Layers in which query times attend to the encoded points; 0 leads through one summary, trunk and projection."""
    time_waves: int = 0
    """Sines and cosines of time, of 1/2, 1, 3/2, ... periods in a window, beside time itself; 0 as in the paper."""
    season_harmonics: int = 0
    """Harmonics of the season's phase given as time features; 0 leaves the season unused, as in the paper."""

    def __post_init__(self):
        _require(
            min(self.width, self.heads, self.feedforward) > 0 and self.layers >= 0,
            "width, heads, feedforward: must be positive",
        )
        _require(
            (2 * self.width) % self.heads == 0,
            f"heads: {self.heads} does not divide the branch encoder's width {2 * self.width}",
        )
        _require(self.trunk_layers >= 1, "trunk_layers: at least 1 is needed")
        _require(min(self.projection, default=0) > 0, "projection: at least one hidden layer is needed")
        _require(self.query_layers >= 0, "query_layers: must not be negative")
        _require(self.time_waves >= 0, "time_waves: must not be negative")
        _require(self.season_harmonics >= 0, "season_harmonics: must not be negative")
        _require_levels(self.quantile_levels, "quantile_levels")


@dataclass(frozen=True)
class FIMConfig:
    """FIM, the forecaster on top of FIM-l (lab report, table 3)."""

    local: FIMLocalConfig = field(default_factory=FIMLocalConfig)
    """The FIM-l that encodes each window and decodes the unseen one."""
    windows: int = 5
    """K: windows in all, of which K - 1 are seen."""
    heads: int = 8
    """Attention heads of the window encoder psi_1 and of the summary lambda_1."""
    layers: int = 8
    """Layers of the window encoder psi_1."""
    feedforward: int = 4
    """Hidden width of each transformer feed-forward block, in multiples of the encoder's width."""
    norm_first: bool = True
    """LayerNorm before each block, or after it as in PyTorch's default."""
    positional_encoding: bool = False
    """Add a learned encoding of the window's position to psi_1's output (report, section 8.1)."""
    similarity_weight: float = 0.0
    """beta of the similarity loss between predicted and true embedding (report, section 8.2)."""
    learned_scale: bool = False
    """Predict a shift and a scale for the unseen window, so that the decoder stays in its trained range."""
    query_layers: int = 0
    """Layers in which query times attend to windows and points; 0 leads through one summary and FIM-l's decoder."""
    interpolation_weight: float = 0.0
    """Weight of FIM-l's own loss on the seen windows beside the forecast's: with it both are trained at once."""
    freeze_local: bool = True
    """Keep FIM-l as it was pretrained (the paper), or train it on."""

    def __post_init__(self):
        _require(self.windows >= 2, "windows: at least 2 are needed, one seen and one to predict")
        _require(min(self.heads, self.feedforward) > 0 and self.layers >= 0, "heads, feedforward: must be positive")
        _require(
            (2 * self.local.width) % self.heads == 0,
            f"heads: {self.heads} does not divide the window encoder's width {2 * self.local.width}",
        )
        _require(self.similarity_weight >= 0, "similarity_weight: must not be negative")
        _require(self.query_layers >= 0, "query_layers: must not be negative")
        _require(self.interpolation_weight >= 0, "interpolation_weight: must not be negative")
        _require(
            not self.local.query_layers or (self.query_layers > 0 and not self.freeze_local),
            "local.query_layers: a FIM-l without a summary in its training needs query_layers and freeze_local=False",
        )
        _require(
            not (self.query_layers and (self.similarity_weight or self.learned_scale)),
            "query_layers: similarity_weight and learned_scale need the summary that query_layers does without",
        )

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """FIM decodes with FIM-l's head, so it has FIM-l's levels."""
        return self.local.quantile_levels


@dataclass(frozen=True)
class DeepONetConfig:
    """The classical operator network, a baseline for interpolation (lab report, section 5.1)."""

    sensors: int = 128
    """m, the fixed number of input slots; shorter windows are padded."""
    width: int = 256
    """Hidden width of both MLPs."""
    features: int = 128
    """p, the length of the two encodings whose dot product is the answer."""
    layers: int = 4
    """Hidden layers of each MLP."""
    quantile_levels: tuple[float, ...] = ()
    """Levels of the quantile head; empty for a value head."""

    def __post_init__(self):
        _require(min(self.sensors, self.width, self.features, self.layers) > 0, "DeepONet's sizes must be positive")
        _require_levels(self.quantile_levels, "quantile_levels")


ModelConfig = FIMLocalConfig | FIMConfig | DeepONetConfig


@dataclass(frozen=True)
class PriorWeights:
    """How much of each batch every family of synthetic series gets; scaled to sum to one.

    The default fills a group of 32 without rounding and leans to what business and economic series look like.
    """

    rbf: float = 1.0
    """Gaussian process, squared-exponential kernel."""
    periodic: float = 1.0
    """Gaussian process, periodic kernel."""
    locally_periodic: float = 2.0
    """Gaussian process, periodic kernel times squared exponential."""
    linear_periodic: float = 2.0
    """Gaussian process, linear plus periodic kernel."""
    chebyshev: float = 1.0
    """Chebyshev expansions with decaying coefficients."""
    dataset_g: float = 2.0
    """The nine signals of Dataset G and their combinations."""
    smooth: float = 5.0
    """Smooth process plus season plus trend plus noise."""
    ets: float = 8.0
    """Exponential smoothing in all its additive and multiplicative forms."""
    sarima: float = 4.0
    """Seasonal ARIMA by sampled poles."""
    local_linear_trend: float = 2.0
    """Level and slope that both wander."""
    random_walk: float = 2.0
    """Random walk with drift."""
    regimes: float = 1.0
    """Level shifts and regimes that switch."""
    counts: float = 1.0
    """Intermittent demand: counts with many zeros."""

    def __post_init__(self):
        values = dataclasses.asdict(self)
        for name, value in values.items():
            _require(value >= 0 and math.isfinite(value), f"weights.{name}: {value} is not a weight")
        _require(sum(values.values()) > 0, "weights: at least one family needs a positive weight")


@dataclass(frozen=True)
class PriorConfig:
    """The synthetic series that a model learns from."""

    weights: PriorWeights = field(default_factory=PriorWeights)
    """Share of each family."""
    group_size: int = 32
    """Series drawn together; each group holds the families in proportion to their weights, so that the same series come
    on any number of devices. The batch on each device is a multiple of it."""
    windows: int = 5
    """K: windows drawn for each series, the last one being the target."""
    slots: int = 128
    """Places for observations in each window."""
    min_window_steps: int = 4
    """Fewest steps that a window (and so the horizon) lasts."""
    max_window_steps: int = 96
    """Most steps that a window lasts; with more steps than slots, the window is thinned to its slots."""
    min_context: int = 5
    """Fewest steps of history."""
    short_history: float = 0.6
    """Share of series whose history is cut short, to a length anywhere from min_context up."""
    seasons: tuple[int, ...] = (1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 12, 12, 12, 12, 13, 24, 24, 48, 52, 52, 96, 168)
    """Season lengths in steps, drawn with equal chance; repeat one to make it likelier."""
    hidden_season: float = 0.15
    """Share of series whose season length is not told (reported as 1)."""
    exponential: float = 0.6
    """Share of series that are exponentiated after scaling: growth and seasons become multiplicative."""
    irregular: float = 0.2
    """Share of continuous-time series observed at jittered times."""
    missing: float = 0.4
    """Share of series with missing observations, at random or by a regular stride."""
    max_missing: float = 0.75
    """Largest part of the observations that may be missing."""
    noise: float = 0.7
    """Share of series with measurement noise on top."""
    max_noise: float = 0.5
    """Largest standard deviation of that noise, relative to the signal's."""
    outliers: float = 0.05
    """Share of series with a few outliers among the observations."""

    def __post_init__(self):
        _require(self.group_size > 0, "group_size: must be positive")
        _require(self.windows >= 2, "windows: at least 2 are needed, one seen and one to predict")
        _require(self.slots >= 2, "slots: at least 2 are needed")
        _require(
            2 <= self.min_window_steps <= self.max_window_steps,
            f"min_window_steps: {self.min_window_steps} is not between 2 and max_window_steps {self.max_window_steps}",
        )
        _require(1 <= self.min_context, "min_context: must be positive")
        _require(
            len(self.seasons) > 0 and all(1 <= s <= MAX_SEASON for s in self.seasons),
            f"seasons: lengths must lie between 1 and {MAX_SEASON}",
        )
        shares = ("short_history", "hidden_season", "exponential", "irregular", "missing", "noise", "outliers")
        for name in shares:
            _require(0 <= getattr(self, name) <= 1, f"{name}: {getattr(self, name)} is not a share in [0, 1]")
        _require(0 <= self.max_missing < 1, "max_missing: must lie in [0, 1)")
        _require(self.max_noise >= 0, "max_noise: must not be negative")

    @property
    def total_steps(self) -> int:
        """Steps that are simulated for each series."""
        return self.windows * self.max_window_steps


MAX_SEASON = 168
"""Longest season that the prior simulates, in steps: a week of hours."""


@dataclass(frozen=True)
class TrainingConfig:
    """Optimiser, schedule, precision, cadence; the defaults are the lab report's (section 7.1)."""

    seed: int = 0
    """Seed of the parameters and of every synthetic series."""
    steps: int = 10_000
    """Optimiser steps."""
    batch_size: int = 128
    """Series a step, over all devices."""
    schedule: Literal["inverse_sqrt", "cosine"] = "inverse_sqrt"
    """Learning rate after the warm-up: the paper's, or a cosine down to min_learning_rate at the last step."""
    learning_rate: float = 1e-4
    """Learning rate at the end of the warm-up."""
    min_learning_rate: float = 1e-5
    """Learning rate that the schedule never goes below."""
    warmup_steps: int = 100
    """Steps of linear warm-up."""
    beta1: float = 0.9
    """AdamW's decay of the first moment."""
    beta2: float = 0.999
    """AdamW's decay of the second moment."""
    epsilon: float = 1e-8
    """AdamW's epsilon."""
    weight_decay: float = 0.01
    """AdamW's weight decay, on matrices only."""
    clip_norm: float = 1.0
    """Largest global norm of a gradient."""
    average_decay: float = 0.0
    """Decay of the running average of the parameters that validation and inference then use; 0 for none."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Type of activations and products; parameters, statistics, softmax, times and loss stay float32."""
    target_clip: float = 10.0
    """Targets are clipped to this many scales, so that no series outweighs a batch."""
    steps_per_dispatch: int = 1
    """Optimiser steps in one compiled call."""
    log_every: int = 50
    """Steps between two lines of metrics."""
    validate_every: int = 1_000
    """Steps between two validations, each followed by a checkpoint."""
    validation_series: int = 1_024
    """Series of the fixed validation set."""
    max_bad_steps: int = 20
    """Non-finite steps in a row, each skipped, after which training stops."""

    def __post_init__(self):
        positive = (
            "steps batch_size learning_rate clip_norm target_clip steps_per_dispatch log_every validate_every "
            "validation_series max_bad_steps"
        )
        for name in positive.split():
            _require(getattr(self, name) > 0, f"{name}: must be positive, not {getattr(self, name)}")
        for name in ("steps", "validate_every", "log_every"):
            _require(
                getattr(self, name) % self.steps_per_dispatch == 0,
                f"{name}: {getattr(self, name)} is not a multiple of steps_per_dispatch {self.steps_per_dispatch}",
            )
        _require(0 <= self.average_decay < 1, "average_decay: must lie in [0, 1)")
        _require(self.warmup_steps >= 0, "warmup_steps: must not be negative")
        _require(0 <= self.min_learning_rate <= self.learning_rate, "min_learning_rate: must lie in [0, learning_rate]")


@dataclass(frozen=True)
class Config:
    """One training run: the model, the series it learns from, and how it is trained."""

    model: ModelConfig
    prior: PriorConfig = field(default_factory=PriorConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self):
        if isinstance(self.model, FIMConfig):
            _require(
                self.model.windows == self.prior.windows,
                f"model.windows: {self.model.windows} differs from prior.windows {self.prior.windows}",
            )
        if isinstance(self.model, DeepONetConfig):
            _require(
                self.prior.slots <= self.model.sensors,
                f"model.sensors: {self.model.sensors} is less than prior.slots {self.prior.slots}",
            )


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain dictionaries, each with the name of its class, ready for JSON."""
    entries = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    plain = {k: to_dict(v) if dataclasses.is_dataclass(v) else v for k, v in entries.items()}
    return {"kind": type(config).__name__, **{k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}}


def from_dict(entries: dict[str, Any]) -> Any:
    """The config that `to_dict` wrote; keys that it does not know are an error that names them."""
    kinds = {c.__name__: c for c in (Config, PriorConfig, PriorWeights, TrainingConfig, *typing.get_args(ModelConfig))}
    kind = kinds.get(entries.get("kind", ""))
    _require(kind is not None, f"kind: {entries.get('kind')!r} is not one of {sorted(kinds)}")
    known = {f.name for f in dataclasses.fields(kind)}
    unknown = sorted(set(entries) - known - {"kind"})
    _require(not unknown, f"{kind.__name__}: unknown keys {', '.join(unknown)}")

    def revive(value: Any) -> Any:
        return from_dict(value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value

    return kind(**{name: revive(value) for name, value in entries.items() if name != "kind"})


def differing_keys(a: Any, b: Any, prefix: str = "") -> list[str]:
    """Where two configs differ, as sentences like 'width: 64 against 128'."""
    if type(a) is not type(b):
        return [f"{prefix.rstrip('.')}: {type(a).__name__} against {type(b).__name__}"]
    lines = []
    for f in dataclasses.fields(a):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if dataclasses.is_dataclass(x):
            lines += differing_keys(x, y, f"{prefix}{f.name}.")
        elif x != y:
            lines.append(f"{prefix}{f.name}: {x} against {y}")
    return lines
