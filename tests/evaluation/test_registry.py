import dataclasses

import numpy as np
import pandas as pd
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.forecasts import require_finite
from fimjax.evaluation.registry import BenchmarkModel, ask, find_models
from fimjax.forecaster import Forecaster
from tests.evaluation.examples import Broken, Repeater, make_dataset

KNOWN = ("naive", "sicoum")
OBJECT = "tests.evaluation.examples:Repeater"


def test_contenders_by_name_and_by_object():
    naive, mine = find_models(["naive", f"mine={OBJECT}"], KNOWN, {"mine": ("m1_yearly",)})
    assert naive.is_statistical and naive.name == "naive"
    assert mine.name == "mine" and isinstance(mine.model, Repeater)
    assert mine.has_seen("m4_daily") and mine.has_seen("m1_yearly") and not mine.has_seen("m1_monthly")


@pytest.mark.parametrize(
    "specs, message",
    [
        (["wizard"], "model 'wizard' is unknown: neither fim, fim-small, nbeats-small, nor naive, sicoum"),
        (["naive", "naive"], "model 'naive' is asked for twice"),
        (["naive=tests.evaluation.examples:Repeater"], "'naive' is the name of a statistical model"),
        (["no.such.module:Model"], "cannot be loaded: ModuleNotFoundError: No module named 'no'"),
        (["tests.evaluation.examples:Nobody"], "cannot be loaded: .*Nobody"),
        (["tests.evaluation.examples:make_dataset"], "a Dataset has no method forecast"),
        (["tests"], "model 'tests' cannot be loaded: "),  # a folder, but not that of a run
        (["x=:y"], "cannot be loaded: ValueError"),
        (["tests.evaluation.examples:fails"], "cannot be loaded: RuntimeError: no luck"),
        (["../up=tests.evaluation.examples:Repeater"], "'../up' is no name for a model"),
        (["[/b]=tests.evaluation.examples:Repeater"], "is no name for a model"),
        (["paper: x=tests.evaluation.examples:Repeater"], "is no name for a model"),
        (["tests.evaluation.examples:BadVersion"], "its version is not text"),
        (["tests.evaluation.examples:BadTraining"], "trained_on has 'M3', no data set or competition"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_in_a_sentence(specs, message):
    with pytest.raises(EvaluationError, match=message) as error:
        find_models(specs, KNOWN, {})
    assert "\n" not in str(error.value)


def test_fim_is_the_bundled_model():
    (fim,) = find_models(["fim"], KNOWN, {})
    assert fim.name == "fim" and fim.version == Forecaster.from_pretrained().version and not fim.trained_on


def test_calibrated_intervals_are_a_contender():
    plain, calibrated = find_models(["fim", "calibrated=fimjax.evaluation.variants:calibrated"], (), {})
    assert plain.version != calibrated.version
    dataset = make_dataset(series=4)
    found, widened = (ask(contender, dataset) for contender in (plain, calibrated))
    np.testing.assert_allclose(widened.point, found.point)
    assert not np.allclose(widened.quantiles, found.quantiles)


def test_answers_may_come_in_any_order():
    dataset = make_dataset(series=4)
    found = ask(BenchmarkModel("mine", Repeater()), dataset)
    np.testing.assert_array_equal(found.ids, dataset.ids)
    np.testing.assert_array_equal(found.point, [[y[-1]] * 6 for y in dataset.histories])
    assert np.all(np.diff(found.quantiles, axis=-1) > 0)


def test_other_frames_and_kinds_of_ids_will_do():
    class Other(Repeater):
        def forecast(self, *args, **rest):
            frame = super().forecast(*args, **rest)
            frame["unique_id"] = frame["unique_id"].astype("category")
            return type("Frame", (), {"to_pandas": lambda self: frame})()

    assert ask(BenchmarkModel("mine", Other()), make_dataset()).is_finite().all()


def test_what_a_model_raises_is_told_in_a_sentence():
    class Raising(Repeater):
        def forecast(self, *_, **__):
            raise RuntimeError("out of\nmemory")

    with pytest.raises(EvaluationError, match="^model mine on m3_yearly: RuntimeError: out of memory$"):
        ask(BenchmarkModel("mine", Raising()), make_dataset())


def test_one_name_is_as_good_as_a_list_and_statistical_models_can_have_seen_data():
    (model,) = find_models(["tests.evaluation.examples:OneName"], KNOWN, {})
    assert model.has_seen("m3_yearly")
    (naive,) = find_models(["naive"], KNOWN, {"naive": ("m1",)})
    assert naive.has_seen("m1_yearly")


def test_a_module_in_the_working_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "my_own_model.py").write_text("from tests.evaluation.examples import Repeater as Mine")
    monkeypatch.chdir(tmp_path)
    (mine,) = find_models(["mine=my_own_model:Mine"], KNOWN, {})
    assert isinstance(mine.model, Repeater)


def test_a_folder_with_an_equals_sign_is_a_folder(tmp_path, monkeypatch):
    (tmp_path / "lr=1").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvaluationError, match="'lr=1' is no name for a model; give it one"):
        find_models(["lr=1"], KNOWN, {})
    with pytest.raises(EvaluationError, match="model 'mine=lr=1' cannot be loaded"):
        find_models(["mine=lr=1"], KNOWN, {})


@pytest.mark.parametrize("shift, told", [(0.0, True), (-1e9, False)])
def test_a_model_that_takes_it_is_told_whether_a_history_has_negative_values(shift, told):
    class Listening(Repeater):
        def forecast(self, df, h, *, nonnegative, **rest):
            heard.append(nonnegative)
            return super().forecast(df, h, **rest)

    heard, dataset = [], make_dataset()
    moved = dataclasses.replace(dataset, histories=[np.abs(y) + shift for y in dataset.histories])
    ask(BenchmarkModel("mine", Listening()), moved)
    assert heard == [told]


def test_quantiles_that_cross_are_sorted():
    class Crossing(Repeater):
        def forecast(self, df, h, **rest):
            frame = super().forecast(df, h, **rest)
            frame[["R-q-10", "R-q-90"]] = frame[["R-q-90", "R-q-10"]].to_numpy()
            return frame

    assert np.all(np.diff(ask(BenchmarkModel("mine", Crossing()), make_dataset()).quantiles, axis=-1) >= 0)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda f: f.drop(columns="R-q-2.5"), "its answer needs one column 'R-q-2.5'"),
        (lambda f: f.drop(columns="R-q-50"), "one column that ends in '-q-50', and has 0"),
        (lambda f: f.iloc[1:], "the 6 steps after each history once; see series S4"),
        (lambda f: f.assign(ds=f["ds"] + 1), "the 6 steps after each history once"),
        (lambda f: f.replace({"unique_id": {"S1": "S9"}}), "see series S9"),
        (lambda f: f.assign(ds=f["ds"] + 0.5), "the 6 steps after each history once"),
        (lambda f: f.assign(ds="2020"), "column 'ds' of its answer holds object, not numbers"),
        (lambda f: f.assign(R="1"), "column 'R' of its answer holds object, not numbers"),
        (lambda f: pd.concat([f, f.iloc[[8]]]), "once; see series S3"),
        (lambda f: pd.concat([f, f[["R"]]], axis=1), "its answer needs one column 'R'"),
        (lambda f: None, "AttributeError: 'NoneType'"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_in_a_sentence(damage, message):
    class Damaged(Repeater):
        def forecast(self, *args, **rest):
            return damage(super().forecast(*args, **rest))

    with pytest.raises(EvaluationError, match=message):
        ask(BenchmarkModel("mine", Damaged()), make_dataset())


def test_a_forecast_that_is_not_finite_is_refused_by_series_and_step():
    forecasts = ask(BenchmarkModel("mine", Broken()), make_dataset())
    with pytest.raises(
        EvaluationError, match="model mine on m3_yearly: the forecast of series S2 is not finite at step 1"
    ):
        require_finite(forecasts, "mine", "m3_yearly")
