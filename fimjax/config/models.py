"""Sizes and switches of the networks."""

from dataclasses import dataclass, field

from fimjax.config.checks import require


def require_levels(levels: tuple[float, ...], key: str) -> None:
    inside = all(0.0 < level < 1.0 for level in levels)
    rising = all(a < b for a, b in zip(levels, levels[1:]))
    require(inside and rising, f"{key}: levels must rise strictly inside (0, 1), not {levels}")


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
    polynomials: bool = False
    """Count answers from local polynomials through the points, which query_layers then correct."""
    time_waves: int = 0
    """Sines and cosines of time, of 1/2, 1, 3/2, ... periods in a window, beside time itself; 0 as in the paper."""
    season_harmonics: int = 0
    """Harmonics of the season's phase given as time features; 0 leaves the season unused, as in the paper."""

    def __post_init__(self):
        require(
            min(self.width, self.heads, self.feedforward) > 0 and self.layers >= 0,
            "width, heads, feedforward: must be positive",
        )
        require(
            (2 * self.width) % self.heads == 0,
            f"heads: {self.heads} does not divide the branch encoder's width {2 * self.width}",
        )
        require(self.trunk_layers >= 1, "trunk_layers: at least 1 is needed")
        require(min(self.projection, default=0) > 0, "projection: at least one hidden layer is needed")
        require(self.query_layers >= 0, "query_layers: must not be negative")
        require(not self.polynomials or self.query_layers > 0, "polynomials: query_layers is needed with it")
        require(self.time_waves >= 0, "time_waves: must not be negative")
        require(self.season_harmonics >= 0, "season_harmonics: must not be negative")
        require_levels(self.quantile_levels, "quantile_levels")


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
    anchor_heads: int = 0
    """Heads that point at observed values, from whose weighted sum the answer is counted; needs query_layers."""
    smoothers: bool = False
    """Pin classical forecasts beside the last value, and answer in units of the series' steps; needs anchor_heads."""
    anchor_base: bool = False
    """Count all that the anchor adds up from the smoothers' last value with the season asked for; needs smoothers."""
    knows_floor: bool = False
    """Smooth logarithms too, of how far a series lies above the floor that it is known not to fall below, if it is:
    amounts grow by shares of themselves; needs smoothers."""
    unit_by_share: bool = False
    """Answer in units of shares of that height where a series' steps are smaller so, and tell how large they are; needs
    knows_floor."""
    placed_points: bool = False
    """Tell query times the value and the time of each point in the series, beside those in its window."""
    interpolation_weight: float = 0.0
    """Weight of FIM-l's own loss on the seen windows beside the forecast's: with it both are trained at once."""
    freeze_local: bool = True
    """Keep FIM-l as it was pretrained (the paper), or train it on."""

    def __post_init__(self):
        require(self.windows >= 2, "windows: at least 2 are needed, one seen and one to predict")
        require(min(self.heads, self.feedforward) > 0 and self.layers >= 0, "heads, feedforward: must be positive")
        require(
            (2 * self.local.width) % self.heads == 0,
            f"heads: {self.heads} does not divide the window encoder's width {2 * self.local.width}",
        )
        require(self.similarity_weight >= 0, "similarity_weight: must not be negative")
        require(self.query_layers >= 0, "query_layers: must not be negative")
        require(
            self.anchor_heads == 0 or (self.anchor_heads > 0 and self.local.width % self.anchor_heads == 0),
            f"anchor_heads: {self.anchor_heads} does not divide local.width {self.local.width}",
        )
        require(self.anchor_heads == 0 or self.query_layers > 0, "anchor_heads: query_layers is needed with it")
        require(not self.smoothers or self.anchor_heads > 0, "smoothers: anchor_heads is needed with it")
        require(not self.anchor_base or self.smoothers, "anchor_base: smoothers is needed with it")
        require(not self.knows_floor or self.smoothers, "knows_floor: smoothers is needed with it")
        require(not self.unit_by_share or self.knows_floor, "unit_by_share: knows_floor is needed with it")
        require(not self.placed_points or self.query_layers > 0, "placed_points: query_layers is needed with it")
        require(self.interpolation_weight >= 0, "interpolation_weight: must not be negative")
        require(
            not self.local.query_layers or (self.query_layers > 0 and not self.freeze_local),
            "local.query_layers: a FIM-l without a summary in its training needs query_layers and freeze_local=False",
        )
        require(
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
        require(min(self.sensors, self.width, self.features, self.layers) > 0, "DeepONet's sizes must be positive")
        require_levels(self.quantile_levels, "quantile_levels")
