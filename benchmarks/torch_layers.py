"""The layers of FIM-l and FIM in PyTorch, as in fimjax.nn.

Attention and the encoder's layers are written out, for `nn.TransformerEncoder` is the slower one: it copies tokens into
another layout and back, so that it trains a tenth slower at the shipped width, and its fast path for inference answers
NaN for a window without observations.
"""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LayerNorm = functools.partial(nn.LayerNorm, eps=1e-6)  # Flax's epsilon
gelu = functools.partial(F.gelu, approximate="tanh")  # Flax's GELU
HIDDEN = -1e30  # as in fimjax.nn.attention


def split_heads(x: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """What a packed projection holds side by side: [B, T, parts * N * D] -> parts times [B, N, T, D]."""
    return x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """[B, N, Q, D], twice [B, N, T, D], [B, T] -> [B, Q, N * D], zeros where there is nothing to see."""
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
    return out.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Attention among tokens, with one product for their three projections."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask [B, T] -> [B, T, D]"""
        return self.out(attend(*split_heads(self.query_key_value(x), 3, self.heads), mask))


class CrossAttention(nn.Module):
    """Attention from queries to tokens; queries that are the same for all sets are projected once."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """queries [B or 1, Q, D], tokens [B, T, D], mask [B, T] -> [B, Q, D]"""
        (query,) = split_heads(self.query(queries), 1, self.heads)
        key, value = split_heads(self.key_value(tokens), 2, self.heads)
        return self.out(attend(query.expand(len(tokens), -1, -1, -1), key, value, mask))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward block, each with a residual and a LayerNorm before it."""

    def __init__(self, width: int, heads: int, feedforward: int):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm_attention, self.norm_feedforward = LayerNorm(width), LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, feedforward * width), nn.Linear(feedforward * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x), mask)
        return x + self.narrow(F.relu(self.widen(self.norm_feedforward(x))))


class TransformerEncoder(nn.Module):
    """Encoder layers, and a LayerNorm at the end."""

    def __init__(self, width: int, layers: int, heads: int, feedforward: int):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(width, heads, feedforward) for _ in range(layers))
        self.norm = LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask [B, T] -> [B, T, D]"""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class SummaryAttention(nn.Module):
    """One learnable query attends to all observed tokens."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.query = nn.Parameter(0.02 * torch.randn(1, width))
        self.attention = CrossAttention(width, heads)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens [B, T, D], mask [B, T] -> [B, D]"""
        return self.attention(self.query[None], tokens, mask)[:, 0]


class DenseBlock(nn.Module):
    """Linear without bias, LeakyReLU, LayerNorm."""

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.linear, self.norm = nn.Linear(inputs, width, bias=False), LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(F.leaky_relu(self.linear(x)))


class Projection(nn.Module):
    """phi_7, from (summary, trunk) down to the outputs; a LayerNorm stands after the first and the third layer."""

    def __init__(self, width: int, hidden: tuple[int, ...], outputs: int):
        super().__init__()
        self.from_summary = nn.Linear(width, hidden[0], bias=False)
        self.from_trunk = nn.Linear(width, hidden[0], bias=False)
        self.norm = LayerNorm(hidden[0])
        pairs = enumerate(zip(hidden, hidden[1:]), start=1)
        layers = [DenseBlock(a, b) if i == 2 else nn.Sequential(nn.Linear(a, b), nn.LeakyReLU()) for i, (a, b) in pairs]
        self.hidden = nn.Sequential(*layers)
        self.outputs = nn.Linear(hidden[-1], outputs)

    def forward(self, summary: Tensor, trunk: Tensor) -> Tensor:
        """summary [B, D], trunk [B, Q, D] -> [B, Q, L]"""
        x = self.from_summary(summary)[:, None] + self.from_trunk(trunk)
        return self.outputs(self.hidden(self.norm(F.leaky_relu(x))))


class CrossLayer(nn.Module):
    """Attention from queries to tokens and a feed-forward block, each with a residual and a LayerNorm before it."""

    def __init__(self, width: int, heads: int, feedforward: int):
        super().__init__()
        self.attention = CrossAttention(width, heads)
        self.norm_attention, self.norm_feedforward = LayerNorm(width), LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, feedforward * width), nn.Linear(feedforward * width, width)

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        queries = queries + self.attention(self.norm_attention(queries), tokens, mask)
        return queries + self.narrow(gelu(self.widen(self.norm_feedforward(queries))))


class Anchor(nn.Module):
    """Heads that each take a mean of the observed values, and pinned values, added up with weights of any sign.

    Its attention is written out, for PyTorch's fused kernel wants values as wide as keys.
    """

    def __init__(self, width: int, heads: int, pinned: int):
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width // 2), nn.Linear(width, width // 2)
        self.gates = nn.Linear(width, heads + pinned)
        nn.init.zeros_(self.gates.weight)
        nn.init.zeros_(self.gates.bias)
        nn.init.constant_(self.gates.bias[:heads], 1 / heads)

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor, values: Tensor, pinned: Tensor) -> Tensor:
        """queries [B, Q, D], tokens [B, T, D], mask, values [B, T], zero where hidden, pinned [B, P] -> [B, Q]"""
        (query,) = split_heads(self.query(queries), 1, self.heads)
        (key,) = split_heads(self.key(tokens), 1, self.heads)
        hidden = torch.where(mask, 0.0, HIDDEN)[:, None, None, :]
        weights = torch.softmax((query * query.shape[-1] ** -0.5) @ key.mT + hidden, -1)  # [B, N, Q, T]
        means = (weights.flatten(1, 2) @ values[..., None]).view(weights.shape[:3])
        gates = self.gates(queries)
        of_heads = (gates[..., : self.heads] * means.transpose(1, 2)).sum(-1)
        return of_heads + (gates[..., self.heads :] * pinned[:, None]).sum(-1)


class QueryDecoder(nn.Module):
    """Query times attend to encoded points or windows; see fimjax.nn.query_decoder."""

    def __init__(
        self,
        features: int,
        width: int,
        layers: int,
        heads: int,
        feedforward: int,
        levels: tuple[float, ...],
        anchor_heads: int = 0,
        pinned: int = 0,
        guesses: int = 0,
    ):
        super().__init__()
        self.levels = levels
        self.embedding, self.trunk = nn.Linear(features, width), nn.Linear(width, width)
        self.layers = nn.ModuleList(CrossLayer(width, heads, feedforward) for _ in range(layers))
        self.norm = LayerNorm(width)
        self.hidden, self.outputs = nn.Linear(width, width), nn.Linear(width, max(1, len(levels)))
        self.anchor = Anchor(width, anchor_heads, pinned) if anchor_heads else None
        self.trust = nn.Linear(width, guesses) if guesses else None

    def forward(
        self,
        features: Tensor,
        tokens: Tensor,
        mask: Tensor,
        values: Tensor | None = None,
        pinned: Tensor | None = None,
        guesses: Tensor | None = None,
        unit: Tensor | None = None,
    ) -> Tensor:
        """What is said of each query time.

        features [B, Q, F], tokens [B, T, D], mask [B, T]; for the anchor values [B, T] and pinned [B, P]; to start from
        guesses [B, Q, G] and their unit [B] -> [B, Q, L]
        """
        x = self.trunk(gelu(self.embedding(features)))
        for layer in self.layers:
            x = layer(x, tokens, mask)
        x = self.norm(x)
        hidden = gelu(self.hidden(x))
        out = apply_quantile_head(self.outputs(hidden), self.levels)
        if self.anchor is not None:
            out = out + self.anchor(x, tokens, mask, values, pinned)[..., None]
        if self.trust is not None:
            guess = (self.trust(hidden).softmax(-1) * guesses).sum(-1, keepdim=True)
            out = guess + unit[:, None, None] * out
        return out


def apply_quantile_head(raw: Tensor, levels: tuple[float, ...]) -> Tensor:
    """A value as it is, or quantiles that rise from the median up and fall from it down: [..., L] -> [..., L]."""
    if not levels:
        return raw
    middle = min(range(len(levels)), key=lambda i: abs(levels[i] - 0.5))
    below, median, above = raw.split([middle, 1, len(levels) - middle - 1], -1)
    falls = F.softplus(below).flip(-1).cumsum(-1).flip(-1)
    return torch.cat([median - falls, median, median + F.softplus(above).cumsum(-1)], -1)
