"""The windows into which a series is cut, shared by the prior, the models and inference."""

from dataclasses import dataclass

from fimjax.config.checks import require


@dataclass(frozen=True)
class WindowConfig:
    """How the end of a series is cut into windows of equal duration."""

    count: int = 5
    """K: windows in all. The last one is the unseen window to forecast, the K - 1 before it are read."""
    slots: int = 128
    """Room for observations in each window. A window with more steps keeps an evenly spread part of them."""
    min_steps: int = 4
    """Fewest steps that a window (and so the horizon) lasts."""
    max_steps: int = 96
    """Most steps that a window lasts. Longer horizons are rolled out window by window."""
    min_history: int = 3
    """Fewest steps of history that a model is trained with."""

    def __post_init__(self) -> None:
        require(self.count >= 2, "windows.count: at least 2 are needed, one to read and one to forecast")
        require(self.slots >= 2, "windows.slots: at least 2 are needed")
        require(
            2 <= self.min_steps <= self.max_steps,
            f"windows.min_steps: {self.min_steps} is not between 2 and windows.max_steps {self.max_steps}",
        )
        require(self.min_history >= 1, "windows.min_history: must be positive")

    @property
    def total_steps(self) -> int:
        """Steps in all windows of the longest kind."""
        return self.count * self.max_steps
