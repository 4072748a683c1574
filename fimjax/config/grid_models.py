"""Sizes of the networks on a regular grid; the defaults are the paper's (tables 5 to 8), or those of the libraries that
it names."""

from dataclasses import dataclass
from typing import Literal

from fimjax.config.checks import require, require_quantile_levels

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

StackKind = Literal["generic", "trend", "seasonality"]


@dataclass(frozen=True, kw_only=True)
class GridConfig:
    """What all networks on a regular grid have in common."""

    context: int
    """Steps that the network reads, counted back from the last observation."""
    horizon: int
    """Steps that it tells at once; no window of the prior may be longer."""
    quantile_levels: tuple[float, ...] = DECILES
    """Levels of the quantile head; empty for a value head."""
    season_harmonics: int = 0
    """Harmonics of the season's phase given beside the values; 0 leaves the season unused, as in the originals."""
    from_last: bool = False
    """Count values from the last one observed."""

    def __post_init__(self):
        require(self.context >= 1, f"context: must be positive, not {self.context}")
        require(self.horizon >= 1, f"horizon: must be positive, not {self.horizon}")
        require(self.season_harmonics >= 0, "season_harmonics: must not be negative")
        require_quantile_levels(self.quantile_levels)
        for name in self.sizes():
            require(getattr(self, name) > 0, f"{name}: must be positive, not {getattr(self, name)}")

    def sizes(self) -> tuple[str, ...]:
        """Names of the settings that must be positive."""
        return ()


@dataclass(frozen=True, kw_only=True)
class NBEATSConfig(GridConfig):
    """N-BEATS: blocks that each explain away a part of the past (paper, table 5)."""

    context: int = 48
    horizon: int = 24
    stacks: tuple[StackKind, ...] = ("generic",) * 4
    """Kind of each stack: "generic", or the interpretable "trend" and "seasonality"."""
    blocks: int = 3
    """Blocks of each stack."""
    layers: int = 2
    """Hidden layers of each block, after the one that reads the past."""
    width: int = 512
    """Hidden width of each block."""
    trend_degree: int = 2
    """Degree of the polynomials of a trend stack."""
    harmonics: int = 2
    """Waves of a seasonality stack between once and twice in the horizon, and so on up to half a turn a step."""

    def __post_init__(self):
        super().__post_init__()
        kinds = ("generic", "trend", "seasonality")
        unknown = [kind for kind in self.stacks if kind not in kinds]
        require(not unknown and len(self.stacks) > 0, f"stacks: each must be one of {', '.join(kinds)}")
        require(self.trend_degree >= 0, "trend_degree: must not be negative")

    def sizes(self) -> tuple[str, ...]:
        return "blocks", "layers", "width", "harmonics"


@dataclass(frozen=True, kw_only=True)
class MQCNNConfig(GridConfig):
    """MQCNN: dilated causal convolutions, then decoders for all horizons and for each (paper, table 6)."""

    context: int = 64
    horizon: int = 24
    kernel: int = 2
    """Steps that each convolution joins."""
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Distance of these steps, layer by layer."""
    channels: int = 30
    """Width of the convolutions."""
    future_width: int = 50
    """Width of what is known of the future: each step's place in the horizon, and its phase of the season."""
    agnostic_width: int = 100
    """Width of the context that serves all horizons."""
    specific_width: int = 20
    """Width of the context of each horizon."""
    local_width: int = 30
    """Hidden width of the decoder that all horizons share, of which the table says nothing: that of GluonTS."""

    def __post_init__(self):
        super().__post_init__()
        require(len(self.dilations) > 0 and min(self.dilations) > 0, "dilations: must be positive, and at least one")

    def sizes(self) -> tuple[str, ...]:
        return "kernel", "channels", "future_width", "agnostic_width", "specific_width", "local_width"


@dataclass(frozen=True, kw_only=True)
class PatchTSTConfig(GridConfig):
    """PatchTST: a transformer over patches, with reversible instance normalisation (paper, table 7)."""

    context: int = 128
    horizon: int = 24
    patch: int = 16
    """Steps of a patch."""
    stride: int = 8
    """Steps from one patch to the next."""
    width: int = 128
    """Width of the encoder."""
    heads: int = 16
    """Attention heads."""
    layers: int = 3
    """Layers of the encoder."""
    feedforward: int = 256
    """Hidden width of each feed-forward block."""
    revin: bool = True
    """Normalise what the network reads by its own moments, and undo it in what it tells."""
    residual_attention: bool = True
    """Add each layer's scores to those of the next one."""

    def __post_init__(self):
        super().__post_init__()
        require(self.width % self.heads == 0, f"heads: {self.heads} does not divide width {self.width}")
        require(self.patch <= self.context, f"patch: {self.patch} is longer than context {self.context}")

    def sizes(self) -> tuple[str, ...]:
        return "patch", "stride", "width", "heads", "layers", "feedforward"


@dataclass(frozen=True, kw_only=True)
class ChronosBoltConfig(GridConfig):
    """Chronos-Bolt: T5's encoder and decoder over patches, all steps at once (paper, table 8)."""

    context: int = 2048
    horizon: int = 64
    patch: int = 16
    """Steps of a patch; patches follow each other without overlap."""
    width: int = 256
    """Width of encoder and decoder."""
    heads: int = 4
    """Attention heads."""
    head_width: int = 64
    """Width of each head."""
    encoder_layers: int = 4
    """Layers of the encoder."""
    decoder_layers: int = 4
    """Layers of the decoder."""
    feedforward: int = 1024
    """Hidden width of feed-forward and residual blocks."""
    buckets: int = 32
    """Buckets of distances that share a relative position bias."""
    max_distance: int = 128
    """Distance, in patches, from which on all share the last bucket."""

    def __post_init__(self):
        super().__post_init__()
        require(
            4 <= self.buckets < 2 * self.max_distance,
            f"buckets: {self.buckets} must be at least 4, and less than twice max_distance {self.max_distance}",
        )

    def sizes(self) -> tuple[str, ...]:
        return "patch", "width", "heads", "head_width", "encoder_layers", "decoder_layers", "feedforward"


GridModelConfig = NBEATSConfig | MQCNNConfig | PatchTSTConfig | ChronosBoltConfig
