"""Several variants of a model's cache in one run: each gets the same share of the rows of one batch.

A model's weights cost the same to read for many rows as for one, so that comparing variants takes little longer than
measuring one of them. Every variant keeps its own caches and its own attention; only the rest of the model is shared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.utils import tree_map
from mlx_lm.models.cache import CacheList

from turboquant.cache import TurboQuantCache
from turboquant.calibration import Calibration
from turboquant.errors import TurboQuantError
from turboquant.lending import lend
from turboquant.plan import make_cache
from turboquant.schemes import NONE, Scheme
from turboquant.segments import Policy

PREFILL_STEP = 512


@dataclass(frozen=True)
class Variant:
    """One way to keep a cache."""

    scheme: Scheme
    calibrate: bool = True
    policy: Policy = field(default_factory=Policy)


class SideBySide:
    """One layer's caches, for steps of decoding: each has an equal share of the rows of a batch, in order."""

    def __init__(self, caches: Sequence[TurboQuantCache]) -> None:
        self.caches = caches
        self._given: tuple[mx.array, mx.array] | None = None
        self._fetched: list[tuple[mx.array, mx.array]] = []

    @property
    def offset(self) -> int:
        return self.caches[0].offset

    def make_mask(self, *args: Any, **kwargs: Any) -> list[Any] | None:
        """A mask for each cache, unless none needs any; only `attend_fetched` reads it."""
        masks = [cache.make_mask(*args, **kwargs) for cache in self.caches]
        return None if all(mask is None for mask in masks) else masks

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Returns what it was given: attention goes through `attend_fetched`."""
        shares = zip(self.caches, mx.split(keys, len(self.caches)), mx.split(values, len(self.caches)), strict=True)
        self._fetched = [cache.update_and_fetch(k, v) for cache, k, v in shares]
        self._given = keys, values
        lend(self, keys)
        return keys, values

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """What the last step gave, for layers that read another layer's."""
        assert self._given is not None
        return self._given

    def attend_fetched(
        self,
        queries: mx.array,
        keys: mx.array,
        values: mx.array,
        scale: float,
        mask: Any,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        if self._given is None or keys is not self._given[0] or values is not self._given[1]:
            raise TurboQuantError("This model changes its keys between cache and attention: it can't be compared.")
        masks = mask if isinstance(mask, list) else [mask] * len(self.caches)
        shares = zip(self.caches, mx.split(queries, len(self.caches)), self._fetched, masks, strict=True)
        outputs = [cache.attend_fetched(q, *kv, scale, own, sinks, soft_cap) for cache, q, kv, own in shares]
        return mx.concatenate(outputs)


def prefill(model: Module, tokens: mx.array, variants: Sequence[Variant]) -> list[Any]:
    """Read the prompts `tokens` (rows, length) once and fork the caches for each of the variants.

    Returns the caches to go on decoding with, a batch of variants * rows, the first variant's rows first. Prefill is
    raw whatever the scheme, so that forking behind it changes nothing.
    """
    caches = make_cache(model, NONE)
    for start in range(0, tokens.shape[1], PREFILL_STEP):
        mx.eval(model(tokens[:, start : start + PREFILL_STEP], cache=caches))
    return [_forked(cache, variants) for cache in caches]


def _forked(cache: Any, variants: Sequence[Variant]) -> Any:
    if isinstance(cache, CacheList):
        return CacheList(*(_forked(part, variants) for part in cache.caches))
    if isinstance(cache, TurboQuantCache):
        return SideBySide([_fork(cache, variant) for variant in variants])
    return _repeated(cache, len(variants))


def _fork(cache: TurboQuantCache, variant: Variant) -> TurboQuantCache:
    fork = copy.deepcopy(cache)
    fork.scheme, fork.policy = variant.scheme, variant.policy
    if not variant.calibrate:
        fork.calibration = Calibration(enabled=False)
    return fork


def _repeated(cache: Any, times: int) -> Any:
    """A copy of one of mlx-lm's caches that holds its rows `times` times over."""
    repeated = copy.deepcopy(cache)
    repeated.state = tree_map(lambda x: mx.concatenate([x] * times) if isinstance(x, mx.array) else x, cache.state)
    return repeated
