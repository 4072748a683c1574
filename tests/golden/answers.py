"""What the bundled models answer for the panel, by the public API alone.

`python -m tests.golden.answers` writes `answers.npz`: the panel (see `panel.py`), and the answers under
`<model>/<call>/<column>`, for example `fim-small/forecast/MS/h=18/FIM-lo-80`. Of the columns, `unique_id` is the number
of the series in the order of the answer, and `ds` and `cutoff` are seconds since 1970 where they are dates.
"""

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from fimjax import Forecaster
from tests.golden.panel import ANSWERS, DAILY, HOURLY, MONTHLY, Panel, load_panel, make_panel, panel_arrays

MODELS = ("fim-small", "nbeats-small", "fim-small+nbeats-small")
HORIZONS = {"MS": 18, "QS": 8, "YS": 6, "W": 13, "D": 14, "h": 48}
LEVEL = [80, 95]
BEYOND = 80
"""More steps than the models forecast at once, so that windows are rolled out."""


def compute_answers(model_name: str, panel: Panel | None = None, quick: bool = False) -> dict[str, np.ndarray]:
    """Golden answers of a bundled model, by `<call>/<column>`.

    Args:
        model_name: other models than `fim-small` only forecast and cross-validate.
        panel: the stored one by default.
        quick: one call of each kind, which share most of their compiled programs.
    """
    panel = load_panel() if panel is None else panel
    model = Forecaster.from_pretrained(model_name)
    if quick:
        calls = [one_of_each(model, panel)]
    else:
        calls = [forecasts(model, panel), backtests(model, panel), forecasts_of_arrays(model, panel)]
        if model_name == "fim-small":
            calls += [between(model, panel), anomalies(model, panel)]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short series are left out of backtests, with a warning
        for name, answer in (each for part in calls for each in part):
            found |= {f"{name}/{column}": numbers(answer[column]) for column in answer.columns}
    return found


def stored_answers(model_name: str) -> dict[str, np.ndarray]:
    """The answers of a model as they are stored."""
    with np.load(ANSWERS) as file:
        return {key.removeprefix(f"{model_name}/"): file[key] for key in file if key.startswith(f"{model_name}/")}


Answers = Iterator[tuple[str, pd.DataFrame]]


def one_of_each(model: Forecaster, panel: Panel) -> Answers:
    """A forecast, a backtest, an interpolation and anomalies by months."""
    monthly = panel.frames[MONTHLY]
    short = monthly[monthly["unique_id"].isin(["monthly_gaps", "monthly_counts", "monthly_constant"])]
    yield "forecast/MS/h=6", model.forecast(monthly, h=6, freq=MONTHLY, level=LEVEL)
    yield "cross_validation/MS/h=6", model.cross_validation(monthly, h=6, freq=MONTHLY, n_windows=2, level=[80])
    yield "interpolate/MS", model.interpolate(short, freq=MONTHLY, level=[80])
    yield "detect_anomalies/MS", model.detect_anomalies(monthly, level=99, freq=MONTHLY, h=6, n_windows=2)


def forecasts(model: Forecaster, panel: Panel) -> Answers:
    """Forecasts of frames: all frequencies, several horizons, and each option once."""
    for freq, df in panel.frames.items():
        h = HORIZONS[freq]
        yield f"forecast/{freq}/h={h}", model.forecast(df, h=h, freq=freq, level=LEVEL)
    monthly, hourly = panel.frames[MONTHLY], panel.frames[HOURLY]
    for h in (1, 6, 12):
        yield f"forecast/MS/h={h}", model.forecast(monthly, h=h, freq=MONTHLY, level=LEVEL)
    yield "forecast/MS/inferred", model.forecast(monthly, h=2)
    yield f"forecast/h/h={BEYOND}", model.forecast(hourly, h=BEYOND, freq=HOURLY, level=LEVEL)
    yield "forecast/MS/season_length=4", model.forecast(monthly, h=12, freq=MONTHLY, level=LEVEL, season_length=4)
    yield "forecast/MS/calibrate", model.forecast(monthly, h=6, freq=MONTHLY, level=LEVEL, calibrate=True)
    amounts = monthly[monthly["unique_id"].isin(["passengers", "monthly_counts", "monthly_large"])]
    yield "forecast/MS/nonnegative", model.forecast(amounts, h=12, freq=MONTHLY, level=LEVEL, nonnegative=True)
    few = [0.01, 0.25, 0.5, 0.9]
    yield "forecast/MS/bounds", model.forecast(monthly, h=6, freq=MONTHLY, quantiles=few, bounds=(1.0, 460.0))


def backtests(model: Forecaster, panel: Panel) -> Answers:
    """Cross-validation by months and, with overlapping windows, by hours."""
    monthly, hourly = panel.frames[MONTHLY], panel.frames[HOURLY]
    options = {"n_windows": 2, "level": [80]}
    yield "cross_validation/MS/h=6", model.cross_validation(monthly, h=6, freq=MONTHLY, **options)
    yield "cross_validation/h/step_size=7", model.cross_validation(hourly, h=12, freq=HOURLY, step_size=7, **options)


def forecasts_of_arrays(model: Forecaster, panel: Panel) -> Answers:
    """Forecasts of what is not a frame."""
    passengers = panel.frames[MONTHLY].query("unique_id == 'passengers'")["y"].to_numpy()
    (t, y), hours = panel.tuples["irregular"], panel.frames[HOURLY]["y"].to_numpy()
    yield "forecast/values", model.forecast(passengers, h=6, level=LEVEL)
    yield "forecast/values_season_length=12", model.forecast(passengers, h=12, level=LEVEL, season_length=12)
    yield "forecast/rows", model.forecast(hours[:160].reshape(4, 40), h=5, level=[80])
    yield "forecast/list", model.forecast([passengers[:30], hours[:100]], h=5, level=[80])
    yield "forecast/tuple", model.forecast((t, y), h=7, freq=1.0, level=LEVEL)
    yield "forecast/tuples", model.forecast(list(panel.tuples.values()), h=7, freq=2, level=LEVEL)
    yield "forecast/masked", model.forecast((t, y, np.arange(len(t)) % 3 > 0), h=4, freq=1.0, level=[80])


def between(model: Forecaster, panel: Panel) -> Answers:
    """What only FIM tells: gaps filled, any times, and slopes."""
    monthly, daily = panel.frames[MONTHLY], panel.frames[DAILY]
    short = monthly[monthly["unique_id"].isin(["monthly_gaps", "monthly_counts", "monthly_constant"])]
    yield "interpolate/MS", model.interpolate(short, freq=MONTHLY, level=[80])
    yield "interpolate/D", model.interpolate(daily, freq=DAILY, level=[80])
    yield "interpolate/tuples", model.interpolate(list(panel.tuples.values()), freq=1.0)
    t, y = panel.tuples["irregular"]
    times = np.linspace(-15.0, 120.0, 55)
    yield "query/tuple", model.query((t, y), times, freq=1.0, level=[80])
    yield "derivative/tuple", model.derivative((t, y), times, freq=1.0)
    tuples = list(panel.tuples.values())[1:]
    yield "query/tuples", model.query(tuples, np.array([1.0, 3.3, 6.0, 990.0, 1010.5, 1090.0]), freq=2.0, level=[80])
    dates = np.array(["2011-06-01", "2014-02-15", "2018-03-01", "2020-07-01T12:00"], "datetime64[s]")
    yield "query/MS", model.query(short, dates, freq=MONTHLY, level=[80])
    yield "derivative/MS", model.derivative(short, dates, freq=MONTHLY)


def anomalies(model: Forecaster, panel: Panel) -> Answers:
    """Anomalies by days, and in the last months."""
    monthly, daily = panel.frames[MONTHLY], panel.frames[DAILY]
    yield "detect_anomalies/D", model.detect_anomalies(daily, level=99, freq=DAILY)
    yield "detect_anomalies/MS", model.detect_anomalies(monthly, level=99, freq=MONTHLY, h=6, n_windows=2)


def numbers(column: pd.Series) -> np.ndarray:
    """A column of an answer as float64."""
    if column.name == "unique_id":
        return pd.factorize(column)[0].astype(np.float64)
    if column.dtype.kind == "M":
        return column.to_numpy("datetime64[ns]").astype(np.int64) / 1e9
    return column.to_numpy(np.float64)


def main() -> None:
    """Writes the panel and all answers."""
    panel = make_panel()
    arrays = panel_arrays(panel)
    for name in MODELS:
        arrays |= {f"{name}/{key}": x for key, x in compute_answers(name, panel).items()}
    np.savez_compressed(ANSWERS, **arrays)
    print(f"{len(arrays)} arrays, {ANSWERS.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
