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
        ConfigError: a key is unknown or missing, a value has another type, or the schema is newer than this fimjax.
    """
    if entries.get("kind") != "Config":
        return _read(entries, complete=False)
    schema = entries.get("schema", 0)
    require(type(schema) is int and schema >= 0, f"schema: {schema!r} is not a schema version")
    require(
        schema <= SCHEMA,
        f"schema: {schema} was written by a newer fimjax; this version reads up to {SCHEMA}: upgrade fimjax",
    )
    if schema == 0:
        # Settings that an upgraded config does not have did not exist when it was written: they stay off.
        return _read(upgrade(entries), complete=False)
    return _read({name: value for name, value in entries.items() if name != "schema"}, complete=True)


def _read(entries: dict[str, Any], complete: bool) -> Any:
    """One config and those inside it.

    Args:
        complete: every key must be there, so that no later default changes a stored config.
    """
    kind = _KINDS.get(entries.get("kind", ""))
    require(kind is not None, f"kind: {entries.get('kind')!r} is not one of {', '.join(sorted(_KINDS))}")
    assert kind is not None
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(entries) - set(fields) - {"kind"})
    require(not unknown, f"{kind.__name__}: unknown keys {', '.join(unknown)}")
    missing = sorted(set(fields) - set(entries))
    require(not (complete and missing), f"{kind.__name__}: missing keys {', '.join(missing)}")
    values = {}
    for name, value in entries.items():
        if name == "kind":
            continue
        if isinstance(value, dict):
            values[name] = _read(value, complete)
            continue
        require(
            _has_type(value, fields[name].type),
            f"{kind.__name__}.{name}: {value!r} is not {_describe(fields[name].type)}",
        )
        values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _has_type(value: Any, expected: Any) -> bool:
    """Whether a value from JSON fits the type of a field."""
    if typing.get_origin(expected) is typing.Literal:
        return value in typing.get_args(expected)
    if typing.get_origin(expected) is tuple:
        return isinstance(value, list | tuple) and all(_has_type(x, typing.get_args(expected)[0]) for x in value)
    if expected is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is expected


def _describe(expected: Any) -> str:
    if typing.get_origin(expected) is typing.Literal:
        return f"one of {', '.join(map(repr, typing.get_args(expected)))}"
    if typing.get_origin(expected) is tuple:
        return "a list of numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(expected, "a block of settings")


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
