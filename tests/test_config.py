"""Configs: the files, the way to JSON and back, and errors that name their key."""

import json
from pathlib import Path

import jax
import pytest

from fimjax.cli.train import load_config, parse, usable_cores
from fimjax.config import (
    Config,
    DeepONetConfig,
    FIMConfig,
    FIMLocalConfig,
    PriorConfig,
    PriorWeights,
    TrainingConfig,
    differing_keys,
    from_dict,
    to_dict,
)
from fimjax.errors import ConfigError
from fimjax.models import build_model, count_params, init_params
from fimjax.prior.sampler import family_counts

FILES = sorted(p for p in (Path(__file__).parents[1] / "configs").glob("*.py") if p.stem != "__init__")


def parameters(path: Path) -> int:
    model = build_model(load_config(path).model)
    return count_params(jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0)))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_config_file_loads_and_survives_json(path):
    config = load_config(path)
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    assert sum(family_counts(config.prior.weights, config.prior.group_size).values()) == config.prior.group_size
    assert parameters(path) > 1_000


def test_sizes():
    sizes = {path.stem: parameters(path) for path in FILES}
    assert sizes == {  # FIM's count holds its FIM-l's
        "paper_fim_local": 22_465_281,
        "paper_fim": 22_465_281 + 27_456_256,
        "small_fim_local": 194_220,
        "small_fim": 194_220 + 488_094,
        "bundled_fim": 194_220 + 488_094,
        "first_fim": 659_250,
        "frozen_fim_local": 350_745,
        "frozen_fim": 350_745 + 527_376,
        "tiny_fim_local": 49_009,
        "tiny_fim": 49_009 + 58_442,
        "tiny_deeponet": 59_169,
        "nbeats": 8_229_984,
        "mqcnn": 61_469,
        "patchtst": 844_250,
        "chronos_bolt": 8_652_672,
        "small_nbeats": 660_288,
        "bundled_nbeats": 660_288,
        "small_mqcnn": 627_361,
        "small_patchtst": 674_498,
        "small_chronos_bolt": 673_600,
    }


@pytest.mark.parametrize("name", ["paper", "small", "frozen", "tiny"])
def test_pairs_fit_together(name):
    local, fim = (load_config(FILES[0].parent / f"{name}_{part}.py") for part in ("fim_local", "fim"))
    assert fim.model.local == local.model
    assert (fim.prior.windows, fim.prior.slots) == (local.prior.windows, local.prior.slots)


def test_the_papers_configs_leave_the_additions_off():
    for path in FILES:
        if path.stem.startswith("paper"):
            model = load_config(path).model
            local = getattr(model, "local", model)
            assert local.season_harmonics == local.time_waves == 0 and local.quantile_levels == ()
            assert getattr(model, "query_layers", 0) == getattr(model, "interpolation_weight", 0) == 0
            assert not getattr(model, "learned_scale", False) and getattr(model, "freeze_local", True)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: FIMLocalConfig(width=16, heads=3), "heads: 3 does not divide"),
        (lambda: FIMLocalConfig(quantile_levels=(0.5, 0.1)), "quantile_levels: levels must rise"),
        (lambda: FIMLocalConfig(quantile_levels=(0.0, 0.5)), "quantile_levels: levels must rise"),
        (lambda: FIMLocalConfig(heads=0), "heads, feedforward: must be positive"),
        (lambda: FIMLocalConfig(projection=()), "projection: at least one"),
        (lambda: FIMConfig(windows=1), "windows: at least 2"),
        (lambda: PriorWeights(ets=-1.0), "weights.ets: -1.0"),
        (lambda: PriorConfig(seasons=(1, 400)), "seasons: lengths"),
        (lambda: PriorConfig(missing=1.5), "missing: 1.5"),
        (lambda: TrainingConfig(steps=0), "steps: must be positive"),
        (lambda: TrainingConfig(steps=10, steps_per_dispatch=3), "steps: 10 is not a multiple of steps_per_dispatch"),
        (lambda: Config(model=FIMConfig(windows=4)), "model.windows: 4 differs from prior.windows 5"),
        (lambda: Config(model=DeepONetConfig(sensors=8)), "model.sensors: 8 is less than prior.slots 128"),
        (lambda: from_dict({"kind": "TrainingConfig", "stepz": 3}), "TrainingConfig: unknown keys stepz"),
        (lambda: from_dict({"kind": "Nothing"}), "kind: 'Nothing'"),
    ],
)
def test_a_setting_that_cannot_work_is_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_differences_are_named_by_key():
    a, b = FIMConfig(), FIMConfig(local=FIMLocalConfig(width=128), layers=2)
    assert differing_keys(a, b, "model.") == ["model.local.width: 256 against 128", "model.layers: 8 against 2"]
    assert differing_keys(a, a) == []


TINY = ["--config", str(FILES[0].parent / "tiny_fim.py"), "--run", "somewhere"]


def test_any_field_can_be_overridden_on_the_command_line():
    arguments = parse(
        [*TINY, "--model.local.width", "48", "--prior.weights.ets", "7", "--training.schedule", "inverse_sqrt"]
    )
    settings = arguments.settings
    assert settings.model.local.width == 48 and settings.prior.weights.ets == 7.0
    assert settings.training.schedule == "inverse_sqrt"
    untouched = load_config(Path(TINY[1]))
    assert settings.prior.slots == untouched.prior.slots and settings.model.layers == untouched.model.layers


@pytest.mark.parametrize(
    "override, named",
    [
        (["--model.widht", "3"], "--model.widht"),
        (["--training.steps", "many"], "--training.steps"),
        (["--training.schedule", "linear"], "--training.schedule"),
        (["--model.heads", "5"], "heads: 5 does not divide"),
    ],
)
def test_a_wrong_key_type_or_value_is_an_error_that_names_it(override, named, capsys):
    with pytest.raises(SystemExit) as stop:
        parse([*TINY, *override])
    assert stop.value.code == 2
    assert named in capsys.readouterr().err


def test_help_explains_itself(capsys):
    with pytest.raises(SystemExit) as stop:
        parse([*TINY, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for said in ("--model.local.width", "--prior.weights.ets", "--training.learning-rate", "--cpu-devices", "--resume"):
        assert said in text


def test_any_number_of_cores_can_train_the_configs():
    for path in FILES:
        config = load_config(path)
        for cores in (1, 2, 3, 4, 8, 13, 64):
            devices = usable_cores(config, cores)
            assert 1 <= devices <= cores and devices >= min(cores, 2)
            for series in (config.training.batch_size, config.training.validation_series):
                assert series % (devices * config.prior.group_size) == 0
    assert usable_cores(load_config(FILES[0].parent / "paper_fim.py"), 8) == 8


@pytest.mark.parametrize(
    "text, message",
    [("x = 1", "has no get_config"), ("def get_config():\n    return 3", "returned int, not Config")],
)
def test_a_file_that_is_no_config_is_named(tmp_path, text, message):
    (tmp_path / "odd.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "odd.py")
    with pytest.raises(ConfigError, match="nowhere.py is not a file"):
        load_config(tmp_path / "nowhere.py")
