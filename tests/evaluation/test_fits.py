import numpy as np
import pyarrow.parquet as pq
import pytest

from fimjax.errors import EvaluationError
from fimjax.evaluation.baselines import fits
from fimjax.evaluation.baselines.fits import FitCache, statistical_forecasts
from fimjax.evaluation.baselines.statistical import MEMBERS, fit_and_forecast
from tests.evaluation.examples import make_dataset


class InTurn:
    """A pool that works in this process, and may fail after some chunks."""

    stop_after = None
    failure = KeyboardInterrupt()
    calls = 0

    def __init__(self, *_, **__):
        pass

    def submit(self, function, *arguments):
        from concurrent.futures import Future

        future = Future()
        type(self).calls += 1
        if self.stop_after is not None and self.calls > self.stop_after:
            future.set_exception(self.failure)
        else:
            future.set_result(function(*arguments))
        return future

    def shutdown(self, **_):
        pass


@pytest.fixture
def pool(monkeypatch):
    kind = type("Pool", (InTurn,), {})
    monkeypatch.setattr(fits, "ProcessPoolExecutor", kind)
    monkeypatch.setattr(fits, "as_completed", lambda futures: sorted(futures, key=lambda f: f.exception() is not None))
    monkeypatch.setattr(fits, "SAVE_EVERY", 0.0)
    return kind


@pytest.mark.processes
def test_a_pool_of_processes_gives_what_one_process_gives(tmp_path):
    dataset = make_dataset(series=5)
    found = statistical_forecasts("dynamic_optimized_theta", dataset, tmp_path, processes=2)
    np.testing.assert_array_equal(found.ids, dataset.ids)
    for i, history in enumerate(dataset.histories):
        point, quantiles, _, _ = fit_and_forecast("dynamic_optimized_theta", history, 1, 6)
        np.testing.assert_allclose(found.point[i], point, rtol=1e-6)
        np.testing.assert_allclose(found.quantiles[i], quantiles, rtol=1e-6)


def test_an_interrupted_run_continues_where_it_stopped(tmp_path, pool):
    dataset = make_dataset(series=9)
    pool.stop_after = 2
    with pytest.raises(KeyboardInterrupt):
        statistical_forecasts("auto_ets", dataset, tmp_path)
    known = FitCache(tmp_path, "auto_ets", dataset).load(dataset)[1]
    assert len(known) == 4, "two chunks of two series were done"
    pool.stop_after, pool.calls = None, 0
    found = statistical_forecasts("auto_ets", dataset, tmp_path)
    assert len(found) == 9 and pool.calls == 3, "five series in three chunks were left"
    pool.calls = 0
    again = statistical_forecasts("auto_ets", dataset, tmp_path)
    assert pool.calls == 0
    np.testing.assert_array_equal(found.quantiles, again.quantiles)


def test_a_larger_sample_fits_only_what_is_new(tmp_path, pool):
    dataset = make_dataset(series=10)
    some = statistical_forecasts("naive", dataset.take(np.array([7, 2])), tmp_path)
    statistical_forecasts("naive", dataset, tmp_path)
    assert pool.calls == 2
    everything = statistical_forecasts("naive", dataset, tmp_path)
    np.testing.assert_array_equal(everything.point[[7, 2]], some.point)
    np.testing.assert_array_equal(everything.point[:, 0], [np.float32(y[-1]) for y in dataset.histories])


def test_a_fit_to_other_values_is_not_reused(tmp_path, pool):
    first, second = make_dataset(series=3, seed=0), make_dataset(series=3, seed=1)
    statistical_forecasts("naive", first, tmp_path)
    found = statistical_forecasts("naive", second, tmp_path)
    np.testing.assert_array_equal(found.point[:, 0], [np.float32(y[-1]) for y in second.histories])


def test_versions_of_statsforecast_have_separate_caches(tmp_path, pool, monkeypatch):
    dataset = make_dataset(series=2)
    statistical_forecasts("naive", dataset, tmp_path)
    monkeypatch.setattr(fits.statsforecast, "__version__", "9.9.9")
    statistical_forecasts("naive", dataset, tmp_path)
    assert pool.calls == 2


@pytest.mark.parametrize("damage", ["cut", "column", "length", "nan"])
def test_a_damaged_file_of_fits_is_fitted_again(tmp_path, pool, damage):
    dataset = make_dataset(series=2)
    expected = statistical_forecasts("naive", dataset, tmp_path)
    (part,) = tmp_path.rglob("part-*.parquet")
    if damage == "cut":
        part.write_bytes(part.read_bytes()[:100])
    else:
        table = pq.read_table(part)
        short, broken = [[1.0]] * 2, [[float("nan")] * 6] * 2
        changes = {"column": lambda t: t.drop(["fallback"]), "length": lambda t: t.set_column(2, "point", [short])}
        changes["nan"] = lambda t: t.set_column(2, "point", [broken])
        pq.write_table(changes[damage](table), part)
    found = statistical_forecasts("naive", dataset, tmp_path)
    assert pool.calls == 2
    np.testing.assert_array_equal(found.point, expected.point)


def test_finished_fits_survive_a_dead_process(tmp_path, pool, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    monkeypatch.setattr(fits, "SAVE_EVERY", 1000.0)
    dataset, pool.stop_after, pool.failure = make_dataset(series=9), 3, BrokenProcessPool("killed")
    with pytest.raises(EvaluationError, match="model auto_ets on m3_yearly: a worker process died"):
        statistical_forecasts("auto_ets", dataset, tmp_path)
    assert len(FitCache(tmp_path, "auto_ets", dataset).load(dataset)[1]) == 6


def test_an_interrupt_between_two_writes_loses_nothing(tmp_path, pool, monkeypatch):
    monkeypatch.setattr(fits, "SAVE_EVERY", 1000.0)

    def interrupted(futures):
        yield from list(futures)[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(fits, "as_completed", interrupted)
    dataset = make_dataset(series=9)
    with pytest.raises(KeyboardInterrupt):
        statistical_forecasts("auto_ets", dataset, tmp_path)
    assert len(FitCache(tmp_path, "auto_ets", dataset).load(dataset)[1]) == 4


def test_processes_share_the_wall_time(tmp_path, pool):
    found = statistical_forecasts("auto_ets", make_dataset(series=2), tmp_path, processes=4)
    np.testing.assert_allclose(found.elapsed, found.seconds / 4, rtol=1e-6)


def test_sicoum_reuses_the_fits_of_its_members(tmp_path, pool):
    dataset = make_dataset(series=2)
    both = statistical_forecasts("sicoum", dataset, tmp_path)
    calls = pool.calls
    members = [statistical_forecasts(name, dataset, tmp_path) for name in MEMBERS]
    assert pool.calls == calls
    np.testing.assert_allclose(both.point, np.mean([member.point for member in members], axis=0))


def test_environment_variables_are_restored(tmp_path, pool, monkeypatch):
    import os

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    statistical_forecasts("naive", make_dataset(series=1), tmp_path)
    assert os.environ["OMP_NUM_THREADS"] == "7" and "MKL_NUM_THREADS" not in os.environ
