"""What a measured process does: a task a line on its standard input, an answer a line on its standard output.

Memory is that of one process that forecasts every frequency in turn and keeps all answers:

- `peak` is the raw figure: the highest resident memory (VmHWM) after the input was made, with the interpreter, pandas,
  the input, the contender's libraries, all that it works with, and the output;
- `input` is by how much resident memory grew when the input frames were made, before the contender was imported;
- `output` is the size of what it answered, column by column;
- `rest` is peak - input - output: what a machine needs on top of the frames that a caller holds anyway.

The peak of making the input does not count: the mark is reset when the input is there. AutoETS is measured with one
process; with several, each would take about as much again.
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

from benchmarks.contenders import Forecast, load
from benchmarks.processes import peak, reset_peak, resident
from benchmarks.series import BY_NAME, GROUPS, counts, make_frame, make_frames

cached_load = functools.cache(load)
cached_frames = functools.cache(make_frames)


def first(started: float, **contender: Any) -> float:
    """Seconds from the start of the process to its first forecast, of one monthly series."""
    group = BY_NAME["monthly"]
    frame = make_frame(group, 1)
    check(load(**contender)(frame, group), group.horizon)
    return time.monotonic() - started


def speed(series: int, **contender: Any) -> dict[str, float]:
    """Seconds that each frequency takes, of so many series in all."""
    forecast, seconds = cached_load(**contender), {}
    for name, frame in cached_frames(series).items():
        start = time.perf_counter()
        answer = forecast(frame, BY_NAME[name])
        seconds[name] = time.perf_counter() - start
        check(answer, counts(series)[name] * BY_NAME[name].horizon)
    return seconds


def memory(series: int, **contender: Any) -> dict[str, int]:
    """Bytes of memory that so many series take; see the top of the file."""
    make_frames(len(GROUPS))  # pandas imports some of its parts late
    before = resident()
    frames = make_frames(series)
    taken = resident() - before
    reset_peak()
    forecast: Forecast = load(**contender)
    answers = {name: forecast(frame, BY_NAME[name]) for name, frame in frames.items()}
    highest, output = peak(), sum(map(size, answers.values()))
    for name, answer in answers.items():
        check(answer, counts(series)[name] * BY_NAME[name].horizon)
    nominal = sum(map(size, frames.values()))
    return {
        "peak": highest,
        "input": taken,
        "output": output,
        "rest": highest - taken - output,
        "input_columns": nominal,
    }


def model(folder: str) -> str | None:
    """What fimjax is to load: None for the bundled weights, or the folder, where random ones are written instead."""
    import jax

    from configs.small_fim import get_config
    from fimjax import Forecaster
    from fimjax.checkpoints.pretrained import DEFAULT, bundled
    from fimjax.models import build_model, init_params

    if DEFAULT in bundled():
        return None
    config = get_config()
    params = jax.jit(lambda: init_params(build_model(config.model), jax.random.key(0)))()
    Forecaster(config, params).save_pretrained(folder)
    return folder


def size(answer: pd.DataFrame | np.ndarray) -> int:
    """Bytes of an array or of a frame's columns; of ids the references only, for the texts are the input's."""
    return int(answer.nbytes if isinstance(answer, np.ndarray) else answer.memory_usage(deep=False).sum())


def check(answer: pd.DataFrame | np.ndarray, steps: int) -> None:
    """Sees that there is a number for every step of every series."""
    if isinstance(answer, pd.DataFrame):
        numbers = answer.select_dtypes("number").to_numpy()  # [N * h, L]
    else:
        numbers = answer.reshape(-1, answer.shape[-1])  # from [N, h, L]
    if len(numbers) != steps or not numbers.shape[1] or not np.isfinite(numbers).all():
        raise RuntimeError(f"an answer of the shape {numbers.shape} is not {steps} finite steps")


TASKS: dict[str, Callable[..., Any]] = {"first": first, "speed": speed, "memory": memory, "model": model}


def main() -> None:
    # AllForecasts have a channel of their own: whatever a library prints goes to the errors.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            settings = json.loads(line)
            print(json.dumps(TASKS[settings.pop("task")](**settings)), file=answers, flush=True)


if __name__ == "__main__":
    main()
