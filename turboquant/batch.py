"""Several sequences at once in mlx-lm's batch generation: each keeps a cache of its own, and only the model is shared.

So a sequence is packed and attended exactly as alone, joins and leaves without a copy, and padding is never stored.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from turboquant.cache import TurboQuantCache, placeholders
from turboquant.lending import lend

_made: dict[int, tuple[weakref.ref[mx.array], int | None]] = {}  # masks by their id, as long as they live: window_size


class BatchedCache:
    """One layer's caches of B sequences; takes the place of mlx-lm's BatchKVCache and BatchRotatingKVCache.

    A step's rows are padded on the left before a sequence's first token, on the right behind its prompt's last one
    (`prepare`, `finalize`); nothing is stored of them, and attention gives zeros.
    """

    def __init__(self, caches: list[TurboQuantCache]) -> None:
        self.caches = caches
        self._pads = [0] * len(caches)  # rows still to come before the first token
        self._left: list[int] | None = None  # tokens still to come of padded prompts
        self._rows = [slice(0, 0)] * len(caches)  # of the newest step, those that are tokens
        self._fetched = (0, 0, 0)  # batch, kv heads and columns of the newest step

    # ------------------------------------------------------------------ the batch

    @classmethod
    def merge(cls, caches: Sequence[TurboQuantCache]) -> BatchedCache:
        """Copies of sequences' caches, as a batch."""
        return cls([copy.deepcopy(cache) for cache in caches])

    def filter(self, batch_indices: Iterable[Any]) -> None:
        """Keep these sequences only."""
        kept = [int(i) for i in batch_indices]
        self.caches = [self.caches[i] for i in kept]
        self._pads = [self._pads[i] for i in kept]
        self._rows = [self._rows[i] for i in kept]
        self._left = None if self._left is None else [self._left[i] for i in kept]

    def extend(self, other: BatchedCache) -> None:
        """Take in another batch's sequences, between two prompts."""
        self.caches = self.caches + other.caches
        self._pads = self._pads + other._pads
        self._rows = self._rows + other._rows

    def extract(self, idx: int) -> TurboQuantCache:
        """A copy of one sequence's cache."""
        return copy.deepcopy(self.caches[idx])

    def prepare(
        self,
        *,
        left_padding: list[int] | None = None,
        lengths: list[int] | None = None,
        right_padding: list[int] | None = None,
    ) -> None:
        """How many of the next rows are padding: before each sequence's first token, or behind its `lengths` tokens."""
        if left_padding is not None:
            if not self.empty():
                raise ValueError("Left padding can only be added to an empty cache.")
            self._pads = [pads + more for pads, more in zip(self._pads, left_padding, strict=True)]
        if right_padding is not None and max(right_padding) > 0:
            if lengths is None:
                raise ValueError("Right padding needs the lengths of what it follows.")
            self._left = list(lengths)

    def finalize(self) -> None:
        """The padded prompts are complete."""
        self._left = None

    # ------------------------------------------------------------------ mlx-lm's protocol

    @property
    def offset(self) -> mx.array:
        """(B,): the position of each sequence's next row."""
        return mx.array([cache.offset - pads for cache, pads in zip(self.caches, self._pads, strict=True)])

    def size(self) -> int:
        return max(cache.offset for cache in self.caches)

    def empty(self) -> bool:
        return all(cache.empty() for cache in self.caches)

    @property
    def nbytes(self) -> int:
        return sum(cache.nbytes for cache in self.caches)

    @property
    def state(self) -> list[list[mx.array]]:
        """What a step has to compute; a sequence is stored from `extract`."""
        return [cache.all_arrays() for cache in self.caches]

    def is_trimmable(self) -> bool:
        return all(cache.is_trimmable() for cache in self.caches)

    def can_trim(self, n: int) -> bool:
        return all(cache.can_trim(n) for cache in self.caches)

    def trim(self, n: int) -> int:
        """Forget each sequence's newest n tokens; as TurboQuantCache.trim."""
        return min(cache.trim(n) for cache in self.caches) if self.can_trim(n) else 0

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """(B, 1, N, columns): right before a step's N columns lie the tokens that each sequence's first row sees."""
        before = [cache.next_sees for cache in self.caches]
        columns, pads = max(before), self._pads
        padding = mx.array([columns + pad - seen for pad, seen in zip(pads, before, strict=True)])
        size = window_size or (self.caches[0].window or None if N > 1 else None)
        mask: mx.array = create_causal_mask(N, offset=columns, window_size=size, left_padding=padding)
        number = id(mask)
        _made[number] = weakref.ref(mask, lambda _: _made.pop(number, None)), window_size
        return mask

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Add the tokens among the rows of keys (B, H, L, Dk) and values (B, H, L, Dv); returns `keys_and_values`."""
        batch, _, length, _ = keys.shape
        if batch != len(self.caches):
            raise ValueError(f"Keys {keys.shape} don't fit a batch of {len(self.caches)} sequences.")
        columns = max(cache.next_sees for cache in self.caches) + length
        for b, cache in enumerate(self.caches):
            start = min(self._pads[b], length)
            stop = length if self._left is None else min(start + self._left[b], length)
            self._pads[b] -= start
            if self._left is not None:
                self._left[b] -= stop - start
            self._rows[b] = slice(start, stop)
            if start < stop:
                cache.update_and_fetch(keys[b : b + 1, :, start:stop], values[b : b + 1, :, start:stop])
        self._fetched = (batch, keys.shape[1], columns)
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """Placeholders (B, H, columns, Dk) and (B, H, columns, Dv): attention comes through `attend_fetched`."""
        known = next(cache for cache in self.caches if cache.shape)
        assert known.shape is not None
        batch, heads, columns = self._fetched
        keys, values = placeholders((batch, heads, *known.shape[2:]), columns, known.model_dtype)
        lend(self, keys)
        return keys, values

    # ------------------------------------------------------------------ attention

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
        """Each sequence's own attention (B, Hq, L, Dv); zeros where a row is padding."""
        length, outputs = queries.shape[2], []
        for b, (cache, rows) in enumerate(zip(self.caches, self._rows, strict=True)):
            count = rows.stop - rows.start
            if count == 0:
                outputs.append(mx.zeros((1, queries.shape[1], length, values.shape[-1]), queries.dtype))
                continue
            cache.attended = True
            part = self._mask(b, mask, keys.shape[2] - (length - rows.stop))
            out = cache.attend(queries[b : b + 1, :, rows], scale, part, sinks, soft_cap)
            if count < length:
                out = mx.pad(out, [(0, 0), (0, 0), (rows.start, length - rows.stop), (0, 0)])
            outputs.append(out)
        return mx.concatenate(outputs)

    def _mask(self, b: int, mask: mx.array | str | None, end: int) -> Any:
        """Sequence b's part of a step's mask, up to column `end`; its own, where the model passes on what it got."""
        cache, rows = self.caches[b], self._rows[b]
        count = rows.stop - rows.start
        if not isinstance(mask, mx.array):
            return mask if count > 1 else None
        made, window_size = _made.get(id(mask), (None, None))
        if made is not None and made() is mask:
            return cache.mask_after(cache.offset - count, count, window_size=window_size)
        if mask.ndim == 4 and mask.shape[0] > 1:
            mask = mask[b : b + 1]
        if mask.ndim > 1 and mask.shape[-2] > 1:
            mask = mask[..., rows, :]
        return mask[..., end - cache.visible : end]
