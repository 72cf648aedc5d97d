"""A constant that a layer adds to its keys before RoPE (k_proj.bias): taken out of what is packed, added to the scores.

Qwen2.5's has a norm of 600 against 20 of the rest, and RoPE spins it, so that no offset holds it. Packed is
k - RoPE_t(b); a score gets q . RoPE_t(b), which is exact. RoPE is always the model's own, applied to b or to q.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.nn.layers.positional_encoding import RoPE
from mlx_lm.models import rope_utils

BLOCK = 128  # positions that share a rotation of the query
WORTH = 0.7  # of the centred keys' power: a bias that leaves more of it isn't worth a score of its own
CHECKED = 1e-3  # relative error allowed to the scores by blocks


class KeyBias:
    """The bias (kv heads * dim) of one layer and the RoPE that follows it."""

    def __init__(self, bias: mx.array, rope: Module) -> None:
        self._bias = bias
        self._rope: Any = rope

    def __deepcopy__(self, memo: object) -> KeyBias:
        return self  # the model's, not the cache's

    def rows(self, start: int, stop: int, heads: int) -> mx.array:
        """RoPE_t(b) for start <= t < stop, (1, kv heads, stop - start, dim) float32."""
        bias = self._bias.astype(mx.float32).reshape(1, heads, 1, -1)
        repeated = mx.broadcast_to(bias, (1, heads, stop - start, bias.shape[-1]))
        return mx.array(self._rope(repeated, offset=start))

    def scores(self, queries: mx.array, start: int, stop: int, heads: int) -> mx.array:
        """q . RoPE_t(b) of queries (B, Hq, L, dim) for start <= t < stop: (B, Hq, L, stop - start) float32.

        With t = t0 + s it is RoPE_{-t0}(q) . RoPE_s(b): one rotation of the query for a block of positions.
        """
        batch, query_heads, length, dim = queries.shape
        count = -(-(stop - start) // BLOCK)
        begins = mx.arange(count) * BLOCK + start
        gain = self._rope(mx.ones((1, 1, 1, dim)), offset=0)  # some variants also scale
        q = (queries.astype(mx.float32) / gain).reshape(1, -1, 1, dim)
        turned = self._rope(mx.broadcast_to(q, (count, *q.shape[1:])), offset=-begins)
        turned = turned.reshape(count, batch, heads, -1, dim)
        table = self.rows(0, BLOCK, heads)[:, None]
        blocks = turned @ table.swapaxes(-1, -2)  # (count, B, heads, group * L, BLOCK)
        joined = mx.moveaxis(blocks, 0, -2).reshape(batch, query_heads, length, count * BLOCK)
        return joined[..., : stop - start]

    def pays(self, keys: mx.array, start: int) -> bool:
        """Whether packing keys (B, H, n, dim) of positions `start`.. without the bias is worth its cost, measured."""
        heads, rows = keys.shape[1], keys.shape[2]
        keys = keys.astype(mx.float32)
        without = keys - self.rows(start, start + rows, heads)
        left, whole = (mx.square(k - k.mean(axis=2, keepdims=True)).sum() for k in (without, keys))
        return bool(left < WORTH * whole) and self._agrees(start, start + rows, heads)

    def _agrees(self, start: int, stop: int, heads: int) -> bool:
        """Whether this RoPE composes as `scores` supposes."""
        rows = self.rows(start, stop, heads)
        query = rows[:, :, -1:]
        exact = query @ rows.swapaxes(-1, -2)
        return bool(mx.abs(self.scores(query, start, stop, heads) - exact).max() <= CHECKED * mx.abs(exact).max())


def of_layer(layer: Module | None) -> KeyBias | None:
    """The key bias of a decoder layer whose keys are RoPE(k_proj(x)), nothing in between; else None."""
    for module in layer.modules() if layer is not None else ():
        projection, rope = getattr(module, "k_proj", None), getattr(module, "rope", None)
        if not (isinstance(projection, Module) and isinstance(rope, Module)) or hasattr(module, "k_norm"):
            continue
        known = isinstance(rope, RoPE) or type(rope).__module__ == rope_utils.__name__
        if known and "bias" in projection:
            return KeyBias(projection["bias"], rope)
    return None
