"""Settings that cannot work."""


class ConfigError(ValueError):
    """A setting that cannot work; the message names its key."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)
