"""Configs as plain dictionaries for JSON files, with a schema version."""

import dataclasses
import typing
from typing import Any

from fimjax.config.checks import require
from fimjax.config.migration import upgrade
from fimjax.config.prior import PriorConfig, PriorWeights
from fimjax.config.run import Config, ModelConfig
from fimjax.config.training import TrainingConfig
from fimjax.config.windows import WindowConfig

SCHEMA = 1
"""Version of the stored form of a Config. It rises when a stored config needs to be upgraded to be read."""

_KINDS = {
    kind.__name__: kind
    for kind in (Config, WindowConfig, PriorConfig, PriorWeights, TrainingConfig, *typing.get_args(ModelConfig))
}


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain dictionaries, each with the name of its class; a Config also has its schema version."""
    entries: dict[str, Any] = {"schema": SCHEMA} if isinstance(config, Config) else {}
    entries["kind"] = type(config).__name__
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            value = to_dict(value)
        entries[field.name] = list(value) if isinstance(value, tuple) else value
    return entries


def from_dict(entries: dict[str, Any]) -> Any:
    """The config that `to_dict` wrote. A Config without a schema version is upgraded first.

    Raises:
        ConfigError: a key is unknown, or the schema is newer than this version of fimjax.
    """
    if entries.get("kind") == "Config":
        schema = entries.get("schema", 0)
        require(
            isinstance(schema, int) and 0 <= schema <= SCHEMA,
            f"schema: {schema} was written by a newer fimjax; this version reads up to {SCHEMA}: upgrade fimjax",
        )
        entries = upgrade(entries) if schema == 0 else entries
        entries = {name: value for name, value in entries.items() if name != "schema"}
    kind = _KINDS.get(entries.get("kind", ""))
    require(kind is not None, f"kind: {entries.get('kind')!r} is not one of {', '.join(sorted(_KINDS))}")
    assert kind is not None
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = sorted(set(entries) - known - {"kind"})
    require(not unknown, f"{kind.__name__}: unknown keys {', '.join(unknown)}")
    return kind(**{name: _revive(value) for name, value in entries.items() if name != "kind"})


def _revive(value: Any) -> Any:
    if isinstance(value, dict):
        return from_dict(value)
    return tuple(value) if isinstance(value, list) else value


def differing_keys(a: Any, b: Any, prefix: str = "") -> list[str]:
    """Where two configs differ, as phrases like 'width: 64 instead of 128'."""
    if type(a) is not type(b):
        return [f"{prefix.rstrip('.')}: {type(a).__name__} instead of {type(b).__name__}"]
    differences = []
    for field in dataclasses.fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if dataclasses.is_dataclass(x):
            differences += differing_keys(x, y, f"{prefix}{field.name}.")
        elif x != y:
            differences.append(f"{prefix}{field.name}: {x} instead of {y}")
    return differences
