"""The anchor: a sum of observed values, whatever the tokens say."""

import jax
import jax.numpy as jnp
import numpy as np

from fimjax.nn.anchor import Anchor
from fimjax.nn.packing import pack_slots

QUERIES, TOKENS = (jax.random.normal(jax.random.key(i), (2, n, 8)) for i, n in ((0, 3), (1, 5)))
MASK = jnp.array([[True] * 5, [True, True, False, False, False]])
VALUES = jnp.array([[1.0, 2.0, 3.0, 4.0, 5.0], [7.0, 7.0, -99.0, -99.0, -99.0]])
PINNED = jnp.broadcast_to(jnp.array([5.0, 7.0])[:, None, None], (2, 3, 1))


def params():
    return Anchor(2).init(jax.random.key(2), QUERIES, TOKENS, MASK, VALUES, PINNED)


def test_at_first_it_is_a_mean_of_what_is_seen():
    out = Anchor(2).apply(params(), QUERIES, TOKENS, MASK, VALUES, PINNED)
    assert out.shape == (2, 3) and 1.0 < out[0].min() and out[0].max() < 5.0
    np.testing.assert_allclose(out[1], 7.0, rtol=1e-6)


def test_values_pass_through_unchanged_by_any_layer():
    answer = lambda scale: Anchor(2).apply(params(), QUERIES, TOKENS, MASK, scale * VALUES, scale * PINNED)
    np.testing.assert_allclose(answer(1e4), 1e4 * answer(1.0), rtol=1e-5)


def test_what_is_pinned_needs_no_attention():
    known = params()["params"]
    moved = {**known, "gates": {**known["gates"], "bias": jnp.array([0.0, 0.0, 1.0])}}
    out = Anchor(2).apply({"params": moved}, QUERIES, TOKENS, MASK, VALUES, PINNED)
    np.testing.assert_allclose(out, PINNED[..., 0], rtol=1e-6)


def test_packed_tokens_and_queries_give_the_same():
    asked = jnp.array([[True, False, True], [False, True, False]])
    tokens, queries = pack_slots(MASK, 8), pack_slots(asked, 4)
    packed = queries.pack(QUERIES), tokens.pack(TOKENS), MASK, VALUES, queries.pack(PINNED)
    rows = Anchor(2).apply(params(), *packed, packed_queries=queries, packed_tokens=tokens)
    expected = Anchor(2).apply(params(), QUERIES, TOKENS, MASK, VALUES, PINNED)
    np.testing.assert_allclose(rows[:3], expected[asked], rtol=1e-5)


def test_what_all_agree_on_is_the_answer_whatever_the_gates():
    base, none = jnp.full((2, 3), 7.0), jnp.zeros((2, 3, 2))
    sevens = jnp.full_like(VALUES, 7.0), jnp.full_like(PINNED, 7.0)
    wild = Anchor(2).init(jax.random.key(3), QUERIES, TOKENS, MASK, *sevens, none, base)["params"]
    wild = {**wild, "gates": jax.tree.map(lambda x: x + 3.0, wild["gates"])}
    ask = lambda remainders: Anchor(2).apply({"params": wild}, QUERIES, TOKENS, MASK, *sevens, remainders, base)
    np.testing.assert_allclose(ask(none), 7.0, rtol=1e-5)
    assert (jnp.abs(ask(none + 1.0) - 7.0) > 1.0).all()  # remainders are added as they are
    with_base = Anchor(2).apply({"params": wild}, QUERIES, TOKENS, MASK, VALUES + 5, PINNED + 5, none, base + 5)
    plain = Anchor(2).apply({"params": wild}, QUERIES, TOKENS, MASK, VALUES, PINNED, none, base)
    np.testing.assert_allclose(with_base, plain + 5.0, rtol=1e-4)  # so it moves with the values
