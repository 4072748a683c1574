"""Data folders and downloads, from a local server with small files in the archive's format."""

import hashlib
import io
import json
import signal
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.archive import SOURCES, Source
from fimjax.evaluation.datasets.catalog import CATALOG, DatasetInfo
from fimjax.evaluation.datasets.dataset import differences_from_table3
from fimjax.evaluation.datasets.folder import data_folder, load_dataset, manifest_differences
from fimjax.files import user_cache

NAME = "m1_yearly"
FILES = {f"{NAME}.parquet", f"{NAME}.meta.parquet", "manifest.json"}

TSF = """# A small file of the archive's form – with a dash that is one byte.
@relation M1
@attribute series_name string
@attribute start_timestamp date
@frequency yearly
@horizon 2
@missing false
@equallength false
@data
T2:1979-01-01 00-00-00:1,2,3,4.5
T1:1980-01-01 00-00-00:5,6,7
T10:1981-01-01 00-00-00:8,9,10,11,12
"""


def zipped(text=TSF, member="m1_yearly_dataset.tsf"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text.encode("cp1252"))
    return buffer.getvalue()


def source(content=None, **changes):
    """The address of the small file, with size and checksum if its content is given."""
    known = {} if content is None else {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {NAME: Source(4656193, f"{NAME}_dataset.zip", **(known | changes))}


class Server(ThreadingHTTPServer):
    """Serves one file."""

    daemon_threads = True
    content = zipped()
    status = 200
    tag = None
    announced = None
    after = staticmethod(lambda: None)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.announced or len(self.server.content)))
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        self.wfile.write(self.server.content)
        self.server.after()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setenv("FIMJAX_ARCHIVE", f"http://127.0.0.1:{server.server_port}/")
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def small_world(monkeypatch, tmp_path):
    """Removes settings, cache and proxy of the machine; adds the small file to the catalog."""
    for setting in ("FIMJAX_DATA", "FIMJAX_ARCHIVE"):
        monkeypatch.delenv(setting, raising=False)
    monkeypatch.setenv("FIMJAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setitem(CATALOG, NAME, DatasetInfo(NAME, 1, 2, 3, 3, 5, 0, "YS"))


def quiet():
    return Console(file=io.StringIO())


def load(folder=None, sources=None, **options):
    return load_dataset(NAME, folder, sources=sources or source(), console=quiet(), **options)


def error_of(folder, sources=None, **options):
    """The one-sentence error of a failed download; it must leave no file."""
    with pytest.raises(EvaluationError) as error:
        load(folder, sources, **options)
    message = str(error.value)
    assert message.startswith(f"data set {NAME}") and "\n" not in message
    assert not list(folder.iterdir())
    return message


def test_a_missing_data_set_is_downloaded_once(server, tmp_path):
    sources = source(server.content)
    first = load(sources=sources)
    server.stop()
    again = load(sources=sources)
    assert server.requests == ["/records/4656193/files/m1_yearly_dataset.zip?download=1"]
    assert {path.name for path in (tmp_path / "cache" / "data").iterdir()} == FILES
    for dataset in (first, again):
        assert list(dataset.ids) == ["T2", "T1", "T10"]
        assert [list(y) for y in dataset.histories] == [[1, 2], [5], [8, 9, 10]]
        np.testing.assert_array_equal(dataset.future, [[3, 4.5], [6, 7], [11, 12]])
        assert list(dataset.categories) == ["", "", ""]
        assert differences_from_table3(dataset) == []


def test_layout_of_a_data_folder(server, tmp_path):
    load(tmp_path, source(server.content))
    series = pq.read_table(tmp_path / f"{NAME}.parquet")
    assert [str(field.type) for field in series.schema] == [
        "dictionary<values=string, indices=int32, ordered=0>",
        "int32",
        "float",
        "bool",
    ]
    assert series["t"].to_pylist() == [0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4]
    meta = pq.read_table(tmp_path / f"{NAME}.meta.parquet").to_pylist()
    assert meta[0] == {"unique_id": "T2", "start": "1979-01-01 00:00:00", "category": ""}
    (entry,) = json.loads((tmp_path / "manifest.json").read_text())
    assert entry["source"].endswith("/records/4656193/files/m1_yearly_dataset.zip?download=1")
    assert entry["source_sha256"] == hashlib.sha256(server.content).hexdigest()
    assert (entry["n_series"], entry["n_obs"], entry["min_len"], entry["max_len"]) == (3, 12, 3, 5)


def test_progress_shows_the_data_set_and_its_size(server, tmp_path):
    shown = io.StringIO()
    load_dataset(NAME, tmp_path, sources=source(server.content), console=Console(file=shown, width=120))
    size = len(server.content)
    assert NAME in shown.getvalue() and f"{size}/{size} bytes" in shown.getvalue()


def test_a_broken_connection_leaves_no_file(server, tmp_path):
    server.content, server.announced = server.content[:100], len(server.content)
    message = error_of(tmp_path)
    assert f"broke off after 100 of {server.announced:,} bytes" in message
    assert f"http://127.0.0.1:{server.server_port}/records/4656193" in message


def test_an_interrupt_leaves_no_file(server, tmp_path):
    server.content, server.announced = server.content[:100], len(server.content)
    interrupted = threading.Event()

    def interrupt():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        interrupted.wait(30)  # the connection must not end first

    server.after = interrupt
    # Shells start background jobs with interrupts ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            load(tmp_path)
    finally:
        interrupted.set()
        signal.signal(signal.SIGINT, handler)
    assert not list(tmp_path.iterdir())


def test_wrong_sizes_and_checksums_are_rejected(server, tmp_path):
    size = len(server.content)
    assert f"has {size} bytes; 13,179 are expected" in error_of(tmp_path, source(size=13_179))
    assert f"{'0' * 64} is expected" in error_of(tmp_path, source(sha256="0" * 64))
    server.tag = f'"md5:{"0" * 32}"'
    assert f"the server announced {'0' * 32}" in error_of(tmp_path)
    server.tag = f'"md5:{hashlib.md5(server.content).hexdigest()}"'
    assert len(load(tmp_path)) == 3


def test_responses_that_are_no_valid_file_are_rejected(server, tmp_path):
    server.status = 404
    assert "the server says 404 Not Found" in error_of(tmp_path)
    server.status, server.content = 200, b"<!doctype html><title>Too many requests</title>"
    assert "is not a valid zip file" in error_of(tmp_path)
    server.content = zipped(member="readme.txt")
    assert "has 0 .tsf files; one is expected" in error_of(tmp_path)
    for place in (80, -8):  # in the series, in the zip file's directory
        damaged = bytearray(zipped())
        damaged[place] ^= 0xFF
        server.content = bytes(damaged)
        assert "is not a valid zip file" in error_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TSF[: TSF.index("T10")], "is incomplete: series is 2, but 3 in the paper's table 3"),
        (TSF.replace(",11,12", ",11"), "is incomplete: longest is 4, but 5 in the paper's table 3"),
        (TSF[: TSF.index(",9,10")].rstrip("8") + "\n", "m1_yearly_dataset.tsf, line 12: could not convert"),
        (TSF.replace("5,6,7", "5,?,7"), "series T1 of http"),
        (TSF.replace("5,6,7", "5,6e40,7"), "series T1 of http"),
        (TSF.replace("5,6,7", "6,7"), "series T1 of http"),
    ],
)
def test_series_that_contradict_table_3_are_rejected(server, tmp_path, text, says):
    server.content = zipped(text)
    assert says in error_of(tmp_path)


def test_a_file_with_a_known_checksum_may_differ_from_table_3(server, tmp_path):
    server.content = zipped(TSF[: TSF.index("T10")].replace("@horizon 2", "@horizon 3").replace("yearly", "weekly"))
    dataset = load(tmp_path, source(server.content))
    assert [line.split(" is ")[0] for line in differences_from_table3(dataset)] == [
        f"{NAME}: series",
        f"{NAME}: longest",
    ]
    manifest = tmp_path / "manifest.json"
    assert manifest_differences(tmp_path, dataset.info) == [
        f"{NAME}: horizon is 3 in {manifest}, 2 in the paper's table 3",
        f"{NAME}: frequency is weekly in {manifest}, yearly in the paper's table 3",
    ]


def test_a_manifest_keeps_the_entries_of_other_data_sets(server, tmp_path):
    other = {"dataset": "m4_hourly", "horizon": 48, "seasonality": 7}
    (tmp_path / "manifest.json").write_text(json.dumps([other, {"dataset": NAME, "horizon": 9}]))
    info = load(tmp_path).info
    entries = json.loads((tmp_path / "manifest.json").read_text())
    assert [entry["dataset"] for entry in entries] == [NAME, "m4_hourly"] and entries[1] == other
    assert manifest_differences(tmp_path, info) == []


def test_an_invalid_manifest_is_rejected(server, tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(EvaluationError, match="manifest.json cannot be read"):
        load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_the_data_folder_is_the_argument_the_environment_or_the_cache(server, monkeypatch, tmp_path):
    chosen, named = tmp_path / "chosen", tmp_path / "named"
    chosen.mkdir()
    named.mkdir()
    assert data_folder() == user_cache() / "data" == tmp_path / "cache" / "data"
    monkeypatch.setenv("FIMJAX_DATA", str(named))
    assert data_folder() == named
    assert data_folder(chosen) == chosen
    load()
    load(chosen)
    assert {path.name for path in named.iterdir()} == {path.name for path in chosen.iterdir()} == FILES


def test_the_data_may_be_in_a_subfolder(server, monkeypatch, tmp_path):
    bench = tmp_path / "bench"
    bench.mkdir()
    load(tmp_path)
    assert {path.name for path in bench.iterdir()} == FILES and list(tmp_path.iterdir()) == [bench]
    load(bench, download=False)
    monkeypatch.setenv("FIMJAX_DATA", str(tmp_path))
    assert manifest_differences(None, load(download=False).info) == []
    assert len(server.requests) == 1


def test_a_folder_must_exist(monkeypatch, tmp_path):
    with pytest.raises(EvaluationError, match=f"^data folder {tmp_path / 'no'} does not exist$"):
        load(tmp_path / "no")
    monkeypatch.setenv("FIMJAX_DATA", str(tmp_path / "never"))
    with pytest.raises(EvaluationError, match=r"never \(FIMJAX_DATA\) does not exist$"):
        load()


def test_without_network_the_error_is_one_sentence(server, tmp_path):
    server.stop()
    address = f"http://127.0.0.1:{server.server_port}/records/4656193/files/m1_yearly_dataset.zip?download=1"
    assert error_of(tmp_path) == (
        f"data set m1_yearly: {address} cannot be downloaded (Connection refused), and it is not in {tmp_path}; "
        "name the folder that has it with --data or FIMJAX_DATA"
    )
    assert error_of(tmp_path, download=False) == (
        f"data set m1_yearly is not in {tmp_path}; allow the download or "
        "name the folder that has it with --data or FIMJAX_DATA"
    )


def test_every_data_set_of_the_catalog_has_a_source():
    assert list(SOURCES) == list(CATALOG)
    assert len({source.record for source in SOURCES.values()}) == len(SOURCES)
    for name, source in SOURCES.items():
        assert source.address == f"https://zenodo.org/records/{source.record}/files/{name}_dataset.zip?download=1"
        assert source.size > 10_000
        assert source.sha256 is None or len(bytes.fromhex(source.sha256)) == 32
