"""Which layer gets which cache, and why: make, convert, compress and switch a model's list of caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlx.nn.layers.base import Module
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, RotatingKVCache, make_prompt_cache

from turboquant import key_bias, windows
from turboquant.cache import TurboQuantCache
from turboquant.errors import NeedsRebuild, UnpackableHeadDim
from turboquant.packing import Method
from turboquant.reasons import CHANGED, UNSHARED, Reason
from turboquant.rotation import check_dim
from turboquant.schemes import Scheme, parse
from turboquant.segments import Policy
from turboquant.trace import CacheTrace, examine, parts

_REASON = "turboquant_reason"  # set on mlx-lm's own caches, so that a list of caches explains itself


@dataclass(frozen=True)
class LayerReport:
    """One layer: the class of its cache, and the scheme it packs with or the reason why it doesn't.

    `note`: what isn't as usual in how it packs.
    """

    index: int
    kind: str
    scheme: str | None
    reason: str
    note: str = ""


def make_cache(
    model: Module,
    scheme: Scheme | str,
    *,
    policy: Policy | None = None,
    calibrate: bool = True,
    max_kv_size: int | None = None,
) -> list[Any]:
    """Caches for mlx-lm's `prompt_cache`: compressed where a layer can be, mlx-lm's own with a reason elsewhere.

    `max_kv_size`: tokens that a layer keeps, the first 4 and the newest, where the model doesn't make its own caches,
    as mlx-lm has it. Raises UnknownScheme.
    """
    wanted = parse(scheme)
    caches = make_prompt_cache(model, max_kv_size)
    layers = model.layers if len(model.layers) == len(caches) else [None] * len(caches)
    for i, (cache, group) in enumerate(zip(caches, examine(model), strict=True)):
        if reason := obstacle(group):
            setattr(cache, _REASON, reason)
            continue
        (old,) = (part for part in parts(cache) if not isinstance(part, ArraysCache))
        window, keep = getattr(old, "max_size", 0), getattr(old, "keep", 0)
        fresh = TurboQuantCache(wanted, policy=policy, calibrate=calibrate, window=window, keep=keep)
        fresh.key_bias = key_bias.of_layer(layers[i])
        if isinstance(cache, CacheList):
            cache.caches = tuple(fresh if part is old else part for part in cache.caches)
        else:
            caches[i] = fresh
    return caches


def convert(model: Module, caches: list[Any], scheme: Scheme | str) -> list[Any]:
    """Caches of `scheme` that hold what mlx-lm's `caches` of this model hold, packed at once, one layer at a time.

    Layers that can't be packed, and caches of other kinds than mlx-lm's KVCache and RotatingKVCache, are passed on as
    they are. There are no query statistics: keys get offsets only. This library's caches, as they come from mlx-lm's
    load_prompt_cache too, go on with this model. Raises NeedsRebuild as `switch` does for them.
    """
    wanted = parse(scheme)
    return [_converted(fresh, old, wanted) for fresh, old in zip(make_cache(model, wanted), caches, strict=True)]


def _converted(fresh: Any, old: Any, scheme: Scheme) -> Any:
    if isinstance(old, TurboQuantCache):
        old.key_bias = getattr(fresh, "key_bias", None)  # a file of mlx-lm's holds none
        old.switch(scheme)
        return old
    if packable([fresh]) and isinstance(fresh, CacheList) and isinstance(old, CacheList):
        old.caches = tuple(_converted(*both, scheme) for both in zip(fresh.caches, old.caches, strict=True))
        return old
    if not isinstance(fresh, TurboQuantCache) or not _same_kind(fresh, old):
        setattr(old, _REASON, getattr(fresh, _REASON, f"a {type(old).__name__} can't be converted"))
        return old
    if not old.empty():
        keys, values = old.keys_and_values()
        if fresh.window:
            keys, values = old._temporal_order(old.keys), old._temporal_order(old.values)
        fresh.fill(keys, values, old.offset)
        fresh.compress()
    return fresh


def _same_kind(fresh: TurboQuantCache, old: Any) -> bool:
    """Whether mlx-lm's `old` cache keeps the tokens that `fresh` is to keep."""
    if type(old) is RotatingKVCache:
        return (old.max_size, old.keep) == (fresh.window, fresh.keep)
    return type(old) is KVCache and not fresh.window


def compress(caches: list[Any]) -> None:
    """Begin the second phase now, one layer at a time; without it the first decode step does."""
    for cache in packable(caches):
        cache.begin_packing()


def packable(caches: list[Any]) -> list[TurboQuantCache]:
    """Those of a model's caches that are this library's, also where mlx-lm joins one with a state."""
    return [part for cache in caches for part in parts(cache) if isinstance(part, TurboQuantCache)]


def describe(caches: list[Any]) -> list[LayerReport]:
    """What each layer does, and the reason where it isn't packed."""
    reports = []
    for i, cache in enumerate(caches):
        if ours := packable([cache]):
            kind, reason = "sliding window" if ours[0].window else "attention", ours[0].reason
            kind = kind if ours[0] is cache else f"state + {kind}"
            scheme = None if reason else ours[0].scheme.name
            reports.append(LayerReport(i, kind, scheme, reason, ours[0].note))
        else:
            reason = getattr(cache, _REASON, "not planned by turboquant")
            reports.append(LayerReport(i, type(cache).__name__, None, reason))
    return reports


def switch_method(caches: list[Any], scheme: Scheme | str) -> Method:
    """What `switch` would do: the most costly of the layers' methods."""
    wanted = parse(scheme)
    order: tuple[Method, ...] = ("unchanged", "empty", "encoded", "requantised", "rebuild")
    methods = {cache.method(wanted) for cache in packable(caches)} or {"unchanged"}
    return max(methods, key=order.index)


def switch(caches: list[Any], scheme: Scheme | str) -> Method:
    """Hold the same tokens under another scheme, in place, one layer at a time.

    Exact data is encoded, packed data requantised to fewer bits. Raises NeedsRebuild, with every layer unchanged, where
    a layer's packed data can't serve the scheme.
    """
    wanted = parse(scheme)
    method = switch_method(caches, wanted)
    if method == "rebuild":
        raise NeedsRebuild(
            f"{wanted} keeps more than this cache still holds. The cache is unchanged; prefill its tokens again."
        )
    for cache in packable(caches):
        cache.switch(wanted)
    return method


def attended(group: tuple[CacheTrace, ...]) -> CacheTrace:
    """Of the caches that mlx-lm joins for one layer, the first that holds keys and values; else the first."""
    return next((part for part in group if part.kv_heads), group[0])


def obstacle(group: tuple[CacheTrace, ...]) -> str:
    """Why this cache, or what it joins, stays mlx-lm's own; empty where it doesn't, but for a state beside it."""
    part = attended(group)
    cache = part.fresh
    if any(not isinstance(other.fresh, ArraysCache) for other in group if other is not part):
        return Reason("one cache of several ({0}): stays raw", ", ".join(map(kind, group)))
    if isinstance(cache, ArraysCache):
        return Reason("keeps a recurrent state, no keys and values")
    if type(cache) not in (KVCache, RotatingKVCache):
        return Reason("its {0} is of a kind that stays raw", type(cache).__name__)
    if part.latent:
        return Reason("multi-head latent attention: the latents stay raw")
    if not part.reads:
        return UNSHARED
    if not part.intact:
        return CHANGED
    return ""


def dimension_obstacle(part: CacheTrace, scheme: Scheme) -> str:
    """Why keys and values of these dims, or of so short a window, aren't packed; empty where they are."""
    try:
        check_dim(part.value_dim)
        if scheme.key_bits:
            check_dim(part.key_dim)
    except UnpackableHeadDim as error:
        return str(error.args[0])
    if isinstance(part.fresh, RotatingKVCache) and scheme.compresses:
        shape, window, keep = (1, part.kv_heads, part.key_dim, part.value_dim), part.window, part.fresh.keep
        return windows.unpackable(shape, scheme, window, windows.policy(Policy(), window, keep), keep)
    return ""


def kind(part: CacheTrace) -> str:
    """What this cache holds, in a word or two."""
    if isinstance(part.fresh, ArraysCache):
        return "state"
    if part.latent:
        return "latents"
    if part.window:
        return "sliding window"
    return "attention" if part.kv_heads else type(part.fresh).__name__
