"""One layer's cache: mlx-lm's cache protocol over raw and packed stretches.

Two phases. While a prompt is prefilled everything is raw. At the first decode step the cache packs itself; from then
on new tokens wait in the raw tail and are packed in blocks.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Literal

import mlx.core as mx
from mlx_lm.models.cache import create_attention_mask

from turboquant import attention, backends
from turboquant.calibration import SEGMENT
from turboquant.codec import MAX_NORM, key_codec, value_codec
from turboquant.errors import NeedsRebuild, TurboQuantError
from turboquant.layer import Layer
from turboquant.schemes import NONE, Scheme, parse
from turboquant.segments import Buffer, PackedBuffer, Policy
from turboquant.split import AnyCodec, can_split, split_key_codec

DECODE_ROWS = 32  # a step of at most so many tokens behind a raw prompt is decoding (one, or a draft's), not prefill
REQUANTISED_ROWS = 4096  # rows decoded at a time, so that requantising a layer needs little memory

Method = Literal["unchanged", "empty", "encoded", "requantised", "rebuild"]


class TurboQuantCache(Layer):
    """Keys and values of one layer under a scheme; takes the place of mlx-lm's KVCache.

    Arrays are (B, kv heads, T, head dim). Raw tokens are kept in 16 bits: in the model's own type, or in float16 when
    the model computes in float32. `reason` says why nothing is packed although the scheme would, else it's empty.
    """

    def __init__(self, scheme: Scheme | str, *, policy: Policy | None = None, calibrate: bool = True) -> None:
        super().__init__(parse(scheme), policy or Policy(), calibrate)
        self.backend = backends.choose()
        self.model_dtype = mx.float16  # of the newest keys

    def __deepcopy__(self, memo: dict[int, Any]) -> TurboQuantCache:
        """Tokens are copied, the backend isn't: mlx-lm's server copies caches to share prompts."""
        copied = type(self).__new__(type(self))
        memo |= {id(self): copied} | {id(kept): kept for kept in (self.backend, self.model_dtype)}
        copied.__dict__.update((name, copy.deepcopy(value, memo)) for name, value in self.__dict__.items())
        return copied

    # ------------------------------------------------------------------ mlx-lm's protocol

    def size(self) -> int:
        return self.offset

    def make_mask(self, *args: Any, **kwargs: Any) -> Any:
        return create_attention_mask(*args, offset=self.offset, **kwargs)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Add keys (B, H, L, Dk) and values (B, H, L, Dv); returns `keys_and_values`."""
        shape = (keys.shape[0], keys.shape[1], keys.shape[-1], values.shape[-1])
        if values.shape[:3] != keys.shape[:3] or (self.shape not in (None, shape) and not self.empty()):
            raise ValueError(f"Keys {keys.shape} and values {values.shape} don't fit this cache, {self.shape}.")
        self.shape = shape
        if self.can_pack and not self.packing and self.offset and 0 < keys.shape[2] <= DECODE_ROWS:
            self.begin_packing()
        if self.packing:
            self._flush()
        self.tail_keys.append(_raw(keys))
        self.tail_values.append(_raw(values))
        self.model_dtype = keys.dtype
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[mx.array, mx.array]:
        """Every key (B, H, T, Dk) and value (B, H, T, Dv) while all are raw; afterwards placeholders of their shape.

        Attention over a packed cache comes through `attend_fetched`; who reads the placeholders past it gets NaN.
        """
        if self.packing:
            nothing = mx.array(float("nan"), self.model_dtype)
            shape = (*self.tail_keys.view().shape[:2], self.offset)
            fetched = [
                mx.broadcast_to(nothing, (*shape, b.view().shape[-1])) for b in (self.tail_keys, self.tail_values)
            ]
        else:
            fetched = [b.view().astype(self.model_dtype) for b in (self.tail_keys, self.tail_values)]
        attention.lend(self, fetched[0])
        return fetched[0], fetched[1]

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Forget the newest n tokens; returns how many that were. What stays, stays exactly as it is."""
        n = max(0, min(n, self.offset))
        keep = self.offset - n
        if keep == 0:
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
    ) -> mx.array:
        """`attend` for mlx-lm's shared function, with what the model made of the `keys` and `values` it fetched.

        A model that changes them in between (repeats heads, say) can't be served from packed tokens: seen during
        prefill, it makes the layer stay raw.
        """
        held = (self.tail_keys.view().shape[1], self.offset)
        if keys.shape[1:3] != held or values.shape[1:3] != held:
            if self.packing:
                raise TurboQuantError(
                    "This model changes its keys between cache and attention, so a packed cache can't serve it. "
                    "Start anew with the scheme none."
                )
            self.obstacle = "the model changes its keys and values between cache and attention"
            return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=sinks)
        self.attended = True
        return self.attend(queries, scale, mask, sinks)

    def attend(
        self,
        queries: mx.array,
        scale: float,
        mask: mx.array | str | None = None,
        sinks: mx.array | None = None,
    ) -> mx.array:
        """Attention of queries (B, Hq, L, Dk), the newest L tokens, over all tokens held; (B, Hq, L, Dv)."""
        if not self.packing or (self.scheme.key_bits and not self.body_keys.count):
            self.calibration.observe(queries, self.tail_keys.view().shape[1])
        return self.backend.attend(queries, self.stretches(), scale, mask, sinks)

    # ------------------------------------------------------------------ packing

    def begin_packing(self) -> None:
        """`compress`, unless attention hasn't come through `attend_fetched`: then the layer stays raw and says why."""
        if self.attended or self.packing or self.empty() or not self.can_pack:
            self.compress()
        else:
            self.obstacle = "its attention doesn't go through mlx-lm's shared function"

    def compress(self) -> None:
        """Begin the second phase now: set the first tokens apart, pack what the policy allows, evaluate this layer."""
        if self.packing or not self.can_pack or self.empty():
            return
        self.packing = True
        first = min(self.policy.first, self.tail_keys.count)
        for head, tail in ((self.first_keys, self.tail_keys), (self.first_values, self.tail_values)):
            head.append(tail.view(0, first))
        packed = self._flush(dropped=first)
        if packed == 0:
            self.tail_keys.drop_first(first)
            self.tail_values.drop_first(first)
        # one layer at a time: the next layer's work isn't begun before this one's raw tokens are free
        mx.eval(*self.all_arrays())

    def _flush(self, dropped: int = 0) -> int:
        """Pack what is due, skipping the tail's first `dropped` rows (kept elsewhere). Returns the rows packed."""
        due = self.policy.flushable(self.tail_keys.count - dropped)
        if due == 0:
            return 0
        self._pack(self.tail_keys.view(dropped), self.tail_values.view(dropped), due)
        self.tail_keys.drop_first(dropped + due)
        self.tail_values.drop_first(dropped + due)
        return due

    def _pack(self, keys: mx.array, values: mx.array, rows: int) -> None:
        """Encode the first `rows` of raw keys and values into the body; what is behind them only informs the offset."""
        codec = value_codec(values.shape[-1], self.scheme.value_bits)
        if isinstance(self.body_values, Buffer):
            self.body_values = PackedBuffer(codec)
        if not self.scheme.key_bits:
            assert isinstance(self.body_keys, Buffer)
            self.body_keys.append(keys[:, :, :rows])
            self.body_values.append(self.backend.encode(values[:, :, :rows], codec))
            return
        keys = self._without_bias(keys)
        for block, offset in self._blocks(keys, rows):
            if self.body_keys.count == 0:
                self.body_keys = PackedBuffer(self._key_codec(keys.shape[-1]))
            assert isinstance(self.body_keys, PackedBuffer)
            key_rows, value_rows = self.backend.encode_pair(
                keys[:, :, block],
                self.body_keys.codec,
                values[:, :, block],
                codec,
                offset,
                self.calibration.channel_scale,
                self.calibration.channel_order,
            )
            self.body_keys.append(key_rows)
            self.body_values.append(value_rows)

    def _without_bias(self, keys: mx.array) -> mx.array:
        """`keys`, bound for the end of the body, without the layer's key bias where that pays."""
        if self.key_bias is None or not self.calibration.enabled:
            return keys
        start, heads = self.first_keys.count + self.body_keys.count, keys.shape[1]
        if self.body_keys.count == 0:
            self.without_bias = self.key_bias.pays(keys[:, :, :SEGMENT], start)
        if not self.without_bias:
            return keys
        return keys.astype(mx.float32) - self.key_bias.rows(start, start + keys.shape[2], heads)

    def _key_codec(self, dim: int) -> AnyCodec:
        """For keys packed from now on: split where the policy wants it and the order of channels is known."""
        bits = self.scheme.key_bits
        if self.calibration.channel_order is None or bits not in self.policy.split or not can_split(dim):
            return key_codec(dim, bits)
        return split_key_codec(dim, bits)

    def _blocks(self, keys: mx.array, rows: int) -> Iterator[tuple[slice, mx.array | None]]:
        """The first `rows` keys, bound for the end of the body, in blocks that share an offset."""
        done = 0
        while done < rows:
            share, offset = self.calibration.offset_for(self.body_keys.count, rows - done, keys[:, :, done:])
            yield slice(done, done + share), offset
            done += share

    # ------------------------------------------------------------------ another scheme

    def method(self, scheme: Scheme) -> Method:
        """What `switch` to `scheme` would have to do, from what is still held exactly."""
        if scheme == self.scheme:
            return "unchanged"
        if self.empty():
            return "empty"
        if self.body_values.count == 0:
            return "encoded"
        if self._reason(scheme):
            return "rebuild"
        held, wanted = self.scheme, scheme
        keys_kept = wanted.key_bits == held.key_bits
        values_kept = wanted.value_bits == held.value_bits
        from_packed_keys = held.key_bits and not keys_kept
        from_packed_values = held.value_bits and not values_kept
        if (from_packed_keys and not 0 < wanted.key_bits < held.key_bits) or (
            from_packed_values and not 0 < wanted.value_bits < held.value_bits
        ):
            return "rebuild"
        return "requantised" if from_packed_keys or from_packed_values else "encoded"

    def switch(self, scheme: Scheme) -> Method:
        """Hold the same tokens under `scheme`. Raises NeedsRebuild, nothing changed, where packed data can't serve."""
        method = self.method(scheme)
        if method == "rebuild":
            raise NeedsRebuild(
                f"{scheme} keeps more than the {self.scheme} cache still holds. The cache is unchanged; "
                "prefill the tokens again to rebuild it."
            )
        before, self.scheme = self.scheme, scheme
        if method in ("unchanged", "empty"):
            return method
        if self.body_values.count == 0:
            self.body_keys, self.body_values = Buffer(), Buffer()  # of the old codec, emptied by a trim
            if not self.can_pack:
                self._unsplit()
            else:
                self.compress()
            return method
        if scheme.key_bits != before.key_bits:
            self._repack_keys()
        if scheme.value_bits != before.value_bits:
            self._repack_values()
        mx.eval(*self.all_arrays())
        return method

    def _unsplit(self) -> None:
        """Back to the first phase: one raw stretch (nothing is packed)."""
        if not self.packing:
            return
        keys = [b.view() for b in (self.first_keys, self.tail_keys) if b.count]
        values = [b.view() for b in (self.first_values, self.tail_values) if b.count]
        calibration = self.calibration
        self.clear()
        self.calibration = calibration
        self.tail_keys.append(mx.concatenate(keys, axis=2))
        self.tail_values.append(mx.concatenate(values, axis=2))

    def _repack_keys(self) -> None:
        old, calibration = self.body_keys, self.calibration
        if isinstance(old, Buffer):  # exact keys: calibrate on them, as at a transition
            self.body_keys = Buffer()  # so that segments are counted anew
            exact = self._without_bias(old.view())
            for block, offset in self._blocks(exact, old.count):
                if self.body_keys.count == 0:
                    self.body_keys = PackedBuffer(self._key_codec(exact.shape[-1]))
                assert isinstance(self.body_keys, PackedBuffer)
                statistics = offset, calibration.channel_scale, calibration.channel_order
                self.body_keys.append(self.backend.encode(exact[:, :, block], self.body_keys.codec, *statistics))
            return
        fresh = PackedBuffer(self._key_codec(old.codec.dim))
        starts = calibration.segment_starts or (0,)
        for g, (start, stop) in enumerate(zip(starts, (*starts[1:], old.count), strict=True)):
            offset = None if calibration.offsets is None else calibration.offsets[:, :, g]
            statistics = offset, calibration.channel_scale, calibration.channel_order
            for row in range(start, stop, REQUANTISED_ROWS):
                part = old.view(row, min(row + REQUANTISED_ROWS, stop))
                fresh.append(self.backend.encode(old.codec.decode(part, *statistics), fresh.codec, *statistics))
                mx.eval(*fresh.arrays())
        self.body_keys = fresh

    def _repack_values(self) -> None:
        old = self.body_values
        assert isinstance(old, PackedBuffer)
        fresh = PackedBuffer(value_codec(old.codec.dim, self.scheme.value_bits))
        for row in range(0, old.count, REQUANTISED_ROWS):
            values = old.codec.decode(old.view(row, min(row + REQUANTISED_ROWS, old.count)))
            fresh.append(self.backend.encode(values, fresh.codec))
            mx.eval(*fresh.arrays())
        self.body_values = fresh


def _raw(x: mx.array) -> mx.array:
    """16 bits a coordinate, clamped to float16's range: offsets and norms are float16, and must not become infinite."""
    bound = 65280.0 if x.dtype == mx.bfloat16 else MAX_NORM  # bfloat16 would round float16's largest up
    return mx.clip(x, -bound, bound).astype(mx.float16 if x.dtype == mx.float32 else x.dtype)
