"""Downloads the benchmark's data sets from the Monash archive, checks them and adds them to a data folder.

The archive's copy of Tourism yearly differs from the competition's: seasonal naive has MASE 3.552 on the archive's copy
and 3.007 on the competition's.
"""

import dataclasses
import hashlib
import http.client
import io
import json
import os
import re
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from fimjax.errors import EvaluationError
from fimjax.evaluation.datasets.catalog import DatasetInfo
from fimjax.evaluation.datasets.dataset import category_file, series_file
from fimjax.evaluation.datasets.tsf import ENCODING, TsfFile, parse_tsf
from fimjax.evaluation.forecasts import write_table
from fimjax.files import replacing

ARCHIVE = "https://zenodo.org"

ADDRESS_SETTING = "FIMJAX_ARCHIVE"
"""Environment variable with the address of a mirror to use instead of ARCHIVE."""

TIMEOUT = 30.0
"""Seconds without data after which a download has failed."""

MANIFEST = "manifest.json"


@dataclasses.dataclass(frozen=True)
class Source:
    """A zip file with one .tsf file in it."""

    record: int
    file: str
    size: int | None = None
    """Bytes of the zip file; None if unknown."""
    sha256: str | None = None
    """Checksum of the zip file; if it is unknown (None), the series must agree with table 3."""

    @property
    def address(self) -> str:
        base = os.environ.get(ADDRESS_SETTING) or ARCHIVE
        return f"{base.rstrip('/')}/records/{self.record}/files/{self.file}?download=1"


def _source(name: str, record: int, size: int, sha256: str | None = None) -> tuple[str, Source]:
    return name, Source(record, f"{name}_dataset.zip", size, sha256)


# Sources without a checksum have no published one. The archive never changes a record, so these checks remain: the
# size, the MD5 sum if the server sends it, the CRC in the zip file, and the number and lengths of the series.
SOURCES = dict(
    (
        _source("m1_monthly", 4656159, 120_931, "2780e591d1a0e3fb105575b413fcd218d59eac264af045356dbe5f85c9ff470f"),
        _source("m1_quarterly", 4656154, 21_290),
        _source("m1_yearly", 4656193, 13_179),
        _source("m3_other", 4656335, 33_018),
        _source("m3_monthly", 4656298, 336_324, "80b0c1c92b6273f12d346256d3ee29489a7b081823430ad8b3a1cc01e06ccafd"),
        _source("m3_quarterly", 4656262, 96_124, "c59f208d1ad3d38ff039e0bdc9e356fe7c83019ecd2dcae0a930b607c22b50c2"),
        _source("m3_yearly", 4656222, 50_178),
        _source("m4_hourly", 4656589, 485_448, "18085bd3c34e41cdc07441aa61c5610dac9e916b9489a6a381f8e89fd01c8a66"),
        _source("m4_daily", 4656548, 27_963_288),
        _source("m4_weekly", 4656522, 1_077_913),
        _source("m4_monthly", 4656480, 28_235_874),
        _source("m4_quarterly", 4656410, 7_031_886),
        _source("m4_yearly", 4656379, 2_785_010),
        _source(
            "tourism_monthly", 4656096, 199_791, "6e434ad8a0ef6acb55ebee0e1d1ffe22707ea4e62c05e091326267f3a5b4a93c"
        ),
        _source(
            "tourism_quarterly", 4656093, 93_833, "fa16da64f29aa04df447756cb65a5d58f8bc3d860fc22751c76850a3ffb048c3"
        ),
        _source("tourism_yearly", 4656103, 36_749, "20238ddb9b11465b061bbfadcc398ef01f0896a8791199381b3edc706abf0263"),
    )
)


def fetch_dataset(info: DatasetInfo, source: Source, folder: Path, console: Console | None = None) -> None:
    """Downloads a data set, checks it and adds it to a data folder; a failed download leaves no file."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The file has no name, so no partial download remains if this process is killed.
        with progress, tempfile.TemporaryFile(dir=folder) as file:
            task = progress.add_task(f"downloading {info.name}", total=source.size)
            digest = _download(source, file, lambda done, total: progress.update(task, completed=done, total=total))
            progress.update(task, description=f"converting {info.name}")
            tsf = _unzip(source, file)
            _check(info, source, tsf)
            _write(info, source, tsf, digest, folder)
    except EvaluationError as error:
        raise EvaluationError(f"data set {info.name}: {error}") from error
    except OSError as error:
        raise EvaluationError(f"data set {info.name} cannot be written to {folder} ({_reason(error)})") from error


def _download(source: Source, file: BinaryIO, report: Callable[[int, int | None], None]) -> str:
    """Downloads a zip file, reports bytes done and in total, and returns its SHA-256 checksum."""
    sha256, md5, received = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    with _open(source) as response:
        announced, tag = response.headers.get("Content-Length", ""), response.headers.get("ETag", "")
        total = int(announced) if announced.isdecimal() else source.size
        while chunk := _read(response, source):
            file.write(chunk)
            sha256.update(chunk)
            md5.update(chunk)
            received += len(chunk)
            report(received, total)
    if total is not None and received != total:
        raise EvaluationError(f"{source.address} broke off after {received:,} of {total:,} bytes")
    if source.size is not None and received != source.size:
        raise EvaluationError(f"{source.address} has {received:,} bytes; {source.size:,} are expected")
    if source.sha256 is not None and sha256.hexdigest() != source.sha256:
        raise EvaluationError(
            f"{source.address} has SHA-256 checksum {sha256.hexdigest()}; {source.sha256} is expected"
        )
    announced_md5 = re.fullmatch(r'"?md5:([0-9a-f]{32})"?', tag)  # the archive sends the checksum as ETag
    if announced_md5 and md5.hexdigest() != announced_md5[1]:
        raise EvaluationError(
            f"{source.address} has MD5 checksum {md5.hexdigest()}; the server announced {announced_md5[1]}"
        )
    return sha256.hexdigest()


def _open(source: Source) -> http.client.HTTPResponse:
    try:
        request = urllib.request.Request(source.address, headers={"User-Agent": "fimjax"})
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        raise EvaluationError(
            f"{source.address} cannot be downloaded (the server says {error.code} {error.reason})"
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EvaluationError(f"{source.address} cannot be downloaded ({_reason(error)})") from error


def _read(response: http.client.HTTPResponse, source: Source) -> bytes:
    """Reads the next bytes; separate, so that a broken connection is not reported as a full disk."""
    try:
        return response.read(1 << 16)
    except (OSError, http.client.HTTPException) as error:
        raise EvaluationError(f"{source.address} broke off ({_reason(error)})") from error


def _unzip(source: Source, file: BinaryIO) -> TsfFile:
    """Parses the .tsf file in a zip file."""
    try:
        with zipfile.ZipFile(file) as archive:
            # macOS adds a hidden copy of each file to a zip file.
            members = [n for n in archive.namelist() if n.lower().endswith(".tsf") and not Path(n).name.startswith(".")]
            contents = [archive.read(name) for name in members]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise EvaluationError(f"{source.address} is not a valid zip file ({error})") from error
    if len(members) != 1:
        raise EvaluationError(f"{source.address} has {len(members)} .tsf files; one is expected")
    lines = io.TextIOWrapper(io.BytesIO(contents[0]), encoding=ENCODING, errors="replace")
    return parse_tsf(lines, f"{source.address}, {members[0]}")


def _check(info: DatasetInfo, source: Source, tsf: TsfFile) -> None:
    """Rejects series that cannot be those of table 3."""
    for name, values in zip(tsf.names, tsf.values):
        if len(values) <= info.horizon:
            raise EvaluationError(
                f"series {name} of {source.address} has {len(values)} points, not more than the horizon {info.horizon}"
            )
        if not np.all(np.abs(values) <= np.finfo(np.float32).max):
            raise EvaluationError(f"series {name} of {source.address} has a value that is missing or not finite")
    if source.sha256 is None:
        lengths = [len(values) for values in tsf.values]
        found = {"series": len(lengths), "shortest": min(lengths), "longest": max(lengths)}
        for key, value in found.items():
            if value != (expected := getattr(info, key)):
                raise EvaluationError(
                    f"{source.address} is incomplete: {key} is {value:,}, but {expected:,} in the paper's table 3"
                )


def _write(info: DatasetInfo, source: Source, tsf: TsfFile, digest: str, folder: Path) -> None:
    """Writes a data set to a data folder; the series come last, because their file marks the data set as present."""
    lengths = np.array([len(values) for values in tsf.values])
    steps = np.concatenate([np.arange(n) for n in lengths])
    codes = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    series = pa.table(
        {
            "unique_id": pa.DictionaryArray.from_arrays(codes, pa.array(tsf.names)),
            "t": steps.astype(np.int32),
            "y": np.concatenate(tsf.values).astype(np.float32),
            "is_test": steps >= np.repeat(lengths - info.horizon, lengths),
        }
    )
    entry = {
        "dataset": info.name,
        "seasonality": info.season,
        "horizon": info.horizon if tsf.horizon is None else tsf.horizon,
        "frequency": tsf.frequency,
        "n_series": len(lengths),
        "n_obs": int(lengths.sum()),
        "min_len": int(lengths.min()),
        "max_len": int(lengths.max()),
        "source": source.address,
        "source_sha256": digest,
    }
    meta = pa.table({"unique_id": tsf.names, "start": tsf.starts, "category": [""] * len(tsf.names)})
    _write_manifest(folder, entry)
    write_table(meta, category_file(folder, info.name))
    write_table(series, series_file(folder, info.name))


def read_manifest(folder: Path) -> list[dict]:
    """Reads the manifest of a data folder, one entry per data set; empty if there is none."""
    path = folder / MANIFEST
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{path} cannot be read ({error})") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "dataset" in entry for entry in entries):
        raise EvaluationError(f"{path} is not a list with an entry for each data set")
    return entries


def _write_manifest(folder: Path, entry: dict) -> None:
    """Adds an entry to the manifest; it replaces an earlier one for the same data set."""
    entries = [other for other in read_manifest(folder) if other["dataset"] != entry["dataset"]]
    entries = sorted([*entries, entry], key=lambda one: one["dataset"])
    with replacing(folder / MANIFEST) as scratch:
        scratch.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def _reason(error: Exception) -> str:
    """The message of an error's underlying cause."""
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
