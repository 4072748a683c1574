"""Sizes and options of FIM-l, FIM and DeepONet."""

from dataclasses import dataclass, field

from fimjax.config.checks import require, require_quantile_levels


def _require_encoder_sizes(width: int, heads: int, layers: int, feedforward: int) -> None:
    """Sizes of a transformer encoder whose width is 2 * width."""
    require(min(width, heads, feedforward) > 0 and layers >= 0, "width, heads, feedforward: must be positive")
    require((2 * width) % heads == 0, f"heads: {heads} does not divide the encoder's width {2 * width}")


@dataclass(frozen=True)
class FIMLocalConfig:
    """FIM-l with a query decoder: the interpolator inside the shipped FIM."""

    width: int = 48
    """d, the width of each embedding. The encoder is twice as wide."""
    heads: int = 4
    """Attention heads."""
    layers: int = 1
    """Layers of the branch encoder (psi_0 in the lab report)."""
    feedforward: int = 2
    """Hidden width of each feed-forward block, in multiples of the encoder's width."""
    query_layers: int = 1
    """Layers in which query times attend to the encoded points."""
    time_harmonics: int = 24
    """Fourier features of time in a window: sines and cosines of 1/2, 1, 3/2, ... periods."""
    season_harmonics: int = 8
    """Fourier features of the season's phase."""
    quantile_levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    """Quantile levels of the output; empty for a single value."""

    def __post_init__(self) -> None:
        _require_encoder_sizes(self.width, self.heads, self.layers, self.feedforward)
        require(self.query_layers >= 1, "query_layers: at least 1 is needed")
        require(self.time_harmonics >= 1, "time_harmonics: at least 1 is needed")
        require(self.season_harmonics >= 1, "season_harmonics: at least 1 is needed")
        require_quantile_levels(self.quantile_levels)


@dataclass(frozen=True)
class FIMConfig:
    """The shipped FIM: query times attend to all windows and points, and correct classical forecasts."""

    local: FIMLocalConfig = field(default_factory=FIMLocalConfig)
    """The FIM-l that encodes each window and interpolates."""
    heads: int = 4
    """Attention heads."""
    layers: int = 4
    """Layers of the window encoder (psi_1)."""
    feedforward: int = 2
    """Hidden width of each feed-forward block, in multiples of the encoder's width."""
    query_layers: int = 2
    """Layers in which query times attend to windows and points."""
    anchor_heads: int = 4
    """Attention heads that average observed values into a baseline."""
    interpolation_weight: float = 0.5
    """Weight of FIM-l's own loss on the last seen windows, beside the forecast's loss."""

    def __post_init__(self) -> None:
        _require_encoder_sizes(self.local.width, self.heads, self.layers, self.feedforward)
        require(self.query_layers >= 1, "query_layers: at least 1 is needed")
        require(
            self.anchor_heads >= 1 and self.local.width % self.anchor_heads == 0,
            f"anchor_heads: {self.anchor_heads} does not divide local.width {self.local.width}",
        )
        require(self.interpolation_weight >= 0, "interpolation_weight: must not be negative")

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """FIM has the quantile levels of its FIM-l."""
        return self.local.quantile_levels


@dataclass(frozen=True)
class ReportFIMLocalConfig:
    """FIM-l as in the lab report (table 2): one summary vector, a trunk MLP and a projection."""

    width: int = 256
    """d, the width of each embedding. The branch encoder is twice as wide."""
    heads: int = 4
    """Attention heads of the branch encoder psi_0."""
    layers: int = 6
    """Layers of the branch encoder psi_0."""
    feedforward: int = 4
    """Hidden width of each feed-forward block, in multiples of the encoder's width."""
    trunk_layers: int = 4
    """Layers of the trunk MLP phi_5."""
    projection: tuple[int, ...] = (4, 4, 4, 1)
    """Hidden widths of the projection phi_7, in multiples of d."""
    quantile_levels: tuple[float, ...] = ()
    """Quantile levels of the output; empty for the report's single value."""

    def __post_init__(self) -> None:
        _require_encoder_sizes(self.width, self.heads, self.layers, self.feedforward)
        require(self.trunk_layers >= 1, "trunk_layers: at least 1 is needed")
        require(min(self.projection, default=0) > 0, "projection: at least one hidden layer is needed")
        require_quantile_levels(self.quantile_levels)


@dataclass(frozen=True)
class ReportFIMConfig:
    """FIM as in the lab report (table 3), on top of a frozen FIM-l."""

    local: ReportFIMLocalConfig = field(default_factory=ReportFIMLocalConfig)
    """The pretrained FIM-l that encodes each window and decodes the unseen one."""
    heads: int = 8
    """Attention heads of the window encoder psi_1 and of the summary lambda_1."""
    layers: int = 8
    """Layers of the window encoder psi_1."""
    feedforward: int = 4
    """Hidden width of each feed-forward block, in multiples of the encoder's width."""
    positional_encoding: bool = False
    """Add a learned encoding of the window's position to psi_1's output (report, section 8.1)."""
    similarity_weight: float = 0.0
    """beta of the similarity loss between predicted and true embedding (report, section 8.2)."""
    learned_scale: bool = False
    """Predict a shift and a scale for the unseen window, so that the decoder stays in its trained range."""

    def __post_init__(self) -> None:
        _require_encoder_sizes(self.local.width, self.heads, self.layers, self.feedforward)
        require(self.similarity_weight >= 0, "similarity_weight: must not be negative")

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """FIM decodes with FIM-l's head, so it has FIM-l's quantile levels."""
        return self.local.quantile_levels


@dataclass(frozen=True)
class DeepONetConfig:
    """The classical operator network, a baseline for interpolation (lab report, section 5.1)."""

    sensors: int = 128
    """m, the fixed number of input slots. Shorter windows are padded."""
    width: int = 256
    """Hidden width of both MLPs."""
    features: int = 128
    """p, the length of the two encodings whose dot product is the output."""
    layers: int = 4
    """Hidden layers of each MLP."""
    quantile_levels: tuple[float, ...] = ()
    """Quantile levels of the output; empty for a single value."""

    def __post_init__(self) -> None:
        require(
            min(self.sensors, self.width, self.features, self.layers) > 0,
            "sensors, width, features, layers: must be positive",
        )
        require_quantile_levels(self.quantile_levels)
