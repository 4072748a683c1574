"""Runs small enough to test with: two families, short windows, a network of a few thousand numbers."""

import dataclasses
import json
from pathlib import Path

from fimjax.config import Config, PriorConfig, PriorWeights, TrainingConfig, to_dict
from tests import examples
from tests.examples import OPERATOR

# One layer each: the optimiser's part of a step takes the compiler longest, and it grows with the number of arrays.
LOCAL = dataclasses.replace(examples.LOCAL, layers=1, trunk_layers=1, projection=(2, 1))
RICH_LOCAL = dataclasses.replace(examples.RICH_LOCAL, layers=1, trunk_layers=1, projection=(2, 1))
FORECASTER = dataclasses.replace(examples.FORECASTER, local=LOCAL, layers=1)
RICH_FORECASTER = dataclasses.replace(examples.RICH_FORECASTER, local=RICH_LOCAL, layers=1)

ROOT = Path(__file__).parents[2]

NONE = dict.fromkeys(dataclasses.asdict(PriorWeights()), 0.0)
PRIOR = PriorConfig(
    weights=PriorWeights(**(NONE | {"chebyshev": 1.0, "random_walk": 1.0})),
    group_size=4,
    windows=4,
    slots=8,
    min_window_steps=4,
    max_window_steps=12,
    seasons=(1, 4),
)
TRAINING = TrainingConfig(
    steps=6,
    batch_size=16,
    learning_rate=1e-3,
    warmup_steps=2,
    log_every=1,
    validate_every=3,
    validation_series=16,
    max_bad_steps=3,
)


def run_config(model, **training) -> Config:
    """A run of `model`, with changes to the training settings."""
    return Config(model=model, prior=PRIOR, training=dataclasses.replace(TRAINING, **training))


LOCAL_RUN = run_config(LOCAL)
OPERATOR_RUN = run_config(OPERATOR)
FIM_RUN = run_config(dataclasses.replace(FORECASTER, freeze_local=False))
FROZEN_RUN = run_config(FORECASTER)
RICH_RUN = run_config(
    dataclasses.replace(RICH_FORECASTER, similarity_weight=0.1, freeze_local=False), average_decay=0.9
)
RICH_LOCAL_RUN = run_config(RICH_LOCAL)
AVERAGED_RUN = run_config(OPERATOR, average_decay=0.9)


def write_config_file(folder: Path, config: Config) -> Path:
    """A config as a file that `train.py` reads."""
    path = folder / "config.py"
    path.write_text(
        "import json\nfrom fimjax.config import from_dict\n"
        f"def get_config():\n    return from_dict(json.loads({json.dumps(to_dict(config))!r}))\n"
    )
    return path
