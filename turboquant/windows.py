"""Sliding windows: which tokens a step sees, how they are stored in blocks, and whether packing them pays."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from turboquant.reasons import Reason
from turboquant.schemes import RAW_BYTES, Scheme
from turboquant.segments import Policy, capacity

BODY_STEP = 64  # capacities of a window are finer than those of a sequence that only grows


def policy(base: Policy, window: int, keep: int) -> Policy:
    """`base` for a window of that many tokens, of which the first `keep` never leave: blocks of a quarter at most."""
    return replace(base, first=keep or base.first, block=min(base.block, max(window // 4, 1)))


def reserve(policy: Policy) -> int:
    """Rows out of sight that are kept, so that a few tokens can be trimmed; after a block more they are dropped."""
    return policy.block // 2


def tail_step(policy: Policy) -> int:
    """A capacity that holds a window's raw tail between two flushes."""
    return policy.tail + policy.block + 1


def pays(shape: tuple[int, int, int, int], scheme: Scheme, window: int, policy: Policy, keep: int) -> bool:
    """Whether the window's buffers under `scheme` never take more than the ring of its raw tokens."""
    _, _, key_dim, value_dim = shape
    raw_row = (key_dim + value_dim) * RAW_BYTES
    body = window - 1 - keep - policy.tail + reserve(policy) + policy.block
    raw = capacity(keep, 5) + tail_step(policy)
    packed = capacity(max(body, 0), BODY_STEP) * scheme.bytes_per_token(key_dim, value_dim)
    return raw * raw_row + packed < window * raw_row


def unpackable(shape: tuple[int, int, int, int], scheme: Scheme, window: int, policy: Policy, keep: int) -> str:
    """Why a window of this shape stays raw under `scheme`; empty where it doesn't."""
    if pays(shape, scheme, window, policy, keep):
        return ""
    return Reason("a sliding window of {0} tokens: packed it would take no less", window)


def rows(tokens: int, window: int, policy: Policy, keep: int) -> tuple[int, int, int, int]:
    """(first, packed, tail, hidden) rows once `tokens` were prefilled in large steps and packed."""
    hidden = max(tokens - (window - 1), 0)
    if hidden >= reserve(policy) + policy.block:
        hidden = reserve(policy)
    first = keep if hidden else min(policy.first, tokens)
    pending = min(tokens, window - 1) + hidden - first
    packed = policy.flushable(pending)
    return first, packed, pending - packed, hidden


def mask(rows: int, offset: int, window: int, window_size: int | None, return_array: bool) -> mx.array | str | None:
    """What mlx-lm's RotatingKVCache of `window` tokens makes for `rows` more tokens after `offset`.

    Columns are the min(offset, window - 1) + rows tokens in order of time, the kept ones first; mlx-lm's are in the
    ring's order where there is one row.
    """
    seen = min(window - 1, offset)
    if rows > 1:
        size = window_size or window
        if seen + rows > size or return_array:
            array: mx.array = create_causal_mask(rows, seen, window_size=size)
            return array
        return "causal"
    if window_size is None or window_size >= window or offset < window_size:
        return None
    return mx.arange(seen + 1) > seen - window_size
