"""One layer's cache: mlx-lm's cache protocol over raw and packed stretches.

Two phases. While a prompt is prefilled everything is raw. At the first decode step the cache packs itself; from then
on new tokens wait in the raw tail and are packed in blocks.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import create_attention_mask

from turboquant import windows
from turboquant.codec import MAX_NORM
from turboquant.errors import TurboQuantError
from turboquant.lending import lend
from turboquant.packing import Packing
from turboquant.reasons import CHANGED
from turboquant.schemes import NONE, Scheme, parse
from turboquant.segments import Buffer, Policy

DECODE_ROWS = 32  # a step of at most so many tokens behind a raw prompt is decoding (one, or a draft's), not prefill
LONG_PROMPT = 4096  # raw tokens; a prompt that goes on is packed while it does


class TurboQuantCache(Packing):
    """Keys and values of one layer under a scheme; takes the place of mlx-lm's KVCache.

    With a `window` of tokens, of which the first `keep` stay, it takes the place of RotatingKVCache.
    Arrays are (B, kv heads, T, head dim). Raw tokens are kept in 16 bits: in the model's own type, or in float16 when
    the model computes in float32. `reason` says why nothing is packed although the scheme would, else it's empty.
    """

    def __init__(
        self,
        scheme: Scheme | str,
        *,
        policy: Policy | None = None,
        calibrate: bool = True,
        window: int = 0,
        keep: int = 0,
    ) -> None:
        super().__init__(parse(scheme), policy or Policy(), calibrate, window, keep)
        self.model_dtype = mx.float16  # of the newest keys

    def __deepcopy__(self, memo: dict[int, Any]) -> TurboQuantCache:
        """Tokens are copied, the backend isn't: mlx-lm's server copies caches to share prompts."""
        copied = type(self).__new__(type(self))
        memo |= {id(self): copied} | {id(kept): kept for kept in (self.backend, self.model_dtype)}
        copied.__dict__.update((name, copy.deepcopy(value, memo)) for name, value in self.__dict__.items())
        return copied

    # ------------------------------------------------------------------ mlx-lm's protocol

    def size(self) -> int:
        return min(self.offset, self.window or self.offset)

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> Any:
        return self.mask_after(self.offset, N, return_array, window_size)

    def mask_after(self, offset: int, N: int, return_array: bool = False, window_size: int | None = None) -> Any:
        """What `make_mask` makes for N more tokens after `offset`."""
        if self.window:
            return windows.mask(N, offset, self.window, window_size, return_array)
        return create_attention_mask(N, offset=offset, return_array=return_array, window_size=window_size)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Add keys (B, H, L, Dk) and values (B, H, L, Dv); returns `keys_and_values`."""
        rows, of_values = keys.shape, values.shape
        shape = (rows[0], rows[1], rows[3], of_values[3])
        if of_values[:3] != rows[:3] or (self.shape != shape and self.shape is not None and not self.empty()):
            raise ValueError(f"Keys {rows} and values {of_values} don't fit this cache, {self.shape}.")
        if self.without_bias and self.key_bias is None:
            raise TurboQuantError(
                "This cache was packed without the model's key bias, and a file of mlx-lm's doesn't hold that. Load "
                "the file again; turboquant.convert(model, caches, scheme) then gives the caches the model's."
            )
        self.shape = shape
        self.slide()
        if self.packing:
            self._flush()
        elif self.can_pack and self._prompt_ended(rows[2]):
            self.begin_packing()
        self.tail_keys.append(_raw(keys))
        self.tail_values.append(_raw(values))
        self.model_dtype = keys.dtype
        return self.keys_and_values()

    def fill(self, keys: mx.array, values: mx.array, offset: int) -> None:
        """Hold these rows as `offset` tokens in all: the newest of them, behind those that a window keeps."""
        self.update_and_fetch(keys, values)
        self.dropped = offset - self.held
        if self.dropped:
            self._keep_apart()

    def _prompt_ended(self, rows: int) -> bool:
        """Whether a step of `rows` more tokens is one of decoding, or the prompt too long to go on raw."""
        steps = 0 < rows <= DECODE_ROWS or self.rewound
        return not self.empty() and (steps or self.tail_keys.count >= LONG_PROMPT)

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """Every key (B, H, T, Dk) and value (B, H, T, Dv) while all are raw; afterwards placeholders of their shape.

        Attention over a packed cache comes through `attend_fetched`; who reads the placeholders past it gets NaN.
        """
        if self.packing:
            assert self.shape is not None
            keys, values = placeholders(self.shape, self.visible, self.model_dtype)
        else:
            keys = self._raw_in_sight(self.first_keys, self.tail_keys)
            values = self._raw_in_sight(self.first_values, self.tail_values)
        lend(self, keys)
        return keys, values

    def _raw_in_sight(self, first: Buffer, tail: Buffer) -> mx.array:
        rows = tail.view(self.hidden)
        joined = mx.concatenate([first.view(), rows], axis=2) if first.count else rows
        return joined.astype(self.model_dtype)

    def is_trimmable(self) -> bool:
        """Whether any number of tokens can be trimmed; of a window that has moved on `can_trim` says which."""
        return self.dropped == 0

    def trim(self, n: int) -> int:
        """Forget the newest n tokens; returns how many that were. What stays, stays exactly as it is.

        A window that doesn't hold what it would then see forgets nothing and returns 0.
        """
        self.rewound = True
        n = max(0, min(n, self.offset))
        if not self.can_trim(n):
            return 0
        keep = self.held - n
        if keep <= 0:
            self.clear()
            return n
        for keys, values, begin in (
            (self.tail_keys, self.tail_values, self.first_keys.count + self.body_values.count),
            (self.body_keys, self.body_values, self.first_keys.count),
            (self.first_keys, self.first_values, 0),
        ):
            left = min(max(keep - begin, 0), values.count)
            keys.truncate(left)
            values.truncate(left)
        self.calibration.truncate(self.body_values.count)
        self.hidden = max(0, min(self.hidden, self.held - self.first_keys.count))
        return n

    @property
    def state(self) -> tuple[Any, ...]:
        """(description as JSON, arrays...): what `from_state` needs, arrays cut to the tokens held."""
        named = self.arrays()
        return (json.dumps({**self.describe(), "names": list(named)}), *named.values())

    @state.setter
    def state(self, state: tuple[Any, ...]) -> None:
        description = json.loads(state[0])
        self.restore(description, dict(zip(description["names"], state[1:], strict=True)))

    @classmethod
    def from_state(cls, state: tuple[Any, ...]) -> TurboQuantCache:
        cache = cls(NONE)
        cache.state = state
        return cache

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
        """`attend` for mlx-lm's shared function, with what the model made of the `keys` and `values` it fetched.

        A model that changes them in between (repeats heads, say) can't be served from packed tokens: seen during
        prefill, it makes the layer stay raw.
        """
        assert self.shape is not None
        held = (self.shape[1], self.visible)
        if keys.shape[1:3] != held or (values is not keys and values.shape[1:3] != held):
            if self.packing:
                raise TurboQuantError(
                    "This model changes its keys between cache and attention, so a packed cache can't serve it. "
                    "Start anew with the scheme none."
                )
            self.obstacle = CHANGED
            return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)
        self.attended = True
        if not self.packing and self.backend.leaves_raw and not soft_cap:
            self.calibration.observe(queries, self.shape[1])
            return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)
        return self.attend(queries, scale, mask, sinks, soft_cap)

    def attend(
        self,
        queries: mx.array,
        scale: float,
        mask: mx.array | str | None = None,
        sinks: mx.array | None = None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        """Attention of queries (B, Hq, L, Dk), the newest L tokens, over all in sight; (B, Hq, L, Dv)."""
        if not self.packing or (self.scheme.key_bits and not self.body_keys.count):
            assert self.shape is not None
            self.calibration.observe(queries, self.shape[1])
        rows = queries.shape[2]
        if not self.packing or rows == 1 or rows > DECODE_ROWS:
            return self.backend.attend(queries, self.stretches(), scale, mask, sinks, soft_cap)
        outputs = []
        for part, held in self.steps(rows):
            own = mask
            if isinstance(mask, mx.array) and mask.ndim > 1 and mask.shape[-2] > 1:
                own = mask[..., part, : held.visible]
            outputs.append(self.backend.attend(queries[:, :, part], held, scale, own, sinks, soft_cap))
        return outputs[0] if len(outputs) == 1 else mx.concatenate(outputs, axis=2)


@cache
def _nothing(dtype: mx.Dtype) -> mx.array:
    return mx.array(float("nan"), dtype)


def placeholders(shape: tuple[int, int, int, int], tokens: int, dtype: mx.Dtype) -> tuple[mx.array, mx.array]:
    """What stands for keys and values of `shape` (batch, kv heads, key and value dim), all NaN."""
    batch, heads, key_dim, value_dim = shape
    keys = mx.broadcast_to(_nothing(dtype), (batch, heads, tokens, key_dim))
    return keys, keys if value_dim == key_dim else mx.broadcast_to(_nothing(dtype), (batch, heads, tokens, value_dim))


def _raw(x: mx.array) -> mx.array:
    """16 bits a coordinate; what float32 has beyond float16's range is clamped, so that nothing becomes infinite."""
    return mx.clip(x, -MAX_NORM, MAX_NORM).astype(mx.float16) if x.dtype == mx.float32 else x
