"""Fast cosines of multiples of 2 pi: the families compute more cosines than anything else.

cos(2 pi x) in float32 rounds 2 pi x, which is off by 4e-4 after a thousand periods; x - round(x) is exact. Half a
period remains, for which a polynomial of five terms suffices, in an eighth of the time of the general cosine on a CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np

_QUARTER_SINE = np.polynomial.Chebyshev.interpolate(lambda x: np.sin(2 * np.pi * x), 10, domain=[-0.25, 0.25])
# sin(2 pi x) for |x| <= 1/4, to 4e-9.
_ODD_COEFFICIENTS = [float(c) for c in _QUARTER_SINE.convert(kind=np.polynomial.Polynomial).coef[1::2]]


def cos_2pi(x: jax.Array) -> jax.Array:
    """cos(2 pi x), to 2e-7."""
    to_quarter = 0.25 - jnp.abs(x - jnp.round(x))
    square = to_quarter * to_quarter
    polynomial = jnp.full_like(square, _ODD_COEFFICIENTS[-1])
    for coefficient in _ODD_COEFFICIENTS[-2::-1]:
        polynomial = polynomial * square + coefficient
    return to_quarter * polynomial


def exp_2pi_i(x: jax.Array) -> jax.Array:
    """exp(2 pi i x), a point of the unit circle; sin(2 pi x) = cos(2 pi (x - 1/4))."""
    return jax.lax.complex(cos_2pi(x), cos_2pi(x - 0.25))
