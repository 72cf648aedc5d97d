"""Measured and predicted bytes of a model's caches. Every size on screen comes from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten

from turboquant import trace, windows
from turboquant.cache import TurboQuantCache
from turboquant.plan import packable
from turboquant.schemes import NONE, RAW_BYTES, Scheme, parse
from turboquant.segments import PackedBuffer, Policy, capacity


@dataclass(frozen=True)
class CacheReport:
    """Bytes of one sequence's caches. used = packed + raw + statistics + others (layers that aren't this library's).

    `fp16_bytes`: the same tokens in 16 bits, other layers as they are. `raw_tokens`: of a packed layer (the most).
    """

    scheme: str
    tokens: int
    used_bytes: int
    allocated_bytes: int
    fp16_bytes: int
    packed_bytes: int
    raw_bytes: int
    statistics_bytes: int
    other_bytes: int
    raw_tokens: int
    layers_compressed: int
    layers_total: int


def measure(caches: list[Any]) -> CacheReport:
    """Counts the arrays that the caches hold; nothing is derived from nominal bits."""
    ours = packable(caches)
    others = _others(caches)
    packed = sum(c.bytes_in_sight(b) for c in ours for b in (c.body_keys, c.body_values) if isinstance(b, PackedBuffer))
    statistics = sum(c.calibration.nbytes for c in ours)
    used = sum(c.used_bytes for c in ours)
    other = sum(_other_bytes(c) for c in others)
    return CacheReport(
        scheme=ours[0].scheme.name if ours else "none",
        tokens=max((_tokens(c) for c in (*ours, *others)), default=0),
        used_bytes=used + other,
        allocated_bytes=sum(c.nbytes for c in caches if not c.empty()),
        fp16_bytes=sum(_fp16_bytes(c) for c in ours) + other,
        packed_bytes=packed,
        raw_bytes=used - packed - statistics,
        statistics_bytes=statistics,
        other_bytes=other,
        raw_tokens=max((c.held - c.body_values.count for c in ours), default=0),
        layers_compressed=sum(c.packing and c.can_pack for c in ours),
        layers_total=len(caches),
    )


def predict(caches: list[Any], scheme: Scheme | str, tokens: int) -> int:
    """Used bytes of these layers under `scheme` after a prefill of `tokens`: packed, raw first tokens and tail.

    Statistics aren't predicted (a few hundred bytes a head). 0 before the first token, when no shape is known.
    """
    wanted, tokens = parse(scheme), max(tokens, 0)
    total = sum(_other_bytes(c, tokens) for c in _others(caches))
    for cache in packable(caches):
        if cache.empty():
            continue
        assert cache.shape is not None
        layer_scheme = NONE if cache.reason_under(wanted) else wanted
        total += layer_bytes(cache.shape, layer_scheme, tokens, cache.policy, cache.window, cache.keep)[0]
    return total


def layer_bytes(
    shape: tuple[int, int, int, int],
    scheme: Scheme,
    tokens: int,
    policy: Policy | None = None,
    window: int = 0,
    keep: int = 0,
) -> tuple[int, int]:
    """Used and allocated bytes of a layer of `shape` (batch, kv heads, key dim, value dim), as `predict` means it.

    `policy` is the layer's own; by default the one that the library gives a layer with that window.
    """
    batch, heads, key_dim, value_dim = shape
    policy = policy or (windows.policy(Policy(), window, keep) if window else Policy())
    raw_row = batch * heads * (key_dim + value_dim) * RAW_BYTES
    packed_row = batch * heads * scheme.bytes_per_token(key_dim, value_dim)
    if window:
        return _window_bytes(raw_row, packed_row if scheme.compresses else 0, tokens, policy, window, keep)
    if not scheme.compresses:
        return raw_row * tokens, raw_row * capacity(tokens, 128)
    raw = policy.raw_tokens(tokens)
    first = min(policy.first, tokens)
    rows = capacity(first, 5) + capacity(raw - first, 128)
    return (
        raw_row * raw + packed_row * (tokens - raw),
        raw_row * rows + packed_row * capacity(tokens - raw, 256),
    )


def _window_bytes(
    raw_row: int, packed_row: int, tokens: int, policy: Policy, window: int, keep: int
) -> tuple[int, int]:
    """As `layer_bytes`; a `packed_row` of 0 means that all stays raw."""
    first, packed, tail, hidden = windows.rows(tokens, window, policy, keep)
    step = windows.tail_step(policy)
    if not packed_row:
        apart = first if keep and hidden else 0
        rest = first - apart + packed + tail
        return raw_row * min(tokens, window), raw_row * (capacity(apart, 5) + capacity(rest, step))
    in_sight = packed - min(hidden, packed), tail - max(hidden - packed, 0)
    return (
        raw_row * (first + in_sight[1]) + packed_row * in_sight[0],
        raw_row * (capacity(first, 5) + capacity(tail, step)) + packed_row * capacity(packed, windows.BODY_STEP),
    )


def _fp16_bytes(cache: TurboQuantCache) -> int:
    if cache.empty():
        return 0
    assert cache.shape is not None
    batch, heads, key_dim, value_dim = cache.shape
    tokens = min(cache.offset, cache.window or cache.offset)
    return batch * heads * (key_dim + value_dim) * RAW_BYTES * tokens


def _tokens(cache: Any) -> int:
    return int(getattr(cache, "offset", 0))


def _others(caches: list[Any]) -> list[Any]:
    """Those that are mlx-lm's own, each by itself where it joins them."""
    return [part for cache in caches for part in trace.parts(cache) if not isinstance(part, TurboQuantCache)]


def _other_bytes(cache: Any, tokens: int | None = None) -> int:
    """Of one of mlx-lm's caches, without its capacity; where `tokens` is given, what it would hold of so many."""
    if cache.empty():
        return 0
    keeps_tokens = hasattr(cache, "keys_and_values")
    held = cache.keys_and_values() if keeps_tokens else cache.state
    arrays = [value for _, value in cast(list[tuple[str, Any]], tree_flatten(held)) if isinstance(value, mx.array)]
    size = sum(array.nbytes for array in arrays)
    if tokens is not None and keeps_tokens:
        size = size // arrays[0].shape[2] * min(tokens, trace.window_of(cache) or tokens)
    return size
