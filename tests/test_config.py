"""Configs: recipes, neutral defaults, JSON and back, stored configs of fimjax 0.1, errors that name their key."""

import dataclasses
import json
from pathlib import Path

import pytest

from fimjax.cli.train import load_config, parse, usable_cores
from fimjax.config import (
    SCHEMA,
    Config,
    DeepONetConfig,
    FIMConfig,
    FIMLocalConfig,
    NBEATSConfig,
    PriorConfig,
    PriorWeights,
    ReportFIMConfig,
    ReportFIMLocalConfig,
    TrainingConfig,
    WindowConfig,
    differing_keys,
    from_dict,
    to_dict,
)
from fimjax.config.prior import SHARES
from fimjax.errors import ConfigError
from fimjax.models import build_model, count_params, param_shapes
from fimjax.prior.sampler import family_counts
from tests.golden.write_configs import all_recipes

GOLDEN = Path(__file__).parent / "golden"
RECIPES = json.loads((GOLDEN / "configs.json").read_text())
OLD_CONFIGS = json.loads((GOLDEN / "configs_old.json").read_text())
REMOVED = {
    "first_fim": "model.smoothers: False is an option that fimjax no longer has",
    "tiny_fim@quantiles": "model.season_harmonics: 2 is an option that fimjax no longer has",
    "tiny_fim@similarity": "model.freeze_local: False is an option that fimjax no longer has",
    "tiny_fim_local@norm_last": "model.norm_first: False is an option that fimjax no longer has",
}
"""Configs of fimjax 0.1 with an option that no longer exists, and the beginning of the error."""
SIZES = {  # FIM's count includes its FIM-l's
    "paper_fim_local": 22_465_281,
    "paper_fim": 22_465_281 + 27_456_256,
    "small_fim_local": 194_220,
    "small_fim": 194_220 + 488_094,
    "bundled_fim": 194_220 + 488_094,
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
CONFIGS = Path(__file__).parents[1] / "configs"


def recipe(name: str) -> Config:
    return load_config(CONFIGS / f"{name}.py")


def test_recipes_are_their_golden_dictionaries():
    """If a recipe has changed on purpose, write them anew with `python -m tests.golden.write_configs`."""
    assert json.loads(json.dumps(all_recipes())) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_json_and_has_the_known_number_of_parameters(name):
    config = recipe(name)
    assert RECIPES[name]["schema"] == SCHEMA
    assert from_dict(RECIPES[name]) == config
    assert sum(family_counts(config.prior.weights, config.prior.group_size).values()) == config.prior.group_size
    assert count_params(param_shapes(build_model(config.model, config.windows.count))) == SIZES[name]


@pytest.mark.parametrize("name", ["paper", "small", "tiny"])
def test_a_fim_recipe_fits_the_recipe_of_its_fim_l(name):
    local, fim = recipe(f"{name}_fim_local"), recipe(f"{name}_fim")
    assert fim.model.local == local.model and fim.windows == local.windows


def test_the_papers_recipes_are_the_reports_models():
    local, fim = recipe("paper_fim_local").model, recipe("paper_fim").model
    assert local == ReportFIMLocalConfig() and fim == ReportFIMConfig()
    assert fim.quantile_levels == () and not (fim.positional_encoding or fim.learned_scale or fim.similarity_weight)


def test_a_config_that_names_nothing_has_every_effect_off():
    config = Config(model=FIMConfig())
    # A factor on the noise, and a share of floors to hide, have no effect at 1.
    neutral = dict.fromkeys(SHARES, 0.0) | {"process_noise": 1.0, "hidden_floor": 1.0}
    assert {name: getattr(config.prior, name) for name in SHARES} == neutral
    assert config.prior.seasons == (1,)
    assert set(dataclasses.asdict(config.prior.weights).values()) == {0.0}
    with pytest.raises(ConfigError, match="weights: at least one family needs a positive weight"):
        family_counts(config.prior.weights, config.prior.group_size)


@pytest.mark.parametrize("name", [name for name in OLD_CONFIGS if name not in REMOVED])
def test_a_stored_config_without_a_schema_is_upgraded(name):
    config, old = from_dict(OLD_CONFIGS[name]), OLD_CONFIGS[name]["prior"]
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    windows = ("windows", "slots", "min_window_steps", "max_window_steps", "min_context")
    assert config.windows == WindowConfig(*(old[key] for key in windows))
    prior = config.prior
    assert (prior.daily_pattern, prior.weekly_pattern, prior.level_noise) == (old["days"], old["weeks"], old["unrest"])
    if name in RECIPES:
        assert config.model == recipe(name).model and config.windows == recipe(name).windows


@pytest.mark.parametrize("name", REMOVED)
def test_a_stored_config_with_a_removed_option_is_refused(name):
    with pytest.raises(ConfigError) as caught:
        from_dict(OLD_CONFIGS[name])
    assert str(caught.value).startswith(REMOVED[name]) and "\n" not in str(caught.value)


def changed(**entries):
    return lambda: from_dict({**RECIPES["tiny_fim"], **entries})


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: FIMLocalConfig(width=16, heads=3), "heads: 3 does not divide"),
        (lambda: FIMLocalConfig(quantile_levels=(0.5, 0.1)), "quantile_levels: must rise strictly"),
        (lambda: FIMLocalConfig(quantile_levels=(0.0, 0.5)), "quantile_levels: must rise strictly"),
        (lambda: FIMLocalConfig(heads=0), "heads, feedforward: must be positive"),
        (lambda: FIMLocalConfig(query_layers=0), "query_layers: at least 1"),
        (lambda: FIMConfig(anchor_heads=0), "anchor_heads: 0 does not divide local.width 48"),
        (lambda: FIMConfig(interpolation_weight=-1.0), "interpolation_weight: must not be negative"),
        (lambda: ReportFIMLocalConfig(projection=()), "projection: at least one"),
        (lambda: ReportFIMConfig(similarity_weight=-1.0), "similarity_weight: must not be negative"),
        (lambda: WindowConfig(count=1), "windows.count: at least 2"),
        (lambda: WindowConfig(min_steps=9, max_steps=8), "windows.min_steps: 9 is not between 2 and"),
        (lambda: PriorWeights(ets=-1.0), "weights.ets: -1.0"),
        (lambda: PriorConfig(seasons=(1, 400)), "seasons: lengths"),
        (lambda: PriorConfig(missing=1.5), "missing: 1.5"),
        (lambda: TrainingConfig(steps=0), "steps: must be positive"),
        (lambda: TrainingConfig(steps=10, steps_per_dispatch=3), "steps: 10 is not a multiple of steps_per_dispatch"),
        (lambda: TrainingConfig(point_capacity=0.0), r"point_capacity: must lie in \(0, 1\], not 0.0"),
        (lambda: TrainingConfig(attention="cudnn"), "attention: cudnn needs precision bfloat16"),
        (lambda: Config(model=DeepONetConfig(sensors=8)), "model.sensors: 8 is less than windows.slots 128"),
        (lambda: Config(model=NBEATSConfig()), "model.horizon: 24 is less than windows.max_steps 96"),
        (lambda: from_dict({"kind": "TrainingConfig", "stepz": 3}), "TrainingConfig: unknown keys stepz"),
        (lambda: from_dict({"kind": "Nothing"}), "kind: 'Nothing' is not one of"),
        (changed(colour="red"), "Config: unknown keys colour"),
        (changed(schema=SCHEMA + 1), f"schema: {SCHEMA + 1} was written by a newer fimjax; .* up to {SCHEMA}"),
        (changed(schema="new"), "schema: 'new' is not a schema version"),
        (changed(windows={**to_dict(WindowConfig()), "slots": 1}), "windows.slots: at least 2"),
        (changed(windows={"kind": "WindowConfig", "slots": 8}), "WindowConfig: missing keys count, max_steps"),
        (changed(windows={**to_dict(WindowConfig()), "slots": "8"}), "WindowConfig.slots: '8' is not a whole number"),
    ],
)
def test_an_impossible_setting_is_named(make, message):
    with pytest.raises(ConfigError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_differences_are_named_by_key():
    a, b = FIMConfig(), FIMConfig(local=FIMLocalConfig(width=128), layers=2)
    assert differing_keys(a, b, "model.") == ["model.local.width: 48 instead of 128", "model.layers: 4 instead of 2"]
    assert differing_keys(a, a) == []
    assert differing_keys(a, DeepONetConfig(), "model.") == ["model: FIMConfig instead of DeepONetConfig"]


TINY = ["--config", str(CONFIGS / "tiny_fim.py"), "--run", "somewhere"]


def test_any_field_can_be_overridden_on_the_command_line():
    overrides = {
        "--model.local.width": "48",
        "--windows.slots": "40",
        "--prior.weights.ets": "7",
        "--training.schedule": "inverse_sqrt",
    }
    settings = parse([*TINY, *(text for pair in overrides.items() for text in pair)]).settings
    assert settings.model.local.width == 48 and settings.windows.slots == 40
    assert settings.prior.weights.ets == 7.0 and settings.training.schedule == "inverse_sqrt"
    untouched = recipe("tiny_fim")
    assert settings.windows.count == untouched.windows.count and settings.model.layers == untouched.model.layers


@pytest.mark.parametrize(
    "override, named",
    [
        (["--model.widht", "3"], "--model.widht"),
        (["--training.steps", "many"], "--training.steps"),
        (["--training.schedule", "linear"], "--training.schedule"),
        (["--model.heads", "5"], "heads: 5 does not divide"),
    ],
)
def test_a_wrong_option_type_or_value_is_named(override, named, capsys):
    with pytest.raises(SystemExit) as stop:
        parse([*TINY, *override])
    assert stop.value.code == 2
    assert named in capsys.readouterr().err


def test_help_lists_every_kind_of_setting(capsys):
    with pytest.raises(SystemExit) as stop:
        parse([*TINY, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for option in ("model.local.width", "windows.slots", "prior.weights.ets", "training.learning-rate", "resume"):
        assert f"--{option}" in text


def test_any_number_of_cores_can_train_the_recipes():
    for name in RECIPES:
        config = recipe(name)
        for cores in (1, 2, 3, 4, 8, 13, 64):
            devices = usable_cores(config, cores)
            assert 1 <= devices <= cores and devices >= min(cores, 2)
            for series in (config.training.batch_size, config.training.validation_series):
                assert series % (devices * config.prior.group_size) == 0
    assert usable_cores(recipe("paper_fim"), 8) == 8


@pytest.mark.parametrize(
    "text, message",
    [("x = 1", "has no get_config"), ("def get_config():\n    return 3", "returned int, not Config")],
)
def test_a_file_that_is_not_a_config_is_named(tmp_path, text, message):
    (tmp_path / "odd.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "odd.py")
    with pytest.raises(ConfigError, match="nowhere.py is not a file"):
        load_config(tmp_path / "nowhere.py")
