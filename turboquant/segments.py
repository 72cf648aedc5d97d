"""Where tokens are stored: growing buffers, raw or packed, and the policy that says which token is stored how.

A sequence is three stretches: the first tokens (raw), the body (packed, or raw keys with packed values), and the tail
(raw). The tail is flushed into the body in blocks, so that the newest tokens always stay raw.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mlx.core as mx

from turboquant.codec import Packed
from turboquant.key_bias import KeyBias
from turboquant.split import WIDTHS, AnyCodec

FEW = 8  # rows: a step of decoding, or of drafts


@dataclass(frozen=True)
class Policy:
    """How many tokens stay raw: the `first` ones, and at least `tail` of the newest; `block` are flushed together.

    `split`: widths of keys whose channels are split where the statistics are known (split.py).
    """

    first: int = 4
    tail: int = 32
    block: int = 64
    split: tuple[int, ...] = WIDTHS

    def __post_init__(self) -> None:
        if wrong := set(self.split) - set(WIDTHS):
            raise ValueError(f"Keys of {sorted(wrong)} bits can't be split.")
        if self.first < 0 or self.tail < 0 or self.block < 1:
            raise ValueError(f"{self}: first and tail can't be negative, a block is at least one token.")

    def flushable(self, pending: int) -> int:
        """How many of `pending` raw tokens are to be packed now: whole blocks, `tail` tokens kept."""
        return max(pending - self.tail, 0) // self.block * self.block

    def raw_tokens(self, tokens: int) -> int:
        """Raw tokens of a compressed sequence that was prefilled to `tokens` and never trimmed."""
        return tokens - self.flushable(tokens - min(self.first, tokens))


def _may_wait(x: mx.array, held: mx.array, total: int) -> bool:
    """Whether few rows x, that make `total`, fit in what is held."""
    return x.shape[2] <= FEW and total <= held.shape[2] and x.dtype == held.dtype


def capacity(rows: int, step: int) -> int:
    """Rows that a buffer growing in `step`s allocates for `rows`; none for none."""
    return rows // step * step + step if rows else 0


class Buffer:
    """(B, H, capacity, ...) growing along axis 2 in steps; the first `count` rows are in use.

    A few rows appended to it may wait as `newest` beside the array `held` until somebody asks for `array`. Who attends
    can take both as they are and hand back an array that holds them: two dispatches less a layer and step.
    """

    def __init__(self, step: int = 256) -> None:
        self.step = step
        self.count = 0
        self.held: mx.array | None = None
        self.newest: mx.array | None = None  # rows that `held` lacks, to lie from `begin` on
        self.begin = 0

    @property
    def array(self) -> mx.array | None:
        if self.newest is not None:
            assert self.held is not None
            self.held[:, :, self.begin : self.begin + self.newest.shape[2]] = self.newest
            self.newest = None
        return self.held

    @array.setter
    def array(self, array: mx.array | None) -> None:
        self.held, self.newest = array, None

    def append(self, x: mx.array) -> None:
        """Add x (B, H, n, ...) behind the rows in use."""
        begin, held = self.count, self.held
        self.count = total = begin + x.shape[2]
        if self.newest is None and held is not None and _may_wait(x, held, total):
            self.newest, self.begin = x, begin
            return
        array = self.array
        if array is None:
            array = self._allocate(x, total)
        elif total > array.shape[2]:
            grown = self._allocate(x, total)
            grown[:, :, :begin] = array[:, :, :begin]
            array = grown
        array[:, :, begin:total] = x
        self.held = array

    def _allocate(self, like: mx.array, rows: int) -> mx.array:
        # always a row to spare: what fills an array wholly would replace it, and a slice would keep its parent alive
        return mx.zeros((*like.shape[:2], capacity(rows, self.step), *like.shape[3:]), dtype=like.dtype)

    def view(self, start: int = 0, stop: int | None = None) -> mx.array:
        """Rows start..stop (default: all in use)."""
        array = self.array
        assert array is not None
        return array[:, :, start : self.count if stop is None else stop]

    def drop_first(self, n: int) -> None:
        """Forget the oldest n rows; the capacity shrinks to what the rest needs."""
        rest = self.view(n)
        self.array, self.count = None, 0
        if rest.shape[2]:
            self.append(rest)

    def truncate(self, count: int) -> None:
        """Keep the oldest `count` rows. Nothing is freed but the last row."""
        self.array = self.array if count else None
        self.count = count

    @property
    def row_bytes(self) -> int:
        return 0 if self.held is None else self.held.nbytes // self.held.shape[2]

    @property
    def used_bytes(self) -> int:
        return self.row_bytes * self.count

    @property
    def allocated_bytes(self) -> int:
        return 0 if self.held is None else self.held.nbytes

    def arrays(self) -> list[mx.array]:
        array = self.array
        return [] if array is None else [array]


class PackedBuffer:
    """Growing words (B, H, capacity, W) and norms (B, H, capacity) of one codec."""

    def __init__(self, codec: AnyCodec, step: int = 256) -> None:
        self.codec = codec
        self.words = Buffer(step)
        self.norms = Buffer(step)

    def __copy__(self) -> PackedBuffer:
        """Another count over the same rows; what is appended to it lies behind this one's."""
        copied = PackedBuffer(self.codec, self.words.step)
        copied.words, copied.norms = copy.copy(self.words), copy.copy(self.norms)
        return copied

    def append(self, packed: Packed) -> None:
        self.words.append(packed.words)
        self.norms.append(packed.norms)

    def view(self, start: int = 0, stop: int | None = None) -> Packed:
        return Packed(self.words.view(start, stop), self.norms.view(start, stop))

    def drop_first(self, n: int) -> None:
        self.words.drop_first(n)
        self.norms.drop_first(n)

    def truncate(self, count: int) -> None:
        self.words.truncate(count)
        self.norms.truncate(count)

    @property
    def count(self) -> int:
        return self.words.count

    @property
    def row_bytes(self) -> int:
        return self.words.row_bytes + self.norms.row_bytes

    @property
    def used_bytes(self) -> int:
        return self.row_bytes * self.count

    @property
    def allocated_bytes(self) -> int:
        return self.words.allocated_bytes + self.norms.allocated_bytes

    def arrays(self) -> list[mx.array]:
        return self.words.arrays() + self.norms.arrays()


@dataclass(eq=False, slots=True)  # not frozen: one is made for each layer and step, and freezing takes longer
class Stretches:
    """What attention reads: buffers with their capacity, never sliced copies; the counts say how far they are filled.

    The tail is in order after the body, the body after the first tokens. `offsets` (B, H, G, Dk), `channel_scale` and
    `channel_order` (B, H, Dk) belong to packed keys: key t of the body, in segment g, was stored as
    (k - offsets[g]) * channel_scale, and segment g starts at body row `segment_starts[g]` (ascending, the first is 0).
    With a `key_bias`, k is the key without it, and row 0 of the body is the sequence's `position`.

    Of a sliding window, the oldest `hidden` rows of body and tail are out of sight, and `dropped` tokens before them
    aren't held any more. Masks have a column for each of the `visible` tokens.
    """

    first_keys: Buffer
    first_values: Buffer
    body_keys: Buffer | PackedBuffer
    body_values: Buffer | PackedBuffer
    tail_keys: Buffer
    tail_values: Buffer
    offsets: mx.array | None = None
    segment_starts: tuple[int, ...] = ()
    channel_scale: mx.array | None = None
    channel_order: mx.array | None = None
    key_bias: KeyBias | None = None
    hidden: int = 0
    dropped: int = 0

    @property
    def tokens(self) -> int:
        return self.first_keys.count + self.body_values.count + self.tail_keys.count

    @property
    def visible(self) -> int:
        return self.tokens - self.hidden

    @property
    def position(self) -> int:
        return self.first_keys.count + self.dropped
