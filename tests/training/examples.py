"""Runs small enough for tests: two families, short windows, networks of a few thousand parameters."""

import dataclasses
import json
from pathlib import Path

from fimjax.config import Config, ModelConfig, PriorConfig, PriorWeights, TrainingConfig, WindowConfig, to_dict
from tests.examples import (
    DEEPONET,
    FIM,
    FIM_LOCAL,
    QUANTILE_REPORT_FIM,
    REPORT_FIM,
    REPORT_FIM_LOCAL,
    WINDOW_COUNT,
)

ROOT = Path(__file__).parents[2]

WINDOWS = WindowConfig(count=WINDOW_COUNT, slots=8, min_steps=4, max_steps=12, min_history=3)
PRIOR = PriorConfig(
    weights=PriorWeights(chebyshev=1.0, random_walk=1.0),
    group_size=4,
    seasons=(1, 4),
    short_history=0.6,
    growth=0.9,
    noise=0.7,
    irregular=0.2,
    missing=0.4,
    hidden_floor=0.4,
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


def run_config(model: ModelConfig, **training) -> Config:
    """A run of `model`, with changes to the training settings."""
    return Config(model=model, windows=WINDOWS, prior=PRIOR, training=dataclasses.replace(TRAINING, **training))


FIM_RUN = run_config(FIM)
FIM_LOCAL_RUN = run_config(FIM_LOCAL)
REPORT_RUN = run_config(REPORT_FIM)
REPORT_LOCAL_RUN = run_config(REPORT_FIM_LOCAL)
QUANTILE_REPORT_RUN = run_config(dataclasses.replace(QUANTILE_REPORT_FIM, similarity_weight=0.1), average_decay=0.9)
DEEPONET_RUN = run_config(DEEPONET)
AVERAGED_RUN = run_config(DEEPONET, average_decay=0.9)


def write_config_file(folder: Path, config: Config) -> Path:
    """A config as a file that `train.py` reads."""
    path = folder / "config.py"
    path.write_text(
        "import json\nfrom fimjax.config import from_dict\n"
        f"def get_config():\n    return from_dict(json.loads({json.dumps(to_dict(config))!r}))\n"
    )
    return path
