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
from mlx_lm.models.cache import CacheList, make_prompt_cache

STEPS = (3, 1)  # rows of a traced prompt and of a decode step: some models take another path for one row

_KNOWN = "_turboquant_traces"


@dataclass(frozen=True)
class CacheTrace:
    """One of mlx-lm's caches, and how the model used it in the traced steps.

    `fresh`: the cache as it was made, empty. `state_bytes`: what it held after the steps. Where it holds keys and
    values: their heads, dims and type. `reads`: how often attention came through mlx-lm's shared function in the decode
    step; `intact`: always with the very keys and values that the cache had returned; `latent`: its keys were the values
    too, as in multi-head latent attention; `sinks`: with attention sinks. `shared`: the model hasn't as many caches as
    layers, so that other layers may read it.
    """

    fresh: Any
    state_bytes: int
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    dtype: mx.Dtype | None = None
    reads: int = 0
    intact: bool = True
    latent: bool = False
    sinks: bool = False
    shared: bool = False

    @property
    def window(self) -> int:
        """Tokens that it keeps of the newest; 0 where it keeps all."""
        return int(getattr(self.fresh, "max_size", 0) or getattr(self.fresh, "chunk_size", 0))


class _Watched:
    """Put in front of a cache's own class while the model is traced."""

    seen: dict[str, Any]
    fetched: tuple[Any, Any]

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        self.seen |= {
            "kv_heads": keys.shape[1],
            "key_dim": keys.shape[-1],
            "value_dim": values.shape[-1],
            "dtype": keys.dtype,
            "reads": 0,
        }
        self.fetched = super().update_and_fetch(keys, values)  # type: ignore[misc]
        return self.fetched

    def attend_fetched(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
    ) -> mx.array:
        self.seen["reads"] += 1
        self.seen["latent"] |= values is self.fetched[0]
        self.seen["intact"] &= keys is self.fetched[0] and values is self.fetched[1]
        self.seen["sinks"] |= sinks is not None
        return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)


Traces = tuple[tuple[CacheTrace, ...], ...]
"""Of each of a model's caches its parts: several where mlx-lm joins caches in one."""


def examine(model: Module) -> Traces:
    """The model's caches, as mlx-lm makes them. A model is traced once; raises whatever its first step raises."""
    # Beside the parameters, not among them: Module keeps tuples that are set the usual way as children.
    if (known := model.__dict__.get(_KNOWN)) is None:
        known = model.__dict__[_KNOWN] = _trace(model)
    return known


def _trace(model: Module) -> Traces:
    caches = make_prompt_cache(model)
    groups = [list(parts(cache)) for cache in caches]
    fresh = {id(part): copy.copy(part) for group in groups for part in group}
    for part in (part for group in groups for part in group):
        part.__class__ = type(type(part).__name__, (_Watched, type(part)), {})
        part.seen = {"intact": True, "latent": False, "sinks": False, "shared": len(model.layers) != len(caches)}
    for rows in STEPS:
        model(mx.zeros((1, rows), mx.int32), cache=caches)
    return tuple(tuple(CacheTrace(fresh[id(part)], part.nbytes, **part.seen) for part in group) for group in groups)


def parts(cache: Any) -> Iterator[Any]:
    """The caches that this one joins; itself where it joins none."""
    if isinstance(cache, CacheList):
        for part in cache.caches:
            yield from parts(part)
    else:
        yield cache
