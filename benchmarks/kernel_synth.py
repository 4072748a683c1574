"""KernelSynth, the peer of the prior: Gaussian processes whose kernels are composed at random.

Ansari et al., "Chronos: Learning the Language of Time Series" (2024), algorithm 2: one to five kernels from a bank,
folded by sums and products, and a path by factorising the covariance of all points. Two forms of it:

- `draw_published` does as the authors do: scikit-learn evaluates the kernels and factorises by singular values.
- `draw_lean` is as fast as we could make it without changing what is drawn, in NumPy and SciPy: the bank is evaluated
  once, and a Cholesky factor is taken in place. One series at a time, for a covariance that stays in the processor's
  cache is worth more than a batch of them. In double precision: in single, smooth kernels have no Cholesky factor until
  noise of half a hundredth of their deviation is added.

Nothing here imports scikit-learn before it is asked to.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg

MAX_KERNELS = 5
PERIODS = (24, 48, 96, 168, 336, 672, 7, 14, 30, 60, 365, 730, 4, 26, 52, 4, 6, 12, 4, 40, 10)
"""Of the periodic kernels, in points: calendar cycles from a quarter of an hour to a year, some of them in several."""
JITTER = 1e-10
"""Added to the variance, in units of its mean, for Cholesky's sake: a hundred thousandth of the deviation."""

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
"""What scikit-learn calls the parameter of each."""


class Recipe(NamedTuple):
    """Which kernels a series is made of, and how."""

    places: list[int]  # in the bank
    are_products: list[bool]  # how the second, the third, ... joins those before it


def draw_recipe(rng: np.random.Generator) -> Recipe:
    """One to MAX_KERNELS kernels, repetitions allowed, joined by a sum or a product with equal chance."""
    count = int(rng.integers(1, MAX_KERNELS + 1))
    return Recipe(rng.integers(len(BANK), size=count).tolist(), (rng.random(count - 1) < 0.5).tolist())


def compose(recipe: Recipe, terms: Sequence[Term]) -> Term:
    """The recipe folded from left to right, of one term for each entry of the bank: a covariance or a kernel."""
    first, *others = (terms[place] for place in recipe.places)
    join = lambda a, b: a * b[0] if b[1] else a + b[0]
    return functools.reduce(join, zip(others, recipe.are_products), first)


def grid(n: int) -> np.ndarray:
    """The points [n], from 0 to 1 whatever their number."""
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
    """Covariance [n, n] of a recipe, with its jitter, in an array that may be overwritten."""
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
    """So many series [series, n]."""
    rng = np.random.default_rng(seed)
    return np.stack([draw_path(compose_covariance(draw_recipe(rng), n), rng) for _ in range(series)])


def as_scikit_learn(kernel: Kernel, n: int) -> Any:
    """An entry of the bank as a kernel of scikit-learn, for a grid of n points."""
    from sklearn.gaussian_process import kernels

    parameter = kernel.parameter / n if kernel.name == "ExpSineSquared" else kernel.parameter
    return getattr(kernels, kernel.name)(**{PARAMETERS[kernel.name]: parameter})


def draw_published(seed: Sequence[int], n: int) -> np.ndarray:
    """One series [n]."""
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
    """From a seed to series [series, n], shared out evenly among processes of one thread each."""
    from joblib import Parallel, delayed

    shares = [len(share) for share in np.array_split(np.arange(series), processes)]
    parallel = Parallel(n_jobs=processes)
    return lambda seed: np.concatenate(parallel(delayed(draw_lean)((seed, i), x, n) for i, x in enumerate(shares)))


def published_sampler(series: int, n: int, processes: int) -> Callable[[int], np.ndarray]:
    """From a seed to series [series, n], one task a series for processes of one thread each."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=processes)
    return lambda seed: np.stack(parallel(delayed(draw_published)((seed, i), n) for i in range(series)))
