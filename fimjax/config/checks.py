"""How settings are checked."""

from fimjax.errors import ConfigError


def require(condition: bool, message: str) -> None:
    """Raises a ConfigError with the message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def require_quantile_levels(levels: tuple[float, ...]) -> None:
    """Quantile levels rise strictly inside (0, 1)."""
    inside = all(0.0 < level < 1.0 for level in levels)
    rising = all(a < b for a, b in zip(levels, levels[1:]))
    require(inside and rising, f"quantile_levels: must rise strictly inside (0, 1), not {levels}")
