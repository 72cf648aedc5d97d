"""Sliding windows: against mlx-lm's own cache of the same window, token by token, around and across the wrap."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models import base
from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.cache import RotatingKVCache

from tests.cache_kit import normal
from turboquant.cache import TurboQuantCache
from turboquant.segments import Policy

W = 100
SMALL = Policy(first=2, tail=4, block=8)


class Layer:
    """One attention layer over our cache and over mlx-lm's."""

    def __init__(self, scheme: str, keep: int = 0) -> None:
        self.ours = TurboQuantCache(scheme, window=W, keep=keep, policy=SMALL)
        self.exact = RotatingKVCache(max_size=W, keep=keep)
        self.seed = 0

    def step(self, rows: int, sinks: mx.array | None = None) -> tuple[mx.array, mx.array]:
        """Both outputs for `rows` more tokens."""
        self.seed += 1
        keys, values, queries = (normal(1, h, rows, 64, seed=3 * self.seed + i) for i, h in enumerate((2, 2, 4)))
        outputs = []
        for cache in (self.ours, self.exact):
            mask = create_attention_mask(mx.zeros((1, rows, 1)), cache)
            k, v = cache.update_and_fetch(keys, values)
            attend = base.scaled_dot_product_attention
            outputs.append(attend(queries, k, v, cache=cache, scale=0.125, mask=mask, sinks=sinks))
        assert self.ours.offset == self.exact.offset
        return outputs[0], outputs[1]


def error(pair: tuple[mx.array, mx.array]) -> float:
    ours, exact = (np.array(x.astype(mx.float32)) for x in pair)
    return float(np.linalg.norm(ours - exact) / np.linalg.norm(exact))


LIMIT = {"none": 2e-3, "turbo8": 0.03, "turbo4": 0.35}


@pytest.mark.parametrize("scheme", LIMIT)
@pytest.mark.parametrize("keep", [0, 4])
@pytest.mark.parametrize("prompt", [1, W - 1, W, W + 1, 3 * W])
def test_a_window_sees_what_mlx_lms_sees(scheme: str, keep: int, prompt: int) -> None:
    layer = Layer(scheme, keep)
    for rows in (prompt, *[1] * (W + 30), 5, 1, 1, 33, 1, 2 * W, 1, 1):
        assert error(layer.step(rows)) < LIMIT[scheme], (layer.ours.offset, rows)
        assert layer.ours.held < W + rows + 2 * layer.ours.policy.block
    assert layer.ours.packing == (scheme != "none")
