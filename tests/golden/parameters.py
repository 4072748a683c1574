"""Parameters that depend on nothing but the path of each leaf, which seeds its normal numbers."""

import zlib

import numpy as np

DEVIATION = 0.02


def golden_leaf(path: str, shape: tuple[int, ...], wide: bool = False) -> np.ndarray:
    """The float32 values of the leaf at a '/'-joined path; leaves called 'scale' lie around 1.

    They are normal(size=shape) * 0.02 of `default_rng(crc32(path))`, plus 1 for a scale, in float64 and then rounded.
    Attention with such parameters is nearly uniform. With `wide`, the deviation is 0.1 for vectors, and one over the
    square root of the product of all axes but the last for the rest.
    """
    deviation = DEVIATION if not wide else 0.1 if len(shape) < 2 else np.prod(shape[:-1]) ** -0.5
    numbers = np.random.default_rng(zlib.crc32(path.encode())).normal(size=shape) * deviation
    return (numbers + (path.split("/")[-1] == "scale")).astype(np.float32)


def golden_params(shapes: dict, wide: bool = False, prefix: str = "") -> dict:
    """Parameters like a nested dictionary of arrays or of shapes with the attribute `shape`."""
    return {
        name: golden_params(leaf, wide, f"{prefix}{name}/")
        if isinstance(leaf, dict)
        else golden_leaf(f"{prefix}{name}", tuple(leaf.shape), wide)
        for name, leaf in shapes.items()
    }


def by_path(tree: dict, prefix: str = "") -> dict:
    """The leaves of a nested dictionary by their '/'-joined paths, sorted."""
    found = {}
    for name, leaf in tree.items():
        found |= by_path(leaf, f"{prefix}{name}/") if isinstance(leaf, dict) else {f"{prefix}{name}": leaf}
    return dict(sorted(found.items()))
