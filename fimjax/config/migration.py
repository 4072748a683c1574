"""Stored configs and parameters of fimjax 0.1, which had no schema version, in today's form."""

from typing import Any

from fimjax.config.checks import require

_WINDOW_KEYS = {
    "windows": "count",
    "slots": "slots",
    "min_window_steps": "min_steps",
    "max_window_steps": "max_steps",
    "min_context": "min_history",
}
_PRIOR_KEYS = {"days": "daily_pattern", "weeks": "weekly_pattern", "unrest": "level_noise"}
_TRAINING_KEYS = {"point_room": "point_capacity", "query_room": "query_capacity"}
_GRID_KEYS = {"from_last": "subtract_last_value", "patch": "patch_size", "kernel": "kernel_size"}
_FIXED_SIZES = {"local_width": 30, "buckets": 32, "max_distance": 128}
"""Sizes of MQCNN and Chronos-Bolt that no recipe changed; they are constants now."""
_ALWAYS_ON = ("smoothers", "anchor_base", "knows_floor", "unit_by_share", "placed_points")
"""Switches of the 0.1 FIM that the shipped one has for good."""
_PARAMETER_NAMES = {"place_embedding": "point_embedding", "trust": "baseline_weights"}


def upgrade(entries: dict[str, Any]) -> dict[str, Any]:
    """A stored Config without a schema version, in the form of schema 1.

    Settings of the prior that the stored config does not have did not exist when it was written, so they stay off.

    Raises:
        ConfigError: the config uses an option that was removed; the message says which.
    """
    members = entries.get("members", 1)
    require(
        members == 1,
        f"members: {members} networks in one model are no longer supported; fimjax 0.1 reads these weights",
    )
    for name in ("model", "prior", "training"):
        require(isinstance(entries.get(name), dict), f"{name}: is missing")
    prior = dict(entries["prior"])
    missing = [name for name in _WINDOW_KEYS if name not in prior]
    require(
        not missing,
        f"prior.{', prior.'.join(missing)}: missing; the config has no schema version and is not one of fimjax 0.1",
    )
    windows = {new: prior.pop(old) for old, new in _WINDOW_KEYS.items()}
    return {
        "kind": "Config",
        "model": _upgrade_model(dict(entries["model"])),
        "windows": {"kind": "WindowConfig", **windows},
        "prior": _rename(prior, _PRIOR_KEYS),
        "training": _rename(dict(entries["training"]), _TRAINING_KEYS),
    }


def upgrade_parameter_name(name: str) -> str:
    """The name of a parameter of fimjax 0.1, such as place_embedding/Dense_0/kernel, as it is today."""
    return "/".join(_PARAMETER_NAMES.get(part, part) for part in name.split("/"))


def _rename(entries: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in entries.items()}


def _upgrade_model(model: dict[str, Any]) -> dict[str, Any]:
    upgrades = {
        "FIMConfig": _upgrade_fim,
        "FIMLocalConfig": _upgrade_fim_local,
        "NBEATSConfig": _upgrade_nbeats,
        "MQCNNConfig": _upgrade_grid,
        "PatchTSTConfig": _upgrade_patchtst,
        "ChronosBoltConfig": _upgrade_grid,
    }
    kind = model.get("kind", "")
    return upgrades[kind](model) if kind in upgrades else model


def _upgrade_fim(model: dict[str, Any]) -> dict[str, Any]:
    _require_removed(model, "norm_first", True)
    model.pop("windows", None)
    local = dict(model.pop("local", {}))
    if not model.get("query_layers", 0):
        _require_removed(model, "query_layers", 0)
        _require_removed(model, "anchor_heads", 0)
        for name in _ALWAYS_ON:
            _require_removed(model, name, False)
        _require_removed(model, "interpolation_weight", 0.0)
        _require_removed(model, "freeze_local", True)
        return {**model, "kind": "ReportFIMConfig", "local": _upgrade_fim_local(local)}
    for name in _ALWAYS_ON:
        _require_removed(model, name, True, missing=False)
    for name in ("positional_encoding", "similarity_weight", "learned_scale", "freeze_local"):
        _require_removed(model, name, False, missing=name == "freeze_local")
    return {**model, "local": _upgrade_fim_local(local)}


def _upgrade_fim_local(local: dict[str, Any]) -> dict[str, Any]:
    _require_removed(local, "norm_first", True)
    if not local.get("query_layers", 0):
        for name in ("query_layers", "polynomials", "time_waves", "season_harmonics"):
            _require_removed(local, name, 0)
        return {**local, "kind": "ReportFIMLocalConfig"}
    _require_removed(local, "polynomials", True, missing=False)
    for name in ("trunk_layers", "projection"):
        local.pop(name, None)  # parts that this form never had
    return _rename(local, {"time_waves": "time_harmonics"})


def _upgrade_nbeats(model: dict[str, Any]) -> dict[str, Any]:
    stacks = model.get("stacks", ["generic"] * 4)
    require(
        all(kind == "generic" for kind in stacks),
        f"model.stacks: {stacks}: only generic stacks are supported; fimjax 0.1 reads these weights",
    )
    for name in ("trend_degree", "harmonics"):
        model.pop(name, None)
    return {**_upgrade_grid(model), "stacks": len(stacks)}


def _upgrade_patchtst(model: dict[str, Any]) -> dict[str, Any]:
    for name in ("revin", "residual_attention"):
        _require_removed(model, name, True)
    return _upgrade_grid(model)


def _upgrade_grid(model: dict[str, Any]) -> dict[str, Any]:
    for name, size in _FIXED_SIZES.items():
        _require_removed(model, name, size)
    return _rename(model, _GRID_KEYS)


def _require_removed(entries: dict[str, Any], name: str, only: Any, missing: Any = None) -> None:
    """Drops a setting that was removed; any value but the only one that is left is an error."""
    value = entries.pop(name, only if missing is None else missing)
    require(
        value == only,
        f"model.{name}: {value} is an option that fimjax no longer has; fimjax 0.1 reads these weights",
    )
