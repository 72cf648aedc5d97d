"""One layer's cache: mlx-lm's cache protocol over raw and packed stretches.

Two phases. While a prompt is prefilled everything is raw. At the first decode step the cache packs itself; from then
on new tokens wait in the raw tail and are packed in blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import mlx.core as mx
from mlx_lm.models.cache import create_attention_mask

from turboquant import backends
from turboquant.calibration import Calibration
from turboquant.codec import MAX_NORM, Codec, Norm, codec
from turboquant.errors import NeedsRebuild, SnapshotMismatch, TurboQuantError, UnpackableHeadDim
from turboquant.rotation import check_dim
from turboquant.schemes import NONE, Scheme, parse
from turboquant.segments import Buffer, PackedBuffer, Policy, Stretches

DECODE_ROWS = 32  # a step of at most so many tokens behind a raw prompt is decoding (one, or a draft's), not prefill
KEY_SEED, VALUE_SEED = 42, 43
KEY_TRIALS, VALUE_TRIALS = 8, 8
REQUANTISED_ROWS = 4096  # rows decoded at a time, so that requantising a layer needs little memory

Method = Literal["unchanged", "empty", "encoded", "requantised", "rebuild"]


def key_codec(dim: int, bits: int) -> Codec:
    return _codec(dim, bits, KEY_SEED, "matched", KEY_TRIALS)


def value_codec(dim: int, bits: int) -> Codec:
    return _codec(dim, bits, VALUE_SEED, "unbiased", VALUE_TRIALS)


def _codec(dim: int, bits: int, seed: int, norm: Norm, trials: int) -> Codec:
    # the search gains nothing at 2 bits, and at 8 bits there is nothing left to gain
    return codec(dim, bits, seed, norm, trials if bits in (3, 4) else 1)


class TurboQuantCache:
    """Keys and values of one layer under a scheme; takes the place of mlx-lm's KVCache.

    Arrays are (B, kv heads, T, head dim). Raw tokens are kept in 16 bits: in the model's own type, or in float16 when
    the model computes in float32. `reason` says why nothing is packed although the scheme would, else it's empty.
    """

    def __init__(self, scheme: Scheme | str, *, policy: Policy | None = None, calibrate: bool = True) -> None:
        self.scheme = parse(scheme)
        self.policy = policy or Policy()
        self.reason = ""
        self.packing = False  # the second phase has begun
        self.attended = False  # attention has come this way, so that packed tokens will be reached
        self.calibration = Calibration(calibrate)
        self.backend = backends.choose()
        self._clear()

    def _clear(self) -> None:
        self.packing = False
        self.calibration = Calibration(self.calibration.enabled)
        self.first_keys, self.first_values = Buffer(step=5), Buffer(step=5)
        self.tail_keys, self.tail_values = Buffer(step=128), Buffer(step=128)
        self.body_keys: Buffer | PackedBuffer = Buffer()
        self.body_values: Buffer | PackedBuffer = Buffer()

    # ------------------------------------------------------------------ mlx-lm's protocol

    @property
    def offset(self) -> int:
        """Tokens held."""
        return self.first_keys.count + self.body_values.count + self.tail_keys.count

    def size(self) -> int:
        return self.offset

    def empty(self) -> bool:
        return self.offset == 0

    def make_mask(self, *args: Any, **kwargs: Any) -> Any:
        return create_attention_mask(*args, offset=self.offset, **kwargs)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Add keys (B, H, L, Dk) and values (B, H, L, Dv).

        Returns every key and value while all are raw; afterwards just the new ones, because attention over this cache
        goes through `attend`.
        """
        self._check_dims(keys.shape[-1], values.shape[-1])
        if self.can_pack and not self.packing and self.offset and keys.shape[2] <= DECODE_ROWS:
            self.begin_packing()
        if self.packing:
            self._flush()
        self.tail_keys.append(_raw(keys))
        self.tail_values.append(_raw(values))
        if self.packing:
            return keys, values
        return self.tail_keys.view().astype(keys.dtype), self.tail_values.view().astype(values.dtype)

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Forget the newest n tokens; returns how many that were. What stays, stays exactly as it is."""
        n = min(n, self.offset)
        keep = self.offset - n
        if keep == 0:
            self._clear()
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
    def nbytes(self) -> int:
        """Allocated bytes, as mlx-lm means it; `used_bytes` counts the tokens held."""
        return sum(b.allocated_bytes for b in self._buffers()) + self.calibration.nbytes

    @property
    def used_bytes(self) -> int:
        return sum(b.used_bytes for b in self._buffers()) + self.calibration.nbytes

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

        A model that changes them in between (repeats or reorders heads, say) can't be served from packed tokens: seen
        during prefill, it makes the layer stay raw.
        """
        heads, rows = self.tail_keys.view().shape[1], queries.shape[2] if self.packing else self.offset
        if keys.shape[1:3] != (heads, rows) or values.shape[1:3] != (heads, rows):
            if self.packing:
                raise TurboQuantError(
                    "This model changes its keys between cache and attention, so a packed cache can't serve it. "
                    "Start anew with the scheme none."
                )
            self.reason = "the model changes its keys and values between cache and attention"
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

    def stretches(self) -> Stretches:
        return Stretches(
            self.first_keys,
            self.first_values,
            self.body_keys,
            self.body_values,
            self.tail_keys,
            self.tail_values,
            self.calibration.offsets,
            self.calibration.segment_starts,
            self.calibration.channel_scale,
        )

    # ------------------------------------------------------------------ packing

    @property
    def can_pack(self) -> bool:
        return self.scheme.compresses and not self.reason

    def _check_dims(self, key_dim: int, value_dim: int) -> None:
        if self.scheme.compresses and self.empty():
            try:
                check_dim(value_dim)
                if self.scheme.key_bits:
                    check_dim(key_dim)
            except UnpackableHeadDim as error:
                self.reason = str(error)

    def begin_packing(self) -> None:
        """`compress`, unless attention hasn't come through `attend_fetched`: then the layer stays raw and says why."""
        if self.attended or self.packing or self.empty() or not self.can_pack:
            self.compress()
        else:
            self.reason = "its attention doesn't go through mlx-lm's shared function"

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
        if isinstance(self.body_values, Buffer):
            self.body_values = PackedBuffer(value_codec(values.shape[-1], self.scheme.value_bits))
        if not self.scheme.key_bits:
            assert isinstance(self.body_keys, Buffer)
            self.body_keys.append(keys[:, :, :rows])
            self.body_values.append(self.backend.encode(values[:, :, :rows], self.body_values.codec))
            return
        if isinstance(self.body_keys, Buffer):
            self.body_keys = PackedBuffer(key_codec(keys.shape[-1], self.scheme.key_bits))
        for block, offset in self._blocks(keys, rows):
            key_rows, value_rows = self.backend.encode_pair(
                keys[:, :, block],
                self.body_keys.codec,
                values[:, :, block],
                self.body_values.codec,
                offset,
                self.calibration.channel_scale,
            )
            self.body_keys.append(key_rows)
            self.body_values.append(value_rows)

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
        if self.body_values.count == 0 or self.reason:
            return "encoded"
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
        self.reason = "" if self.empty() else self.reason
        if self.reason or method in ("unchanged", "empty"):
            return method
        if self.body_values.count == 0:
            self.body_keys, self.body_values = Buffer(), Buffer()  # of the old codec, emptied by a trim
            if not scheme.compresses:
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
        keys = [b.view() for b in (self.first_keys, self.tail_keys) if b.count]
        values = [b.view() for b in (self.first_values, self.tail_values) if b.count]
        calibration = self.calibration
        self._clear()
        self.calibration = calibration
        self.tail_keys.append(mx.concatenate(keys, axis=2))
        self.tail_values.append(mx.concatenate(values, axis=2))

    def _repack_keys(self) -> None:
        old = self.body_keys
        if isinstance(old, Buffer):  # exact keys: calibrate on them, as at a transition
            exact = old.view()
            self.body_keys = fresh = PackedBuffer(key_codec(exact.shape[-1], self.scheme.key_bits))
            for block, offset in self._blocks(exact, old.count):
                scale = self.calibration.channel_scale
                fresh.append(self.backend.encode(exact[:, :, block], fresh.codec, offset, scale))
            return
        fresh = PackedBuffer(key_codec(old.codec.dim, self.scheme.key_bits))
        calibration = self.calibration
        starts = calibration.segment_starts or (0,)
        for g, (start, stop) in enumerate(zip(starts, (*starts[1:], old.count), strict=True)):
            offset = None if calibration.offsets is None else calibration.offsets[:, :, g]
            for row in range(start, stop, REQUANTISED_ROWS):
                part = old.view(row, min(row + REQUANTISED_ROWS, stop))
                keys = old.codec.decode(part, offset, calibration.channel_scale)
                fresh.append(self.backend.encode(keys, fresh.codec, offset, calibration.channel_scale))
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

    # ------------------------------------------------------------------ storing

    def _buffers(self) -> list[Buffer | PackedBuffer]:
        return [
            self.first_keys,
            self.first_values,
            self.body_keys,
            self.body_values,
            self.tail_keys,
            self.tail_values,
        ]

    def all_arrays(self) -> list[mx.array]:
        """Every array held, with its capacity."""
        return [a for b in self._buffers() for a in b.arrays()] + self.calibration.arrays()

    def describe(self) -> dict[str, Any]:
        """What must be known beside the arrays, as JSON values; names the codecs, so that a reader can refuse."""
        return {
            "scheme": self.scheme.name,
            "reason": self.reason,
            "packing": self.packing,
            "attended": self.attended,
            "calibrate": self.calibration.enabled,
            "policy": [self.policy.first, self.policy.tail, self.policy.block],
            "segment_starts": list(self.calibration.segment_starts),
            "codecs": {
                name: buffer.codec.identity() | {"trials": buffer.codec.trials}
                for name, buffer in (("keys", self.body_keys), ("values", self.body_values))
                if isinstance(buffer, PackedBuffer)
            },
        }

    def arrays(self) -> dict[str, mx.array]:
        """Named arrays, cut to the tokens held."""
        named: dict[str, mx.array] = {}
        for name, buffer in zip(_NAMES, self._buffers(), strict=True):
            if buffer.count == 0:
                continue
            if isinstance(buffer, PackedBuffer):
                named[name + ".words"], named[name + ".norms"] = buffer.view()
            else:
                named[name] = buffer.view()
        for name in ("query_power", "channel_scale", "offsets"):
            if (array := getattr(self.calibration, name)) is not None:
                named[name] = array
        return named

    def restore(self, description: dict[str, Any], arrays: dict[str, mx.array]) -> None:
        """Become what `describe` and `arrays` said. Raises SnapshotMismatch where a codec isn't this version's."""
        self.scheme = parse(description["scheme"])
        self.policy = Policy(*description["policy"])
        self.calibration = Calibration(description["calibrate"])
        self._clear()
        self.reason = description["reason"]
        self.packing = description["packing"]
        self.attended = description["attended"]
        codecs = description["codecs"]
        for side, make, bits in (
            ("keys", key_codec, self.scheme.key_bits),
            ("values", value_codec, self.scheme.value_bits),
        ):
            if side not in codecs:
                continue
            ours = make(codecs[side]["dim"], bits) if bits else None
            if ours is None or ours.identity() | {"trials": ours.trials} != codecs[side]:
                raise SnapshotMismatch(f"The cached {side} were packed by another codec: {codecs[side]}.")
            setattr(self, f"body_{side}", PackedBuffer(ours))
        for name, buffer in zip(_NAMES, self._buffers(), strict=True):
            if isinstance(buffer, PackedBuffer):
                if name + ".words" in arrays:
                    buffer.words.append(arrays[name + ".words"])
                    buffer.norms.append(arrays[name + ".norms"])
            elif name in arrays:
                buffer.append(arrays[name])
        self.calibration.query_power = arrays.get("query_power")
        self.calibration.channel_scale = arrays.get("channel_scale")
        self.calibration.offsets = arrays.get("offsets")
        self.calibration.segment_starts = tuple(description["segment_starts"])
        self._check_restored()

    def _check_restored(self) -> None:
        """Raises SnapshotMismatch where what was restored can't belong together."""
        shapes = set()
        for first, body, tail in (
            (self.first_keys, self.body_keys, self.tail_keys),
            (self.first_values, self.body_values, self.tail_values),
        ):
            dims = {b.view().shape[-1] for b in (first, tail) if b.count}
            for buffer in (first, body, tail):
                if isinstance(buffer, PackedBuffer):
                    if buffer.count and buffer.view().words.shape[-1] != buffer.codec.words:
                        raise SnapshotMismatch("Packed vectors have another width than their codec's.")
                    dims.add(buffer.codec.dim)
                    shapes |= {b.view().shape[:2] for b in (buffer.words, buffer.norms) if b.count}
                elif buffer.count:
                    dims.add(buffer.view().shape[-1])
                    shapes.add(buffer.view().shape[:2])
            if len(dims) > 1:
                raise SnapshotMismatch(f"Vectors of one layer have several lengths: {sorted(dims)}.")
        counts = [(b.count, v.count) for b, v in zip(self._buffers()[::2], self._buffers()[1::2], strict=True)]
        starts, offsets = self.calibration.segment_starts, self.calibration.offsets
        segments = 0 if offsets is None else offsets.shape[2]
        if (
            len(shapes) > 1
            or any(keys != values for keys, values in counts)
            or len(starts) != segments
            or list(starts) != sorted(set(starts))
            or (segments and not starts[0] == 0 <= starts[-1] < self.body_keys.count)
        ):
            raise SnapshotMismatch("The parts of a layer's cache don't fit together.")


_NAMES = ("first_keys", "first_values", "body_keys", "body_values", "tail_keys", "tail_values")


def _raw(x: mx.array) -> mx.array:
    """16 bits a coordinate; a float32 outlier is clamped, so that it can't become infinite."""
    return mx.clip(x, -MAX_NORM, MAX_NORM).astype(mx.float16) if x.dtype == mx.float32 else x
