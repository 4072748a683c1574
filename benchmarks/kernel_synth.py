"""KernelSynth, the peer of the prior: Gaussian processes with randomly composed kernels.

Ansari et al., "Chronos: Learning the Language of Time Series" (2024), algorithm 2: one to five kernels from a bank are
joined by sums and products, and a path is drawn by factorising the covariance of all points. There are two forms:

- `draw_published` does as the authors do: scikit-learn evaluates the kernels and factorises by singular values.
- `draw_lean` draws the same as fast as we could make it in NumPy and SciPy: the bank is evaluated once, and a Cholesky
  factor is computed in place. It draws one series at a time, because a covariance that stays in the processor's cache
  is worth more than a batch. It uses double precision, because in single precision smooth kernels have no Cholesky
  factor without noise of 0.5 % of their standard deviation.

scikit-learn is imported only when it is needed.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg

MAX_KERNELS = 5
PERIODS = (24, 48, 96, 168, 336, 672, 7, 14, 30, 60, 365, 730, 4, 26, 52, 4, 6, 12, 4, 40, 10)
"""Periods of the periodic kernels in points: calendar cycles from a quarter of an hour to a year."""
JITTER = 1e-10
"""Added to the variance, in units of its mean, so that Cholesky succeeds: 1e-5 of the standard deviation."""

Term = TypeVar("Term")


class Kernel(NamedTuple):
    """An entry of the bank, by the name of its class in scikit-learn; all length scales but those of RBF are 1."""

    name: str
    parameter: float


BANK: tuple[Kernel, ...] = (
    *(Kernel("ExpSineSquared", period) for period in PERIODS),
    *(Kernel("DotProduct", offset) for offset in (0.0, 1.0, 10.0)),
    *(Kernel("RBF", length_scale) for length_scale in (0.1, 1.0, 10.0)),
    *(Kernel("RationalQuadratic", alpha) for alpha in (0.1, 1.0, 10.0)),
    *(Kernel("WhiteKernel", variance) for variance in (0.1, 1.0)),
    Kernel("ConstantKernel", 1.0),
)
PARAMETERS = {
    "ExpSineSquared": "periodicity",
    "DotProduct": "sigma_0",
    "RBF": "length_scale",
    "RationalQuadratic": "alpha",
    "WhiteKernel": "noise_level",
    "ConstantKernel": "constant_value",
}
"""Name of each kernel's parameter in scikit-learn."""


class Recipe(NamedTuple):
    """The kernels of a series and how they are joined."""

    places: list[int]  # in the bank
    are_products: list[bool]  # how the second, the third, ... joins those before it


def draw_recipe(rng: np.random.Generator) -> Recipe:
    """Draws one to MAX_KERNELS kernels with replacement, joined by sums or products with equal probability."""
    count = int(rng.integers(1, MAX_KERNELS + 1))
    return Recipe(rng.integers(len(BANK), size=count).tolist(), (rng.random(count - 1) < 0.5).tolist())


def compose(recipe: Recipe, terms: Sequence[Term]) -> Term:
    """Folds a recipe from left to right; a term is the covariance or the kernel of an entry of the bank."""
    first, *others = (terms[place] for place in recipe.places)
    join = lambda a, b: a * b[0] if b[1] else a + b[0]
    return functools.reduce(join, zip(others, recipe.are_products), first)


def grid(n: int) -> np.ndarray:
    """n points from 0 to 1: [n]."""
    return np.linspace(0.0, 1.0, n)


def covariance(kernel: Kernel, n: int) -> np.ndarray:
    """Covariance [n, n] of a kernel on the grid."""
    parameter, x_N = kernel.parameter, grid(n)
    distance_NN = x_N[:, None] - x_N[None, :]
    match kernel.name:
        case "ExpSineSquared":
            return np.exp(-2.0 * np.sin(np.pi * n / parameter * distance_NN) ** 2)
        case "DotProduct":
            return parameter**2 + x_N[:, None] * x_N[None, :]
        case "RBF":
            return np.exp(-0.5 * (distance_NN / parameter) ** 2)
        case "RationalQuadratic":
            return (1.0 + distance_NN**2 / (2.0 * parameter)) ** -parameter
        case "WhiteKernel":
            return parameter * np.eye(n)
        case "ConstantKernel":
            return np.full((n, n), parameter)
    raise ValueError(f"{kernel.name} is not in the bank")


@functools.lru_cache(maxsize=1)
def bank_covariances(n: int) -> np.ndarray:
    """Covariances [K, n, n] of the whole bank."""
    return np.stack([covariance(kernel, n) for kernel in BANK])


def compose_covariance(recipe: Recipe, n: int) -> np.ndarray:
    """Covariance [n, n] of a recipe, with jitter, in an array that may be overwritten."""
    bank_KNN = bank_covariances(n)
    composed_NN = bank_KNN[recipe.places[0]].copy()
    # What `compose` does, without an array for each term.
    for place, is_product in zip(recipe.places[1:], recipe.are_products):
        join = np.multiply if is_product else np.add
        join(composed_NN, bank_KNN[place], out=composed_NN)
    composed_NN.flat[:: n + 1] += JITTER * np.trace(composed_NN) / n
    return composed_NN


def draw_path(covariance_NN: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A path [n] of the Gaussian process with this covariance, which is overwritten."""
    # The transpose is the same matrix, in the order of LAPACK, which then needs no copy.
    factor_NN = linalg.cholesky(covariance_NN.T, lower=False, overwrite_a=True, check_finite=False)
    return rng.standard_normal(len(factor_NN)) @ factor_NN


def draw_lean(seed: Sequence[int], series: int, n: int) -> np.ndarray:
    """Draws series [series, n]."""
    rng = np.random.default_rng(seed)
    return np.stack([draw_path(compose_covariance(draw_recipe(rng), n), rng) for _ in range(series)])


def as_scikit_learn(kernel: Kernel, n: int) -> Any:
    """An entry of the bank as a kernel of scikit-learn, for a grid of n points."""
    from sklearn.gaussian_process import kernels

    parameter = kernel.parameter / n if kernel.name == "ExpSineSquared" else kernel.parameter
    return getattr(kernels, kernel.name)(**{PARAMETERS[kernel.name]: parameter})


def draw_published(seed: Sequence[int], n: int) -> np.ndarray:
    """Draws one series [n]."""
    from sklearn.gaussian_process import GaussianProcessRegressor

    rng = np.random.default_rng(seed)
    while True:
        kernel = compose(draw_recipe(rng), [as_scikit_learn(kernel, n) for kernel in BANK])
        try:
            with warnings.catch_warnings():
                # Of covariances that rounding has left with an eigenvalue below zero.
                warnings.filterwarnings("ignore", "covariance is not symmetric positive-semidefinite")
                process = GaussianProcessRegressor(kernel)
                return process.sample_y(grid(n)[:, None], random_state=int(rng.integers(2**32)))[:, 0]
        except np.linalg.LinAlgError:  # the authors draw anew, too
            continue


def lean_sampler(series: int, n: int, processes: int) -> Callable[[int], np.ndarray]:
    """Draws series [series, n] from a seed, divided evenly among single-threaded processes."""
    from joblib import Parallel, delayed

    shares = [len(share) for share in np.array_split(np.arange(series), processes)]
    parallel = Parallel(n_jobs=processes)
    return lambda seed: np.concatenate(parallel(delayed(draw_lean)((seed, i), x, n) for i, x in enumerate(shares)))


def published_sampler(series: int, n: int, processes: int) -> Callable[[int], np.ndarray]:
    """Draws series [series, n] from a seed, one task per series, in single-threaded processes."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=processes)
    return lambda seed: np.stack(parallel(delayed(draw_published)((seed, i), n) for i in range(series)))
