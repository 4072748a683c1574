"""Settings that cannot work."""

from fimjax.errors import ConfigError


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)
