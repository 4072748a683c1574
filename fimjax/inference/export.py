"""A forecast of fixed shape as one file that runs without fimjax: the lowered function with its parameters.

`jax.export.deserialize(path.read_bytes()).call(...)` runs it wherever JAX is installed, as long as JAX can read older
exports.
"""

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export

from fimjax.config import Config
from fimjax.errors import ExportError
from fimjax.files import replacing
from fimjax.inference.predict import forecast_windows, inference_config
from fimjax.models import Params, forecasts

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
"""Platforms that a model can be exported for on any machine; jax.export accepts any word for a platform."""


def export_forecast(
    config: Config, params: Params, path: Path | str, *, points: int, h: int, platforms: tuple[str, ...] = ("cpu",)
) -> None:
    """Writes the forecast of any number of series as a file of jax.export.

    The exported function takes times [b, points] float32, values [b, points] float32, mask [b, points] bool,
    window_steps [b] int32, season [b] int32 and query_times [b, h] float32, as `forecast_windows` does, and returns
    [b, h, L] float32.

    Args:
        config, params: of a model that forecasts, as `load_pretrained` returns them.
        path: the file to write.
        points: room for observations of each series; shorter series are masked.
        h: query times of each series.
        platforms: where the file runs, of PLATFORMS.

    Raises:
        ExportError: if flatbuffers is missing.
    """
    _require_flatbuffers()
    if not forecasts(config.model):
        raise ValueError(f"a {type(config.model).__name__} does not forecast; give a FIM")
    if points < 1 or h < 1:
        raise ValueError(f"points={points} and h={h}: both must be at least 1")
    unknown = sorted(set(platforms) - set(PLATFORMS))
    if unknown or not platforms:
        raise ValueError(f"platforms: {', '.join(unknown) or 'none'} given; choose from {', '.join(PLATFORMS)}")

    def forecast(*inputs: jax.Array) -> jax.Array:
        return forecast_windows(inference_config(config), params, *inputs)

    (b,) = export.symbolic_shape("b")
    series = jax.ShapeDtypeStruct((b, points), jnp.float32)
    whole = jax.ShapeDtypeStruct((b,), jnp.int32)
    inputs = (series, series, series.update(dtype=jnp.bool_), whole, whole, series.update(shape=(b, h)))
    exported = export.export(jax.jit(forecast), platforms=platforms)(*inputs)
    with replacing(Path(path)) as scratch:
        scratch.write_bytes(exported.serialize())


def load_exported(path: Path | str) -> Callable[..., jax.Array]:
    """The forecast in a file that `export_forecast` wrote.

    Returns:
        A function of (times, values, mask, window_steps, season, query_times). It is compiled at its first call for
        each number of series, so pad smaller batches to a size that was compiled before.

    Raises:
        ExportError: if flatbuffers or the file is missing, or if the file is not an exported model.
    """
    _require_flatbuffers()
    try:
        exported = export.deserialize(bytearray(Path(path).read_bytes()))
    except OSError as error:
        raise ExportError(f"{path}: cannot be read ({error.strerror})") from error
    except Exception as error:  # damaged files are read as offsets and sizes, and fail in many ways
        raise ExportError(f"{path}: not an exported model that this version of JAX can read") from error
    return jax.jit(exported.call)


def _require_flatbuffers() -> None:
    """Fails early, because JAX needs flatbuffers only after tracing and lowering."""
    try:
        import flatbuffers  # noqa: F401
    except ImportError as error:
        raise ExportError("exported models need flatbuffers: pip install 'fimjax[export]'") from error
