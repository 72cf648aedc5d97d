"""What one layer holds: its raw and packed stretches and statistics, their bytes, and their form in a file."""

from __future__ import annotations

import operator
from typing import Any, cast

import mlx.core as mx

from turboquant import calibration, windows
from turboquant.calibration import Calibration
from turboquant.codec import key_codec, value_codec
from turboquant.errors import SnapshotMismatch, UnpackableHeadDim
from turboquant.key_bias import KeyBias
from turboquant.reasons import Reason
from turboquant.rotation import check_dim
from turboquant.schemes import Scheme, parse
from turboquant.segments import Buffer, PackedBuffer, Policy, Stretches
from turboquant.split import SplitCodec, split_key_codec, uniform_note

NAMES = ("first_keys", "first_values", "body_keys", "body_values", "tail_keys", "tail_values")


class Layer:
    """Keys and values of one layer under a scheme, arrays (B, kv heads, T, head dim).

    `obstacle`: what in the model stands in the way of packing, whatever the scheme. `shape`: batch, kv heads, key and
    value dim, known from the first tokens on. `packing`: the second phase has begun. `attended`: attention has come
    through the cache, so that packed tokens will be reached. `key_bias`: the layer's, where it has one;
    `without_bias`: the packed keys are stored without it.

    `rewound`: it was trimmed, as after rejected drafts.

    `window`: how many of the newest tokens count, the first `keep` included, which never leave; 0: all do. The others
    are `hidden` when they leave, and `dropped` (the count of those) block by block.
    """

    def __init__(self, scheme: Scheme, policy: Policy, calibrate: bool, window: int = 0, keep: int = 0) -> None:
        self.scheme = scheme
        self.window, self.keep = window, keep
        self.policy = windows.policy(policy, window, keep) if window else policy
        self.obstacle = ""
        self.shape: tuple[int, int, int, int] | None = None
        self.attended = False
        self.key_bias: KeyBias | None = None
        self.calibration = Calibration(calibrate)
        self.clear()

    def clear(self) -> None:
        """Forget every token."""
        self.packing = self.without_bias = self.rewound = False
        self.calibration = Calibration(self.calibration.enabled)
        self.hidden = self.dropped = 0
        self.first_keys, self.first_values = Buffer(step=5), Buffer(step=5)
        step = windows.tail_step(self.policy) if self.window else 128
        self.tail_keys, self.tail_values = Buffer(step), Buffer(step)
        self.body_keys: Buffer | PackedBuffer = Buffer(self.body_step)
        self.body_values: Buffer | PackedBuffer = Buffer(self.body_step)

    @property
    def body_step(self) -> int:
        return windows.BODY_STEP if self.window else 256

    @property
    def held(self) -> int:
        """Tokens held, those out of sight too."""
        return self.first_keys.count + self.body_values.count + self.tail_keys.count

    @property
    def offset(self) -> int:
        """Tokens seen: those held and those that left a window."""
        # spelt out: models ask each layer twice a step
        return self.dropped + self.first_keys.count + self.body_values.count + self.tail_keys.count

    @property
    def visible(self) -> int:
        """Tokens held that the newest step's first token sees, and that step's."""
        return self.held - self.hidden

    @property
    def next_sees(self) -> int:
        """How many of the tokens so far the next one sees."""
        return min(self.offset, self.window - 1) if self.window else self.offset

    def empty(self) -> bool:
        return self.offset == 0

    @property
    def reason(self) -> str:
        """Why nothing is packed although the scheme would; else empty."""
        return self.reason_under(self.scheme)

    def reason_under(self, scheme: Scheme) -> str:
        """Why nothing would be packed under `scheme`, which compresses; else empty."""
        if not scheme.compresses:
            return ""
        try:
            if self.shape and not self.obstacle:
                check_dim(self.shape[3])
                if scheme.key_bits:
                    check_dim(self.shape[2])
                if self.window:
                    return windows.unpackable(self.shape, scheme, self.window, self.policy, self.keep)
        except UnpackableHeadDim as error:
            return str(error.args[0])
        return self.obstacle

    @property
    def can_pack(self) -> bool:
        return self.scheme.compresses and not self.reason

    @property
    def note(self) -> str:
        """Why keys aren't split although the policy would (split.py); empty where they are, or none is packed yet."""
        if not self.can_pack or self.scheme.key_bits not in self.policy.split:
            return ""
        if self.shape and (note := uniform_note(self.shape[2], self.scheme.key_bits)):
            return note
        if not self.body_keys.count or isinstance(cast(PackedBuffer, self.body_keys).codec, SplitCodec):
            return ""
        if self.calibration.channel_scale is None:
            return Reason("keys stay uniform: too little is known of keys and queries")
        return Reason("keys stay uniform: their channels matter too much alike")

    # ------------------------------------------------------------------ bytes and arrays

    @property
    def nbytes(self) -> int:
        """Allocated bytes, as mlx-lm means it; `used_bytes` counts the tokens held."""
        return sum(b.allocated_bytes for b in self._buffers()) + self.calibration.nbytes

    @property
    def used_bytes(self) -> int:
        return self.bytes_in_sight(*self._buffers()) + self.calibration.nbytes

    def bytes_in_sight(self, *buffers: Buffer | PackedBuffer) -> int:
        """Of these buffers the rows in use that a window hasn't left behind."""
        body = min(self.hidden, self.body_values.count)
        hidden = {id(b): body for b in (self.body_keys, self.body_values)}
        hidden |= {id(b): self.hidden - body for b in (self.tail_keys, self.tail_values)}
        return sum(b.row_bytes * (b.count - hidden.get(id(b), 0)) for b in buffers)

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
            self.calibration.channel_order,
            self.key_bias if self.without_bias else None,
            self.hidden,
            self.dropped,
        )

    # ------------------------------------------------------------------ a window's tokens

    def slide(self) -> None:
        """Before a step: hide what its first token doesn't see, drop what is a block further away."""
        if not self.window:
            return
        self.hidden = self.held - self.next_sees
        if self.hidden:
            self._keep_apart()
        if self.hidden and not self.keep and self.first_keys.count:
            self._drop(min(self.hidden, self.first_keys.count), self.first_keys, self.first_values)
        if self.hidden >= windows.reserve(self.policy) + self.policy.block:
            far = self.hidden - windows.reserve(self.policy)
            packed = min(far, self.body_values.count)
            self.calibration.drop_first(packed, self.body_values.count)
            self._drop(packed, self.body_keys, self.body_values)
            self._drop(far - packed, self.tail_keys, self.tail_values)

    def _keep_apart(self) -> None:
        """Those that never leave, before others do: from then on they don't lie in one row."""
        missing = min(self.keep - self.first_keys.count, self.tail_keys.count)
        if missing > 0:
            self._set_apart(missing)
            self.tail_keys.drop_first(missing)
            self.tail_values.drop_first(missing)

    def _drop(self, rows: int, *buffers: Buffer | PackedBuffer) -> None:
        if rows:
            for buffer in buffers:
                buffer.drop_first(rows)
            self.hidden -= rows
            self.dropped += rows

    def _set_apart(self, rows: int) -> None:
        """Copy the tail's first `rows` to the first tokens."""
        if rows:
            self.first_keys.append(self.tail_keys.view(0, rows))
            self.first_values.append(self.tail_values.view(0, rows))

    def can_trim(self, n: int) -> bool:
        """Whether without its newest n tokens the layer would hold all that a window then sees."""
        return self.dropped == 0 or n >= self.offset or self.held - n >= self.window - 1

    # ------------------------------------------------------------------ in a file

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
            "obstacle": self.obstacle,
            "shape": self.shape,
            "window": [self.window, self.keep, self.dropped, self.hidden],
            "packing": self.packing,
            "attended": self.attended,
            "calibrate": self.calibration.enabled,
            "observed": self.calibration.observed,
            "without_bias": self.without_bias,
            "policy": [self.policy.first, self.policy.tail, self.policy.block, list(self.policy.split)],
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
        for name, buffer in zip(NAMES, self._buffers(), strict=True):
            if buffer.count == 0:
                continue
            if isinstance(buffer, PackedBuffer):
                named[name + ".words"], named[name + ".norms"] = buffer.view()
            else:
                named[name] = buffer.view()
        return named | self.calibration.named_arrays()

    def restore(self, description: dict[str, Any], arrays: dict[str, mx.array]) -> None:
        """Become what `describe` and `arrays` said. Raises SnapshotMismatch where a codec isn't this version's."""
        self.scheme = parse(description["scheme"])
        first, tail, block, *split = description["policy"]
        self.policy = Policy(operator.index(first), operator.index(tail), operator.index(block), *map(tuple, split))
        self.calibration = Calibration(description["calibrate"])
        self.window, self.keep, dropped, hidden = description.get("window", (0, 0, 0, 0))
        self.clear()
        self.dropped, self.hidden = operator.index(dropped), operator.index(hidden)
        self.obstacle = str(description["obstacle"])
        self.shape = None if description["shape"] is None else tuple(description["shape"])
        self.packing = bool(description["packing"])
        self.attended = bool(description["attended"])
        self.without_bias = bool(description.get("without_bias", False))
        codecs = description["codecs"]
        make_keys = split_key_codec if "lower_seed" in codecs.get("keys", ()) else key_codec
        for side, make, bits in (
            ("keys", make_keys, self.scheme.key_bits),
            ("values", value_codec, self.scheme.value_bits),
        ):
            if side not in codecs:
                continue
            ours = make(codecs[side]["dim"], bits) if bits else None
            if ours is None or ours.identity() | {"trials": ours.trials} != codecs[side]:
                raise SnapshotMismatch(f"The cached {side} were packed by another codec: {codecs[side]}.")
            setattr(self, f"body_{side}", PackedBuffer(ours, self.body_step))
        for name, buffer in zip(NAMES, self._buffers(), strict=True):
            if isinstance(buffer, PackedBuffer):
                if name + ".words" in arrays:
                    buffer.words.append(arrays[name + ".words"])
                    buffer.norms.append(arrays[name + ".norms"])
            elif name in arrays:
                buffer.append(arrays[name])
        for name in calibration.ARRAYS:
            setattr(self.calibration, name, arrays.get(name))
        self.calibration.segment_starts = tuple(description["segment_starts"])
        self.calibration.observed = operator.index(description.get("observed", 0))
        self._check_restored()

    def _check_restored(self) -> None:
        """Raises SnapshotMismatch where what was restored can't belong together."""
        if self.shape is None:
            if self.offset or self.calibration.arrays():
                raise SnapshotMismatch("A layer's cache holds tokens of no shape.")
            return
        batch, heads, key_dim, value_dim = self.shape
        raw = {a.dtype for b in self._buffers() if isinstance(b, Buffer) for a in b.arrays()}
        fits = len(raw) <= 1 and raw <= {mx.float16, mx.bfloat16}
        fits &= self.can_pack or not self.packing
        fits &= self.dropped >= 0 and 0 <= self.hidden <= self.held
        for buffers, dim in ((self._buffers()[::2], key_dim), (self._buffers()[1::2], value_dim)):
            for buffer in buffers:
                if isinstance(buffer, PackedBuffer) and buffer.count:
                    words, norms = buffer.view()
                    fits &= words.shape == (batch, heads, buffer.count, buffer.codec.words) and words.dtype == mx.uint32
                    split = isinstance(buffer.codec, SplitCodec)
                    fits &= norms.shape == (batch, heads, buffer.count)
                    fits &= norms.dtype == (mx.uint16 if split else mx.float16)
                    fits &= not split or self.calibration.channel_order is not None
                    fits &= buffer.codec.dim == dim
                elif isinstance(buffer, Buffer) and buffer.count:
                    fits &= buffer.view().shape == (batch, heads, buffer.count, dim)
        fits &= [b.count for b in self._buffers()[::2]] == [b.count for b in self._buffers()[1::2]]
        starts, offsets = self.calibration.segment_starts, self.calibration.offsets
        fits &= list(starts) == sorted(set(starts)) and (offsets is None) == (not starts)
        if offsets is not None:
            fits &= offsets.shape == (batch, heads, len(starts), key_dim) and offsets.dtype == mx.float16
            fits &= starts[0] == 0 <= starts[-1] < self.body_keys.count
        for name, dtype in (("channel_scale", mx.float16), ("channel_order", mx.uint16), ("query_power", mx.float32)):
            array = getattr(self.calibration, name)
            fits &= array is None or (array.shape == (batch, heads, key_dim) and array.dtype == dtype)
        if (order := self.calibration.channel_order) is not None and fits:
            fits &= bool((mx.sort(order, axis=-1) == mx.arange(key_dim)).all())
        if not fits:
            raise SnapshotMismatch("The parts of a layer's cache don't fit together.")
