"""MQCNN: dilated causal convolutions over the past, then one decoder for all horizons and one for each."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fimjax.config import MQCNNConfig
from fimjax.models.grid_forecaster import GridForecaster
from fimjax.nn.embedding import Embedding
from fimjax.nn.grid import Grid
from fimjax.nn.quantile_head import apply_quantile_head, head_size

LOCAL_WIDTH = 30
"""Hidden width of the local decoder, which table 6 omits: that of GluonTS."""


def receptive_field(kernel_size: int, dilations: tuple[int, ...]) -> int:
    """The number of steps that an encoding depends on, its own step included."""
    return 1 + (kernel_size - 1) * sum(dilations)


class DilatedConv(nn.Module):
    """A dilated convolution without padding, computed as one matrix product for each tap.

    It equals Linen's own convolution, with the same parameters. XLA on CPUs computes convolutions inside a loop twenty
    times slower, and training steps run inside a loop.
    """

    channels: int
    kernel_size: int
    dilation: int
    dtype: DTypeLike = jnp.float32
    precision: str | None = None

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, T + (kernel_size - 1) * dilation, F] -> [B, T, D]"""
        shape = (self.kernel_size, x.shape[-1], self.channels)
        kernel = self.param("kernel", nn.initializers.lecun_normal(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.channels,))
        x, kernel, bias = nn.dtypes.promote_dtype(x, kernel, bias, dtype=self.dtype)
        steps = x.shape[1] - (self.kernel_size - 1) * self.dilation
        taps = [x[:, i * self.dilation : i * self.dilation + steps] for i in range(self.kernel_size)]
        products = [jnp.matmul(tap, k, precision=self.precision) for tap, k in zip(taps, kernel)]
        return sum(products) + bias[None, None]


class PastEncoder(nn.Module):
    """Dilated causal convolutions, each with a ReLU.

    No layer pads, so T encodings need R - 1 steps before the first of them, where R is the receptive field. The
    encoding of the last step alone needs R steps.
    """

    kernel_size: int
    dilations: tuple[int, ...]
    channels: int
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, R - 1 + T, F] -> [B, T, D]"""
        for i, dilation in enumerate(self.dilations):
            # The first layer reads values: the eight bits of bfloat16 would round the steps of a trend away.
            dtype, precision = (jnp.float32, "highest") if i == 0 else (self.dtype, None)
            convolution = DilatedConv(
                self.channels, self.kernel_size, dilation, dtype, precision, name=f"convolution_{i}"
            )
            x = nn.relu(convolution(x)).astype(self.dtype)
        return x


class LocalDecoder(nn.Module):
    """m_L, which all horizons share: from both contexts and the known inputs of a horizon to its outputs."""

    outputs: int
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, agnostic: jax.Array, specific: jax.Array, known: jax.Array) -> jax.Array:
        """agnostic [B, A], specific [B, H, S], known [B, H, F] -> [B, H, L], float32"""
        # One layer reads all three inputs; the part that all horizons share is multiplied once, not H times.
        shared = nn.Dense(LOCAL_WIDTH, use_bias=False, dtype=self.dtype, name="from_agnostic")(agnostic)
        own = jnp.concatenate([specific, known.astype(self.dtype)], axis=-1)
        own = nn.Dense(LOCAL_WIDTH, dtype=self.dtype, name="from_specific")(own)
        hidden = nn.relu(shared[:, None] + own)
        return nn.Dense(self.outputs, dtype=jnp.float32, precision="highest", name="out")(hidden.astype(jnp.float32))


class MQCNN(GridForecaster):
    """MQCNN (Wen et al., 2017) with the sizes of the paper's table 6.

    The encodings of the past and of the future give one context for all horizons, c_a, and one for each horizon, c_k.
    The decoder m_L predicts the quantiles of horizon k from c_a, c_k and the known inputs of that horizon: its position
    k / H, and with `season_harmonics` its phases of the season. The convolutions read values, mask and phases.

    The table gives widths only. Each is read as the width of one layer with a ReLU. The future is encoded as a whole,
    and m_L reads the known inputs of its own horizon as they are (Wen et al.), with one hidden layer as wide as
    GluonTS's.

    Differences from the original:
    - Quantiles cannot cross, because they come from the shared quantile head.
    - There is no static encoder, because the series have no static inputs.
    - There are no forking sequences, because every synthetic series has one forecast origin.
    - There is no dropout, because no synthetic series is seen twice.
    - The decoder does not read the last value, which GluonTS adds by default; `subtract_last_value` serves that.
    - Steps before the grid are unobserved steps at the input. GluonTS and NeuralForecast's TCN pad each layer with
      zeros. Both are the same if the context is as long as the receptive field.
    """

    config: MQCNNConfig

    def setup(self) -> None:
        c, dtype = self.config, self.compute.dtype
        self.past_encoder = PastEncoder(c.kernel_size, c.dilations, c.channels, dtype)
        self.future_encoder = Embedding(c.future_width, dtype)
        self.agnostic_decoder = nn.Dense(c.agnostic_width, dtype=dtype)
        self.specific_decoder = nn.Dense(c.horizon * c.specific_width, dtype=dtype)
        self.local_decoder = LocalDecoder(head_size(c.quantile_levels), dtype)

    def predict_steps(self, grid: Grid) -> jax.Array:
        batch, horizon = grid.future_phases.shape[:2]
        position = jnp.arange(1, horizon + 1, dtype=jnp.float32) / horizon
        position = jnp.broadcast_to(position[None, :, None], (batch, horizon, 1))
        known = jnp.concatenate([position, grid.future_phases], axis=-1)  # [B, H, 1 + F]

        future = nn.relu(self.future_encoder(known.reshape(batch, -1)))
        context = jnp.concatenate([self._encode_last_step(grid), future], axis=-1)
        agnostic = nn.relu(self.agnostic_decoder(context))
        specific = nn.relu(self.specific_decoder(context)).reshape(batch, horizon, -1)
        return apply_quantile_head(self.local_decoder(agnostic, specific, known), self.config.quantile_levels)

    def _encode_last_step(self, grid: Grid) -> jax.Array:
        """The encoding [B, D] of the last step of the grid."""
        inputs = jnp.stack([grid.values, grid.mask.astype(grid.values.dtype)], axis=-1)
        inputs = jnp.concatenate([inputs, grid.phases], axis=-1)
        needed = receptive_field(self.config.kernel_size, self.config.dilations)
        missing = max(0, needed - inputs.shape[1])
        return self.past_encoder(jnp.pad(inputs, ((0, 0), (missing, 0), (0, 0)))[:, -needed:])[:, 0]
