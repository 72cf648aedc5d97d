"""How mlx-lm's models reach a cache's own attention, and its programs a window's trim. The only place that knows.

Every routed model calls `mlx_lm.models.base.scaled_dot_product_attention`, under its own name for it. Replacing that
function's code, not the name, reaches modules imported before and after alike. Gemma 2 and Gear cap their scores in
attention of their own, which is replaced where they look it up.
"""

from __future__ import annotations

from types import FunctionType

from mlx_lm.models import base, gear, gemma2
from mlx_lm.models import cache as mlx_lm_cache

from turboquant.batch import BatchedCache
from turboquant.cache import TurboQuantCache
from turboquant.lending import owner

_PLAIN = "_turboquant_plain_attention"
_gear_plain, _gemma2_plain = gear._softcap_attention, gemma2.Attention.__call__


def _routed(queries, keys, values, cache, scale, mask, sinks=None):  # type: ignore[no-untyped-def]
    # Runs with the globals of mlx_lm.models.base: it may name nothing of this module.
    owner = _turboquant_owner(keys, cache)  # type: ignore[name-defined]  # noqa: F821
    if owner is not None:
        return owner.attend_fetched(queries, keys, values, scale, mask, sinks)
    return _turboquant_plain_attention(  # type: ignore[name-defined]  # noqa: F821
        queries, keys, values, cache, scale, mask, sinks
    )


def _gear(queries, keys, values, scale, softcap, mask):  # type: ignore[no-untyped-def]
    """In place of mlx_lm.models.gear's own attention."""
    if (cache := owner(keys, None)) is None:
        return _gear_plain(queries, keys, values, scale, softcap, mask)
    return cache.attend_fetched(queries, keys, values, scale, mask, None, softcap)


def _gemma2(self, x, mask=None, cache=None):  # type: ignore[no-untyped-def]
    """In place of mlx_lm.models.gemma2's Attention.__call__, which attends by itself."""
    if not hasattr(cache, "attend_fetched"):
        return _gemma2_plain(self, x, mask, cache)
    batch, length, _ = x.shape
    heads = (self.n_heads, self.n_kv_heads, self.n_kv_heads)
    projected = (
        project(x).reshape(batch, length, count, -1).swapaxes(1, 2)
        for project, count in zip((self.q_proj, self.k_proj, self.v_proj), heads, strict=True)
    )
    queries, keys, values = projected
    queries, keys = (self.rope(rows, offset=cache.offset) for rows in (queries, keys))
    keys, values = cache.update_and_fetch(keys, values)
    out = cache.attend_fetched(queries, keys, values, self.scale, mask, None, self.attn_logit_softcapping)
    return self.o_proj(out.swapaxes(1, 2).reshape(batch, length, -1))


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
    in its own module, finds TurboQuantCache; its batch generation, which asks the first of several caches to `merge`
    them, gets a BatchedCache.
    """
    if hasattr(base, _PLAIN):
        return
    shared = base.scaled_dot_product_attention
    plain = FunctionType(shared.__code__, shared.__globals__, shared.__name__, shared.__defaults__)
    setattr(base, _PLAIN, plain)
    base._turboquant_owner = owner
    shared.__code__ = _routed.__code__
    shared.__defaults__ = _routed.__defaults__
    gear._softcap_attention = _gear
    gemma2.Attention.__call__ = _gemma2
    mlx_lm_cache.trim_prompt_cache.__code__ = _trim.__code__
    mlx_lm_cache.TurboQuantCache = TurboQuantCache
    setattr(TurboQuantCache, "merge", BatchedCache.merge)  # noqa: B010 (the batch knows the cache, not the other way)
