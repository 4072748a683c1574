"""Exports: the same numbers as the direct call, for any number of series, and for accelerators that are not here."""

import functools
import sys

import jax
import numpy as np
import pytest
from jax import export

from fimjax.errors import ExportError
from fimjax.inference.export import export_forecast, load_exported
from fimjax.inference.predict import forecast_windows, inference_config
from tests.examples import LEVELS
from tests.inference.parameters import params_of
from tests.training.examples import FIM_RUN, REPORT_LOCAL_RUN

POINTS, H = 20, 5
PARAMS = params_of(FIM_RUN)


def inputs(batch, seed=0):
    rng = np.random.default_rng(seed)
    return (
        np.tile(np.arange(1 - POINTS, 1, dtype=np.float32), (batch, 1)),
        rng.normal(size=(batch, POINTS)).cumsum(axis=1).astype(np.float32),
        rng.random((batch, POINTS)) < 0.8,
        rng.integers(H, H + 3, batch, dtype=np.int32),
        rng.choice(np.array([1, 4, 7, 12], np.int32), batch),
        np.tile(np.arange(1, H + 1, dtype=np.float32), (batch, 1)),
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "fim.jaxexport"
    export_forecast(FIM_RUN, PARAMS, path, points=POINTS, h=H, platforms=("cpu", "cuda", "tpu"))
    return path


@pytest.mark.parametrize("batch", [1, 4])
def test_the_same_numbers_as_the_direct_call(path, batch):
    found = load_exported(path)(*inputs(batch))
    assert found.shape == (batch, H, len(LEVELS)) and found.dtype == np.float32
    direct = jax.jit(functools.partial(forecast_windows, inference_config(FIM_RUN)))
    np.testing.assert_allclose(found, direct(PARAMS, *inputs(batch)), rtol=1e-5, atol=1e-5)
    assert np.isfinite(found).all()


def test_each_series_has_its_own_season(path):
    *rest, season, query_times = inputs(4)
    forecast = load_exported(path)
    before, after = (forecast(*rest, x, query_times) for x in (season, np.where([1, 0, 0, 0], 5, season)))
    np.testing.assert_array_equal(before[1:], after[1:])
    assert np.abs(before[0] - after[0]).max() > 1e-4


def test_the_file_needs_no_fimjax_and_is_for_all_platforms(path):
    exported = export.deserialize(bytearray(path.read_bytes()))
    assert exported.platforms == ("cpu", "cuda", "tpu")
    shapes = [str(x.str_short()) for x in exported.in_avals]
    assert shapes == ["float32[b,20]", "float32[b,20]", "bool[b,20]", "int32[b]", "int32[b]", "float32[b,5]"]
    assert [x.str_short() for x in exported.out_avals] == ["float32[b,5,5]"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_inputs_that_do_not_fit_are_refused(path):
    times, *rest = inputs(3)
    with pytest.raises(ValueError, match=r"expected \(b, 20\) and called with \(3, 7\)"):
        load_exported(path)(times[:, :7], *rest)


def test_an_export_for_another_platform_says_so(tmp_path):
    export_forecast(FIM_RUN, PARAMS, tmp_path / "tpu", points=POINTS, h=H, platforms=("tpu",))
    with pytest.raises(ValueError, match="tpu.* but it is used on .*cpu"):
        load_exported(tmp_path / "tpu")(*inputs(1))


@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[:100], lambda x: x[:-1000], lambda x: b"x" * 1000])
def test_a_file_that_is_no_export(path, tmp_path, damage):
    (tmp_path / "bad").write_bytes(damage(path.read_bytes()))
    with pytest.raises(ExportError, match="bad: not an exported model"):
        load_exported(tmp_path / "bad")
    with pytest.raises(ExportError, match="nowhere: cannot be read"):
        load_exported(tmp_path / "nowhere")


def test_what_cannot_be_exported(tmp_path):
    save = functools.partial(export_forecast, params=PARAMS, path=tmp_path / "x")
    with pytest.raises(ValueError, match="points=0 and h=5"):
        save(FIM_RUN, points=0, h=H)
    for platforms, complaint in ((("cpu", "gpu"), "platforms: gpu given"), ((), "platforms: none given")):
        with pytest.raises(ValueError, match=complaint):
            save(FIM_RUN, points=POINTS, h=H, platforms=platforms)
    with pytest.raises(ValueError, match="a ReportFIMLocalConfig does not forecast"):
        save(REPORT_LOCAL_RUN, points=POINTS, h=H)
    assert not list(tmp_path.iterdir())


def test_missing_flatbuffers_are_named(path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    for attempt in (
        lambda: export_forecast(FIM_RUN, PARAMS, tmp_path / "x", points=POINTS, h=H),
        lambda: load_exported(path),
    ):
        with pytest.raises(ExportError, match=r"pip install 'fimjax\[export\]'"):
            attempt()
