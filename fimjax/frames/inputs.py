"""What a caller hands over, frames or arrays, as series in steps."""

import dataclasses
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fimjax.errors import InputError
from fimjax.frames.frequency import Frequency, infer_frequency
from fimjax.frames.panel import Panel, check_count, from_arrays, is_frame
from fimjax.frames.tables import FrameSchema, read_frame


class Kind(Protocol):
    """How answers are given back."""

    id_col: str
    time_col: str
    target_col: str

    def with_floats(self) -> "Kind": ...

    def check_stamps(self, stamps: np.ndarray) -> None: ...

    def build(self, columns: dict[str, np.ndarray]) -> Any: ...


@dataclasses.dataclass(frozen=True)
class ArraySchema:
    """Series came as arrays: numbers are their ids, their times are stamps, and answers are frames of pandas."""

    id_col: str = "unique_id"
    time_col: str = "ds"
    target_col: str = "y"
    zone: None = None

    def with_floats(self) -> "ArraySchema":
        return self

    def check_stamps(self, stamps: np.ndarray) -> None:
        """Any number will do."""

    def build(self, columns: dict[str, np.ndarray]) -> pd.DataFrame:
        return pd.DataFrame(columns)


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Series, what a step is, and how to give answers back."""

    panel: Panel
    kind: Kind
    frequency: Frequency
    season: int

    @property
    def ends(self) -> np.ndarray:
        """[N], the last stamp of each series, observed or not."""
        return np.array([stamps[-1] for stamps in self.panel.stamps])

    def with_float_times(self) -> "Inputs":
        """The same, with answers at times that need not be whole numbers."""
        return dataclasses.replace(self, kind=self.kind.with_floats())

    def positions(self) -> list[np.ndarray]:
        """The times of each series in steps, 0 at its last stamp."""
        lengths = [len(stamps) for stamps in self.panel.stamps]
        origins = np.repeat(self.ends, lengths)
        found = self.frequency.positions(np.concatenate(self.panel.stamps), origins)
        return np.split(found, np.cumsum(lengths)[:-1])


def read_panel(
    data: Any, id_col: str = "unique_id", time_col: str = "ds", target_col: str = "y"
) -> tuple[Panel, FrameSchema | ArraySchema]:
    """Reads frames of pandas or polars, arrays, lists of arrays, and tuples (t, y) or (t, y, mask)."""
    if is_frame(data):
        return read_frame(data, id_col=id_col, time_col=time_col, target_col=target_col)
    return from_arrays(data), ArraySchema()


def read_inputs(
    data: Any,
    freq: str | int | float | None,
    season_length: int | None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
) -> Inputs:
    """Reads series, and tells what a step and a season of them are."""
    panel, kind = read_panel(data, id_col, time_col, target_col)
    frequency = infer_frequency(panel.stamps, freq, kind.zone)
    season = frequency.season_length if season_length is None else season_length
    season = check_count("season_length", season)
    if season >= 2**31:
        raise InputError(f"season_length={season}: no season is that long")
    return Inputs(panel, kind, frequency, season)
