"""MQCNN: dilated causal convolutions over the past, then decoders for all horizons and for each (paper, table 6)."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fimjax.config import MQCNNConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.compute import Compute
from fimjax.nn.embedding import Embedding
from fimjax.nn.grid import Grid
from fimjax.nn.quantile_head import apply_quantile_head, head_size


def receptive_field(kernel: int, dilations: tuple[int, ...]) -> int:
    """Steps that one encoding knows of, its own among them."""
    return 1 + (kernel - 1) * sum(dilations)


class DilatedConv(nn.Module):
    """A convolution of steps that lie `dilation` apart, without padding, as one product for each of its taps.

    Linen's own does the same, with the same parameters; but inside a loop, where training steps are, XLA computes
    convolutions on CPUs in a way that is twenty times slower.
    """

    channels: int
    kernel: int
    dilation: int
    dtype: Any = jnp.float32
    precision: str | None = None

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, T + (kernel - 1) * dilation, F] -> [B, T, D]"""
        shape = (self.kernel, x.shape[-1], self.channels)
        kernel = self.param("kernel", nn.initializers.lecun_normal(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.channels,))
        x, kernel, bias = nn.dtypes.promote_dtype(x, kernel, bias, dtype=self.dtype)
        steps = x.shape[1] - (self.kernel - 1) * self.dilation
        taps = [x[:, i * self.dilation : i * self.dilation + steps] for i in range(self.kernel)]
        products = [jnp.matmul(tap, k, precision=self.precision) for tap, k in zip(taps, kernel)]
        return sum(products) + bias[None, None]


class PastEncoder(nn.Module):
    """Dilated causal convolutions, each with a ReLU.

    No layer pads: an encoding comes from a whole receptive field of inputs that ends at its own step. So the caller
    says with its inputs for which steps there is work, and all that the newest encoding takes is one receptive field.
    """

    kernel: int
    dilations: tuple[int, ...]
    channels: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, R - 1 + T, F] -> [B, T, D], R being the receptive field"""
        for i, dilation in enumerate(self.dilations):
            # The first layer reads values, not features: eight bits would round the steps of a trend away.
            exact = (jnp.float32, "highest") if i == 0 else (self.dtype, None)
            convolve = DilatedConv(self.channels, self.kernel, dilation, *exact, name=f"convolution_{i}")
            x = nn.relu(convolve(x)).astype(self.dtype)
        return x


class LocalDecoder(nn.Module):
    """m_L, one for all horizons: from the two contexts and what is known of a horizon to the numbers of its answer."""

    width: int
    outputs: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, agnostic: jax.Array, specific: jax.Array, known: jax.Array) -> jax.Array:
        """[B, A], [B, H, S], [B, H, F] -> [B, H, L], float32"""
        # One layer over all three; what is the same at all horizons is multiplied once and not H times.
        shared = nn.Dense(self.width, use_bias=False, dtype=self.dtype, name="from_agnostic")(agnostic)
        own = jnp.concatenate([specific, known.astype(self.dtype)], axis=-1)
        own = nn.Dense(self.width, dtype=self.dtype, name="from_specific")(own)
        hidden = nn.relu(shared[:, None] + own)
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest", name="out")(hidden.astype(jnp.float32))


class MQCNN(GridForecaster):
    """The multi-horizon quantile forecaster with a convolutional encoder (Wen et al. 2017).

    The encoding of the last step and that of the future go into a context for all horizons, c_a, and one for each,
    c_k; then m_L tells the quantiles of horizon k from c_a, c_k and what is known of that horizon.

    Readings taken, for table 6 gives widths and no more: each width is that of one layer with a ReLU; the future is
    encoded as a whole, all its steps side by side, while m_L reads what is known of its own horizon as it is, as in
    Wen et al.; m_L has one hidden layer, of the width of GluonTS's decoder. Known of a horizon is its place, k / H,
    and the season's phases if the config asks for them; the convolutions read them too, beside each value and
    whether it was observed. NeuralForecast has no MQCNN, but this stack of convolutions, as the encoder of its TCN. It
    pads each layer with zeros, as GluonTS does; here, steps before the grid are like any others at which nothing was
    observed. With a context as long as the receptive field it is the same.

    Left out: the static encoder, for no series here has static inputs; forking sequences, for every synthetic series
    has one forecast origin, and none is seen twice, which is why there is no dropout either; the last value beside the
    encoding, a default of GluonTS, for `from_last` serves that. Unlike the original's, quantiles cannot cross.
    """

    config: MQCNNConfig
    compute: Compute = Compute()

    def setup(self):
        c, dtype = self.config, self.compute.dtype
        self.past_encoder = PastEncoder(c.kernel, c.dilations, c.channels, dtype)
        self.future_encoder = Embedding(c.future_width, dtype)
        self.agnostic_decoder = nn.Dense(c.agnostic_width, dtype=dtype)
        self.specific_decoder = nn.Dense(c.horizon * c.specific_width, dtype=dtype)
        self.local_decoder = LocalDecoder(c.local_width, head_size(c.quantile_levels), dtype)

    def tell(self, grid: Grid) -> jax.Array:
        """The steps to come, [B, H, L], float32, sorted along L, in the units of the grid."""
        batch, horizon = grid.ahead.shape[:2]
        known = self.known(grid)
        future = nn.relu(self.future_encoder(known.reshape(batch, -1)))
        context = jnp.concatenate([self.encode(grid, 1)[:, 0], future], axis=-1)
        agnostic = nn.relu(self.agnostic_decoder(context))
        specific = nn.relu(self.specific_decoder(context)).reshape(batch, horizon, -1)
        return apply_quantile_head(self.local_decoder(agnostic, specific, known), self.config.quantile_levels)

    def encode(self, grid: Grid, steps: int) -> jax.Array:
        """Encodings of the last `steps` steps of the grid, [B, steps, D], each of its own past only."""
        inputs = jnp.stack([grid.values, grid.mask.astype(grid.values.dtype)], axis=-1)
        inputs = jnp.concatenate([inputs, grid.phases], axis=-1)
        needed = steps - 1 + receptive_field(self.config.kernel, self.config.dilations)
        before = max(0, needed - inputs.shape[1])
        return self.past_encoder(jnp.pad(inputs, ((0, 0), (before, 0), (0, 0)))[:, -needed:])

    def known(self, grid: Grid) -> jax.Array:
        """What is known of each horizon: its place, and its phases of the season. [B, H, 1 + F]"""
        batch, horizon = grid.ahead.shape[:2]
        place = jnp.arange(1, horizon + 1, dtype=jnp.float32) / horizon
        return jnp.concatenate([jnp.broadcast_to(place[None, :, None], (batch, horizon, 1)), grid.ahead], axis=-1)
