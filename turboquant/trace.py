"""What a model does with its caches, seen by letting it run lazily: nothing is computed, no weight is read.

MLX knows the shape of every array before it computes it, so a step that is never evaluated shows which caches hold keys
and values, of which heads and dims, and whether attention over them comes through mlx-lm's shared function.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx_lm.models.cache import ArraysCache, CacheList, make_prompt_cache

from turboquant.lending import lend

STEPS = (3, 1)  # rows of a traced prompt and of a decode step: some models take another path for one row
LENGTHS = (1024, 2048)  # tokens at which a cache of a model's own kind is looked at: past its window, if it has one
_KNOWN = "_turboquant_traces"


@dataclass(frozen=True)
class CacheTrace:
    """One of mlx-lm's caches, and how the model used it in the traced steps.

    `fresh`: the cache as it was made, empty. `state_bytes`: what it held after the steps; of a model's own kind of
    cache, at each of LENGTHS. Where it holds keys and values: their heads, dims and type. `reads`: how often attention
    came through mlx-lm's shared function in the decode step, from sharing layers too; `intact`: always with the very
    keys and values that the cache had returned; `latent`: its keys were the values too, as in multi-head latent
    attention; `sinks`: with attention sinks.
    """

    fresh: Any
    state_bytes: tuple[int, ...]
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    dtype: mx.Dtype | None = None
    reads: int = 0
    intact: bool = True
    latent: bool = False
    sinks: bool = False

    @property
    def window(self) -> int:
        """How many of the newest tokens it keeps; 0 where it keeps all."""
        return window_of(self.fresh)


Traces = tuple[tuple[CacheTrace, ...], ...]
"""Of each of a model's caches its parts: several where mlx-lm joins caches in one."""


def examine(model: Module) -> Traces:
    """The model's caches, as mlx-lm makes them. A model is traced once; raises whatever its first step raises."""
    # Beside the parameters, not among them: Module keeps tuples that are set the usual way as children.
    if (known := model.__dict__.get(_KNOWN)) is None:
        known = model.__dict__[_KNOWN] = _trace(model)
    return known


def parts(cache: Any) -> Iterator[Any]:
    """The caches that this one of mlx-lm's joins; itself where it joins none."""
    if isinstance(cache, CacheList):
        for part in cache.caches:
            yield from parts(part)
    else:
        yield cache


def window_of(cache: Any) -> int:
    """How many of the newest tokens this cache of mlx-lm's keeps; 0 where it keeps all."""
    return int(getattr(cache, "max_size", 0) or getattr(cache, "chunk_size", 0))


def _trace(model: Module) -> Traces:
    caches = make_prompt_cache(model)
    groups = [list(parts(cache)) for cache in caches]
    watched = [part for group in groups for part in group]
    fresh = {part: copy.copy(part) for part in watched}
    for part in watched:
        part.__class__ = type(type(part).__name__, (_Watched, type(part)), {})
        part.seen = {"intact": True, "latent": False, "sinks": False}
    tokens = 0

    def step(rows: int) -> None:
        nonlocal tokens
        model(mx.zeros((1, rows), mx.int32), cache=caches)
        tokens += rows

    for rows in STEPS:
        step(rows)
    sizes: dict[Any, tuple[int, ...]] = {part: (part.nbytes,) for part in watched}
    if own := [part for part in watched if not isinstance(part, ArraysCache) and "kv_heads" not in part.seen]:
        for length in LENGTHS:
            step(length - tokens)
            sizes |= {part: (*sizes[part], part.nbytes) for part in own}
    return tuple(
        tuple(CacheTrace(fresh[part], sizes[part][-len(LENGTHS) :], **part.seen) for part in group) for group in groups
    )


class _Watched:
    """Put in front of a cache's own class while the model is traced. Hands out known numbers for keys and values."""

    seen: dict[str, Any]
    lent: tuple[mx.array, ...] = ()

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, ...]:
        self.lent = ()
        fetched = super().update_and_fetch(keys, values)  # type: ignore[misc]
        self.lent = _numbered(fetched[0], 0), _numbered(fetched[1], 1)
        lend(self, self.lent[0])
        self.seen["kv_heads"], self.seen["dtype"], self.seen["reads"] = keys.shape[1], keys.dtype, 0
        self.seen["key_dim"], self.seen["value_dim"] = keys.shape[-1], values.shape[-1]
        return self.lent

    def keys_and_values(self) -> tuple[mx.array, ...]:
        return self.lent or super().keys_and_values()  # type: ignore[misc]

    def attend_fetched(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        self.seen["reads"] += 1
        intact = _same(keys, self.lent[0]) and _same(values, self.lent[1])
        self.seen["intact"] &= intact
        self.seen["latent"] |= not intact and _same(values, self.lent[0])
        self.seen["sinks"] |= sinks is not None
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)


def _numbered(like: mx.array, start: int) -> mx.array:
    return (mx.arange(start, start + like.size) % 251).reshape(like.shape).astype(like.dtype)


def _same(passed: mx.array, lent: mx.array) -> bool:
    """A cast is no change. What is compared was made of known numbers, not of weights."""
    if passed is lent or passed.shape != lent.shape:
        return passed is lent
    return bool(mx.array_equal(passed.astype(lent.dtype), lent))
