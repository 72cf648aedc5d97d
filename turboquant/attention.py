"""How mlx-lm's models reach a cache's own attention. The only place that knows.

Every routed model calls `mlx_lm.models.base.scaled_dot_product_attention`, under its own name for it. Replacing that
function's code, not the name, reaches modules imported before and after alike.
"""

from __future__ import annotations

import sys
from types import FunctionType

from mlx.nn.layers.base import Module
from mlx_lm.models import base
from mlx_lm.models import cache as mlx_lm_cache

_PLAIN = "_turboquant_plain_attention"


def _routed(queries, keys, values, cache, scale, mask, sinks=None):  # type: ignore[no-untyped-def]
    # Runs with the globals of mlx_lm.models.base: it may name nothing of this module.
    if hasattr(cache, "attend_fetched"):
        return cache.attend_fetched(queries, keys, values, scale, mask, sinks)
    return _turboquant_plain_attention(  # type: ignore[name-defined]  # noqa: F821
        queries, keys, values, cache, scale, mask, sinks
    )


def install() -> None:
    """Route mlx-lm's attention through caches that attend themselves; doing it again changes nothing.

    Also lets mlx-lm's load_prompt_cache, which looks classes up in its own module, find TurboQuantCache.
    """
    from turboquant.cache import TurboQuantCache

    if hasattr(base, _PLAIN):
        return
    shared = base.scaled_dot_product_attention
    plain = FunctionType(shared.__code__, shared.__globals__, shared.__name__, shared.__defaults__)
    setattr(base, _PLAIN, plain)
    shared.__code__ = _routed.__code__
    shared.__defaults__ = _routed.__defaults__
    mlx_lm_cache.TurboQuantCache = TurboQuantCache


def is_routed(layer: Module) -> bool:
    """Whether this decoder layer is written in a module that calls mlx-lm's shared function."""
    shared = base.scaled_dot_product_attention
    return any(
        getattr(sys.modules[type(module).__module__], shared.__name__, None) is shared for module in layer.modules()
    )


def has_latent_attention(layer: Module) -> bool:
    """Multi-head latent attention: what such a layer caches are latents, not the keys and values it attends to."""
    return any(hasattr(module, "kv_lora_rank") for module in layer.modules())
