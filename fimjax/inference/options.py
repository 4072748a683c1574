"""The keyword arguments that all methods of the forecaster share, declared and read once."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from fimjax.errors import InputError
from fimjax.frames.frequency import Freq
from fimjax.frames.panel import Panel, read_panel
from fimjax.frames.tables import ID, TARGET, TIME
from fimjax.inference.quantiles import Bounds, Level, Limits, OutputSpec, read_bounds, read_output_spec


class SeriesOptions(TypedDict, total=False):
    """Keywords that all methods share."""

    season_length: int | None
    """Points in a season, 1 for none; by default the usual season of the frequency."""
    id_col: str
    """The column with the ids of the series."""
    time_col: str
    """The column with times."""
    target_col: str
    """The column with values."""


class BoundedOptions(SeriesOptions, total=False):
    """Keywords of methods that predict values."""

    nonnegative: bool
    """Whether values are never negative; all predictions are clipped at 0."""
    bounds: Limits | None
    """A lower and an upper bound of all values, None for no bound; all predictions are clipped."""


class PredictOptions(BoundedOptions, total=False):
    """Keywords of methods that predict quantiles."""

    level: Level
    """Central intervals in per cent, for columns such as `FIM-lo-80` and `FIM-hi-80`."""
    quantiles: Sequence[float] | None
    """Quantile levels in (0, 1), for columns such as `FIM-q-10`."""


DEFAULTS: dict[str, Any] = {
    "level": None,
    "quantiles": None,
    "season_length": None,
    "nonnegative": False,
    "bounds": None,
    "id_col": ID,
    "time_col": TIME,
    "target_col": TARGET,
}
"""Defaults of all shared keywords, in the order in which `help` shows them."""


Method = typing.TypeVar("Method", bound=Callable[..., Any])


def with_options(options: type) -> Callable[[Method], Method]:
    """Shows the keywords of a TypedDict in a method's signature, and refuses all others."""

    def decorate(method: Method) -> Method:
        plain = inspect.signature(method)
        own = [p for p in plain.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        types = {name: getattr(kind, "__forward_arg__", kind) for name, kind in options.__annotations__.items()}
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
            for name, default in DEFAULTS.items()
            if name in types
        ]
        signature = plain.replace(parameters=own + shared)

        @functools.wraps(method)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in signature.parameters:
                    known = ", ".join(list(signature.parameters)[1:])
                    raise TypeError(f"{method.__name__}() has no argument {name!r}; its arguments are {known}")
            return method(*arguments, **keywords)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return typing.cast(Method, checked)

    return decorate


class Call(NamedTuple):
    """The checked arguments of a method."""

    panel: Panel
    spec: OutputSpec
    bounds: Bounds


def read_call(
    df: Any,
    freq: Freq | None,
    options: Mapping[str, Any],
    name: str,
    extra_columns: Callable[[Panel], list[str]] = lambda panel: [],
) -> Call:
    """Reads and checks the series and the shared options, cheap checks first.

    Args:
        name: column of the point forecast.
        extra_columns: columns of the result besides ids, times and predictions; no name may occur twice.
    """
    given = {**DEFAULTS, **options}
    spec = read_output_spec(given["level"], given["quantiles"])
    bounds = read_bounds(given["nonnegative"], given["bounds"])
    names = (given[column] for column in ("id_col", "time_col", "target_col"))
    panel = read_panel(df, freq, given["season_length"], *names)
    panel.season  # noqa: B018  checks freq and season_length
    columns = [panel.schema.id_col, panel.schema.time_col, *extra_columns(panel), name]
    columns += [f"{name}-{suffix}" for suffix in spec.suffixes]
    for column in columns:
        if columns.count(column) > 1:
            raise InputError(f"the result would have two columns {column!r}: rename the one in the frame")
    return Call(panel, spec, bounds)
