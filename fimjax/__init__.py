"""Zero-shot interpolation and forecasting of time series, learned from synthetic series alone."""

from typing import Any

__all__ = ["Forecaster"]


def __getattr__(name: str) -> Any:
    # Only when it is asked for: JAX takes a second to import, and the statistical models do without.
    if name == "Forecaster":
        from fimjax.forecaster import Forecaster

        return Forecaster
    raise AttributeError(f"module 'fimjax' has no attribute {name!r}")
