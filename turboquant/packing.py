"""How a layer's tokens go from raw to packed, and from one scheme to another."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import mlx.core as mx

from turboquant import backends
from turboquant.calibration import SEGMENT
from turboquant.codec import key_codec, value_codec
from turboquant.errors import NeedsRebuild
from turboquant.layer import NAMES, Layer
from turboquant.reasons import UNSHARED
from turboquant.schemes import Scheme
from turboquant.segments import Buffer, PackedBuffer, Policy, Stretches
from turboquant.split import AnyCodec, can_split, split_key_codec

REQUANTISED_ROWS = 4096  # rows decoded at a time, so that requantising a layer needs little memory

Method = Literal["unchanged", "empty", "encoded", "requantised", "rebuild"]


class Packing(Layer):
    """A layer that packs its raw tokens as its policy says, and can hold them under another scheme."""

    def __init__(self, scheme: Scheme, policy: Policy, calibrate: bool, window: int, keep: int) -> None:
        super().__init__(scheme, policy, calibrate, window, keep)
        self.backend = backends.choose()

    def begin_packing(self) -> None:
        """`compress`, unless attention hasn't come through `attend_fetched`: then the layer stays raw and says why."""
        if self.attended or self.packing or self.empty() or not self.can_pack:
            self.compress()
        else:
            self.obstacle = UNSHARED

    def compress(self) -> None:
        """Begin the second phase now: set the first tokens apart, pack what the policy allows, evaluate this layer."""
        if self.packing or not self.can_pack or self.empty():
            return
        self.packing = True
        self._flush()
        # one layer at a time: the next layer's work isn't begun before this one's raw tokens are free
        mx.eval(*self.all_arrays())

    def _flush(self, newer: int = 0) -> None:
        """Set first tokens apart where some are missing, and pack what is due of the tail but for its `newer` rows."""
        pending = self.tail_keys.count - newer
        begun = self.body_values.count or self.hidden or self.dropped
        first = 0 if begun else min(self.policy.first - self.first_keys.count, pending)
        due = self.policy.flushable(pending - first)
        if first + due == 0:
            return
        self._set_apart(first)
        if due:
            # no more of the tail is looked at than in steps of one token, so that drafted steps pack the same
            known = first + due + self.policy.tail
            self._pack(self.tail_keys.view(first, known), self.tail_values.view(first, known), due)
        self.tail_keys.drop_first(first + due)
        self.tail_values.drop_first(first + due)
        if due > self.policy.block:  # a prompt's chunk: its raw tokens are free before the next layer packs
            mx.eval(*self.all_arrays())

    def steps(self, rows: int) -> Iterator[tuple[slice, Stretches]]:
        """The newest `rows` in parts, each with what it would see were they added one by one, packed where that is due.

        This layer stays as it is: they may be drafts, and be trimmed.
        """
        later, begin = self, 0
        while begin < rows:
            due = self.policy.tail + self.policy.block - (later.tail_keys.count - (rows - begin))
            end = min(begin + max(due, 1), rows)
            yield slice(begin, end), _shortened(later.stretches(), rows - end)
            if end < rows:
                later = later._twin()
                later._flush(newer=rows - end)
            begin = end

    def _twin(self) -> Packing:
        """Another over the same rows, whose counts are its own."""
        twin = copy.copy(self)
        twin.calibration = copy.copy(self.calibration)
        for name in NAMES:
            setattr(twin, name, copy.copy(getattr(self, name)))
        return twin

    def _pack(self, keys: mx.array, values: mx.array, rows: int) -> None:
        """Encode the first `rows` of raw keys and values into the body; what is behind them only informs the offset."""
        codec = value_codec(values.shape[-1], self.scheme.value_bits)
        if isinstance(self.body_values, Buffer):
            self.body_values = PackedBuffer(codec, self.body_step)
        if not self.scheme.key_bits:
            assert isinstance(self.body_keys, Buffer)
            self.body_keys.append(keys[:, :, :rows])
            self.body_values.append(self.backend.encode(values[:, :, :rows], codec))
            return
        keys = self._without_bias(keys)
        for block, offset in self._blocks(keys, rows):
            if self.body_keys.count == 0:
                self.body_keys = PackedBuffer(self._key_codec(keys.shape[-1]), self.body_step)
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
        start, heads = self.stretches().position + self.body_keys.count, keys.shape[1]
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
        if self.reason_under(scheme):
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
            # of the old codec, emptied by a trim
            self.body_keys, self.body_values = Buffer(self.body_step), Buffer(self.body_step)
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
        calibration, dropped, hidden = self.calibration, self.dropped, self.hidden
        self.clear()
        self.calibration, self.dropped, self.hidden = calibration, dropped, hidden
        self.tail_keys.append(mx.concatenate(keys, axis=2))
        self.tail_values.append(mx.concatenate(values, axis=2))

    def _repack_keys(self) -> None:
        old, calibration = self.body_keys, self.calibration
        if isinstance(old, Buffer):  # exact keys: calibrate on them, as at a transition
            self.body_keys = Buffer(self.body_step)  # so that segments are counted anew
            exact = self._without_bias(old.view())
            for block, offset in self._blocks(exact, old.count):
                if self.body_keys.count == 0:
                    self.body_keys = PackedBuffer(self._key_codec(exact.shape[-1]), self.body_step)
                assert isinstance(self.body_keys, PackedBuffer)
                statistics = offset, calibration.channel_scale, calibration.channel_order
                self.body_keys.append(self.backend.encode(exact[:, :, block], self.body_keys.codec, *statistics))
            return
        fresh = PackedBuffer(self._key_codec(old.codec.dim), self.body_step)
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
        fresh = PackedBuffer(value_codec(old.codec.dim, self.scheme.value_bits), self.body_step)
        for row in range(0, old.count, REQUANTISED_ROWS):
            values = old.codec.decode(old.view(row, min(row + REQUANTISED_ROWS, old.count)))
            fresh.append(self.backend.encode(values, fresh.codec))
            mx.eval(*fresh.arrays())
        self.body_values = fresh


def _shortened(held: Stretches, rows: int) -> Stretches:
    """`held`, but for the newest `rows` of the tail."""
    if rows == 0:
        return held
    keys, values = copy.copy(held.tail_keys), copy.copy(held.tail_values)
    keys.count -= rows
    values.count -= rows
    return replace(held, tail_keys=keys, tail_values=values)
