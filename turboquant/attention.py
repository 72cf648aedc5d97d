"""How mlx-lm's models reach a cache's own attention, and its programs a window's trim. The only place that knows.

Every routed model calls `mlx_lm.models.base.scaled_dot_product_attention`, under its own name for it. Replacing that
function's code, not the name, reaches modules imported before and after alike.

A call belongs to the cache whose keys it brings, whatever cache it names: layers that share another layer's keys and
values pass the arrays that the other's cache returned, with no cache or with one of their own.
"""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import Any

import mlx.core as mx
from mlx_lm.models import base
from mlx_lm.models import cache as mlx_lm_cache

_PLAIN = "_turboquant_plain_attention"

_lent: dict[int, tuple[weakref.ref[mx.array], weakref.ref[Any]]] = {}  # by the array's id, as long as it lives


def lend(cache: Any, keys: mx.array) -> None:
    """Remember that `keys`, which `cache` hands to the model, stand for what it holds."""
    number = id(keys)
    _lent[number] = weakref.ref(keys, lambda _: _lent.pop(number, None)), weakref.ref(cache)


def owner(keys: mx.array, cache: Any) -> Any:
    """The cache that attends for a call with these `keys` and this `cache`; None where mlx-lm does."""
    array, lender = _lent.get(id(keys), (None, None))
    if array is not None and lender is not None and array() is keys:
        return lender()
    return cache if hasattr(cache, "attend_fetched") else None


def _routed(queries, keys, values, cache, scale, mask, sinks=None):  # type: ignore[no-untyped-def]
    # Runs with the globals of mlx_lm.models.base: it may name nothing of this module.
    owner = _turboquant_owner(keys, cache)  # type: ignore[name-defined]  # noqa: F821
    if owner is not None:
        return owner.attend_fetched(queries, keys, values, scale, mask, sinks)
    return _turboquant_plain_attention(  # type: ignore[name-defined]  # noqa: F821
        queries, keys, values, cache, scale, mask, sinks
    )


def _trim(cache, num_tokens):  # type: ignore[no-untyped-def]
    # Runs with the globals of mlx_lm.models.cache. There a window that has moved on can't be trimmed at all, and a
    # draft's rejected tokens stay.
    if not all(c.can_trim(num_tokens) if hasattr(c, "can_trim") else c.is_trimmable() for c in cache):
        return 0
    trimmed = [c.trim(num_tokens) for c in cache]
    return trimmed[0] if trimmed else 0


def install() -> None:
    """Route mlx-lm's attention through caches that attend themselves; doing it again changes nothing.

    Its trim_prompt_cache asks a cache with `can_trim` about the number. Its load_prompt_cache, which looks classes up
    in its own module, finds TurboQuantCache.
    """
    from turboquant.cache import TurboQuantCache

    if hasattr(base, _PLAIN):
        return
    shared = base.scaled_dot_product_attention
    plain = FunctionType(shared.__code__, shared.__globals__, shared.__name__, shared.__defaults__)
    setattr(base, _PLAIN, plain)
    base._turboquant_owner = owner
    shared.__code__ = _routed.__code__
    shared.__defaults__ = _routed.__defaults__
    mlx_lm_cache.trim_prompt_cache.__code__ = _trim.__code__
    mlx_lm_cache.TurboQuantCache = TurboQuantCache
