"""Attention by tiles equals MLX's own, and takes its place where a head's tokens would need too much memory."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from turboquant.backends import reference, tiles
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache
from turboquant.segments import Policy

TOKENS = 50


def error(got: mx.array, want: mx.array) -> float:
    return float(mx.abs(got.astype(mx.float32) - want.astype(mx.float32)).max())


@pytest.mark.parametrize("tile", [1, 7, 49, 50, 64])
@pytest.mark.parametrize("kind", ["none", "causal", "bool", "additive", "window"])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_equals_fast_attention(tile: int, kind: str, with_sinks: bool) -> None:
    mx.random.seed(4)
    queries = mx.random.normal((2, 6, 5, 16))
    keys, values = mx.random.normal((2, 2, TOKENS, 16)), mx.random.normal((2, 2, TOKENS, 8))
    sinks = mx.random.normal((6,)) * 3 if with_sinks else None
    seen = np.random.default_rng(1).random((2, 6, 5, TOKENS)) < 0.5
    seen[..., -1] = True
    newest = np.arange(TOKENS - 5, TOKENS)[:, None]
    masks = {
        "none": None,
        "causal": "causal",
        "bool": mx.array(seen),
        "additive": mx.random.normal((1, 1, 5, TOKENS)),
        # a row sees nothing at all of the first tiles
        "window": mx.array((np.arange(TOKENS) <= newest) & (np.arange(TOKENS) > newest - 9)),
    }
    got = tiles.attend(
        queries, lambda a, b: (keys[:, :, a:b], values[:, :, a:b]), TOKENS, tile, 0.25, masks[kind], sinks
    )
    want = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=0.25, mask=masks[kind], sinks=sinks)
    assert error(got, want) < 1e-5


@pytest.mark.parametrize("scheme", ["turbo4", "turbo3v2", "turbo0v4"])
def test_a_long_cache_is_attended_by_tiles(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mx.random.seed(6)
    cache = TurboQuantCache(scheme, policy=Policy(first=4, tail=8, block=16))
    keys, values = mx.random.normal((1, 2, 400, 64)) + 2, mx.random.normal((1, 2, 400, 64))
    queries = mx.random.normal((1, 4, 400, 64))
    cache.update_and_fetch(keys[:, :, :350], values[:, :, :350])
    cache.calibration.observe(queries[:, :, :350], 2)
    cache.compress()
    cache.update_and_fetch(keys[:, :, 350:], values[:, :, 350:])
    asked: list[int] = []
    attend = tiles.attend

    def counted(*args: object) -> mx.array:
        asked.append(args[3])  # type: ignore[arg-type]
        return attend(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(tiles, "attend", counted)
    want = ReferenceBackend().attend(queries[:, :, 350:], cache.stretches(), 0.125, "causal", None)
    assert asked == []
    monkeypatch.setattr(reference, "WORKING_BYTES", 100_000)
    got = ReferenceBackend().attend(queries[:, :, 350:], cache.stretches(), 0.125, "causal", None)
    assert len(asked) == 2  # a kv head at a time
    assert 1 < asked[0] < 400
    assert error(got, want) < 1e-4
