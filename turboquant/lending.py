"""Which cache stands behind an array of keys: a call of attention belongs to the cache whose keys it brings.

Layers that share another layer's keys and values pass the arrays that the other's cache returned, with no cache or with
one of their own.
"""

from __future__ import annotations

import weakref
from typing import Any

import mlx.core as mx

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
