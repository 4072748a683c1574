"""The tasks of a measured process: it reads one task per line of standard input and prints one result per line.

Memory is that of one process that forecasts every frequency in turn and keeps all forecasts:

- `peak` is the highest resident memory (VmHWM) after the input was made: interpreter, pandas, input, the model's
  libraries, its working memory and the output;
- `input` is the growth of resident memory when the input frames were made, before the model was imported;
- `output` is the size of the forecasts, column by column;
- `rest` is peak - input - output: what a machine needs on top of the frames that a caller holds anyway.

The peak of making the input does not count, because the mark is reset afterwards. AutoETS is measured with one process;
with several, each would take about as much again.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers import Forecast, load
from benchmarks.processes import peak, reset_peak, resident
from benchmarks.series import BY_NAME, GROUPS, counts, make_frame, make_frames

cached_load = functools.cache(load)
cached_frames = functools.cache(make_frames)


def first(started: float, **peer: Any) -> float:
    """Seconds from the start of the process to its first forecast of one monthly series."""
    group = BY_NAME["monthly"]
    frame = make_frame(group, 1)
    check(load(**peer)(frame, group), group.horizon)
    return time.monotonic() - started


def speed(series: int, **peer: Any) -> dict[str, float]:
    """Seconds for each frequency, with this many series in total."""
    forecast, seconds = cached_load(**peer), {}
    for name, frame in cached_frames(series).items():
        start = time.perf_counter()
        found = forecast(frame, BY_NAME[name])
        seconds[name] = time.perf_counter() - start
        check(found, counts(series)[name] * BY_NAME[name].horizon)
    return seconds


def memory(series: int, **peer: Any) -> dict[str, int]:
    """Bytes of memory for this many series; see the top of the file."""
    make_frames(len(GROUPS))  # pandas imports some modules late
    before = resident()
    frames = make_frames(series)
    taken = resident() - before
    reset_peak()
    forecast: Forecast = load(**peer)
    forecasts = {name: forecast(frame, BY_NAME[name]) for name, frame in frames.items()}
    highest, output = peak(), sum(map(size, forecasts.values()))
    for name, found in forecasts.items():
        check(found, counts(series)[name] * BY_NAME[name].horizon)
    nominal = sum(map(size, frames.values()))
    return {
        "peak": highest,
        "input": taken,
        "output": output,
        "rest": highest - taken - output,
        "input_columns": nominal,
    }


def model(folder: str) -> str | None:
    """Source of fimjax's weights: None for the bundled ones, else the folder, with new random weights."""
    import jax

    from configs.small_fim import get_config
    from fimjax import Forecaster
    from fimjax.checkpoints.pretrained import DEFAULT, bundled
    from fimjax.models import build_model, init_params

    if DEFAULT in bundled():
        return None
    config = get_config()
    params = jax.jit(lambda: init_params(build_model(config.model, config.windows.count), jax.random.key(0)))()
    Forecaster(config, params).save_pretrained(folder)
    return folder


def size(forecasts: pd.DataFrame | np.ndarray) -> int:
    """Bytes of an array or of a frame's columns; ids count as references, because their text belongs to the input."""
    return int(forecasts.nbytes if isinstance(forecasts, np.ndarray) else forecasts.memory_usage(deep=False).sum())


def check(forecasts: pd.DataFrame | np.ndarray, steps: int) -> None:
    """Checks that every step of every series has a finite forecast."""
    if isinstance(forecasts, pd.DataFrame):
        numbers = forecasts.select_dtypes("number").to_numpy()  # [B * h, L]
    else:
        numbers = forecasts.reshape(-1, forecasts.shape[-1])  # from [B, h, L]
    if len(numbers) != steps or not numbers.shape[1] or not np.isfinite(numbers).all():
        raise RuntimeError(f"forecasts of shape {numbers.shape} are not {steps} finite steps")


TASKS: dict[str, Callable[..., Any]] = {"first": first, "speed": speed, "memory": memory, "model": model}


def main() -> None:
    # Results have their own channel: whatever a library prints goes to standard error.
    with os.fdopen(os.dup(1), "w") as results:
        os.dup2(2, 1)
        for line in sys.stdin:
            settings = json.loads(line)
            print(json.dumps(TASKS[settings.pop("task")](**settings)), file=results, flush=True)


if __name__ == "__main__":
    main()
