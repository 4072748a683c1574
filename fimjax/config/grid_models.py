"""Sizes of the networks that read a regular grid.

The defaults are those of the paper's tables 5 to 8. Where these are silent, they are those of the libraries that the
paper names.
"""

import dataclasses
from dataclasses import dataclass

from fimjax.config.checks import require, require_quantile_levels

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, kw_only=True)
class GridConfig:
    """Settings that all networks on a regular grid share."""

    context: int
    """Steps that the network reads, counted back from the last observation."""
    horizon: int
    """Steps that the network forecasts at once; no window of the prior may be longer."""
    quantile_levels: tuple[float, ...] = DECILES
    """Levels of the quantile head; empty for a head that predicts a single value."""
    season_harmonics: int = 0
    """Harmonics of the season's phase that the network reads beside the values; 0 for none, as in the originals."""
    subtract_last_value: bool = False
    """Subtract the last observation from what the network reads, and add it to what the network forecasts."""

    def __post_init__(self) -> None:
        require(self.season_harmonics >= 0, "season_harmonics: must not be negative")
        require_quantile_levels(self.quantile_levels)
        for field in dataclasses.fields(self):
            size = getattr(self, field.name)
            if field.type is int and field.name != "season_harmonics":
                require(size > 0, f"{field.name}: must be positive, not {size}")


@dataclass(frozen=True, kw_only=True)
class NBEATSConfig(GridConfig):
    """N-BEATS: blocks that each explain a part of the past and forecast a part of the future (paper, table 5)."""

    context: int = 48
    horizon: int = 24
    stacks: int = 4
    """Stacks of blocks, all of them generic."""
    blocks: int = 3
    """Blocks of each stack."""
    layers: int = 2
    """Hidden layers of each block, after the layer that reads the past."""
    width: int = 512
    """Hidden width of each block."""


@dataclass(frozen=True, kw_only=True)
class MQCNNConfig(GridConfig):
    """MQCNN: dilated causal convolutions, then one decoder for all horizons and one for each (paper, table 6)."""

    context: int = 64
    horizon: int = 24
    kernel_size: int = 2
    """Steps that each convolution joins."""
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Distance between these steps, layer by layer."""
    channels: int = 30
    """Width of the convolutions."""
    future_width: int = 50
    """Width of the encoding of the future: the position of each step in the horizon, and its phase of the season."""
    agnostic_width: int = 100
    """Width of the context that all horizons share."""
    specific_width: int = 20
    """Width of the context of each horizon."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(min(self.dilations, default=0) > 0, "dilations: at least one is needed, and each must be positive")


@dataclass(frozen=True, kw_only=True)
class PatchTSTConfig(GridConfig):
    """PatchTST: a transformer over patches, with reversible instance normalisation (paper, table 7)."""

    context: int = 128
    horizon: int = 24
    patch_size: int = 16
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

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.width % self.heads == 0, f"heads: {self.heads} does not divide width {self.width}")
        require(self.patch_size <= self.context, f"patch_size: {self.patch_size} is longer than context {self.context}")


@dataclass(frozen=True, kw_only=True)
class ChronosBoltConfig(GridConfig):
    """Chronos-Bolt: T5's encoder and decoder over patches, all steps at once (paper, table 8)."""

    context: int = 2048
    horizon: int = 64
    patch_size: int = 16
    """Steps of a patch; patches do not overlap."""
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


GridModelConfig = NBEATSConfig | MQCNNConfig | PatchTSTConfig | ChronosBoltConfig
