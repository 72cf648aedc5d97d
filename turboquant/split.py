"""Split keys: the more important half of a head's channels at one bit more, the other half at one bit less.

The same bytes as uniform keys. Channels are ranked by rms q * rms k (calibration.py); each half has its own rotation
and its own norm. TurboQuant's 2.5 and 3.5 bits (section 4.3) mix channels of two widths in the same way.

Pair i holds one channel of each half: 2 * bits bits at bit 2 * bits * i, the upper's code first. A vector's norms are
one uint16: the upper's in the high byte, the lower's in the low one, 32 steps an octave; byte b stands for
2^((b - 128) / 32). The scale makes the mean square norm of a head's keys 1, so that bytes 1 to 255 reach from 1/16 to
16. An upper byte of 0 is a zero vector.

Both norms are unbiased, unlike those of uniform keys: a matched norm shortens what a code of 1 or 2 bits gives to a
score by a fifth, and so would set the halves against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mlx.core as mx

from turboquant import codebook
from turboquant.codec import KEY_SEED, TRIALS, Codec, Packed, codec, pack, restored, shifted, unpack
from turboquant.errors import UnpackableHeadDim
from turboquant.reasons import Reason
from turboquant.rotation import check_dim
from turboquant.schemes import words_per_vector

WIDTHS = (2, 3, 4)  # key bits that can be split
LOWER_SEED = 44
STEPS = 32  # of a norm's octave
UNIT = 128  # the byte of a norm of 1


@dataclass(frozen=True, eq=False)
class SplitCodec:
    """Codes of `bits` + 1 and `bits` - 1 bits for the halves of `dim` channels; hold one through `split_key_codec`."""

    dim: int
    bits: int
    upper: Codec
    lower: Codec

    @property
    def words(self) -> int:
        return words_per_vector(self.dim, self.bits)

    @property
    def trials(self) -> int:
        return self.upper.trials

    def __deepcopy__(self, memo: object) -> SplitCodec:
        return self  # shared, also by a copied cache

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return split_key_codec, (self.dim, self.bits)

    def identity(self) -> dict[str, int | str]:
        """What a stored cache must agree on to be decoded."""
        return {
            "dim": self.dim,
            "bits": self.bits,
            "seed": self.upper.seed,
            "lower_seed": self.lower.seed,
            "norm": self.upper.norm,
            "codebook": codebook.VERSION,
        }

    def encode(
        self,
        x: mx.array,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed:
        """As Codec.encode; `channel_order` (B, H, dim) uint16: the channel of each slot, the upper's slots even."""
        upper, lower = _halves(_ordered(shifted(x, offset, channel_scale), channel_order))
        upper_codes, upper_norms = self.upper.quantise(upper)
        lower_codes, lower_norms = self.lower.quantise(lower)
        pairs = upper_codes | (lower_codes << (self.bits + 1))
        high, low = _norm_byte(upper_norms), _norm_byte(lower_norms)
        zero = (upper_norms == 0) & (lower_norms == 0)
        norms = mx.where(zero, 0, (high << 8) | low).astype(mx.uint16)
        return Packed(pack(pairs, 2 * self.bits), norms)

    def decode_rotated(self, packed: Packed, dtype: mx.Dtype = mx.float32) -> mx.array:
        """(..., dim): norms * centroids in the order of slots, still rotated, scaled and without the offset."""
        pairs = unpack(packed.words, 2 * self.bits, self.dim // 2)
        high, low = norms_of(packed.norms)
        upper = self.upper.centroids[pairs & ((1 << (self.bits + 1)) - 1)] * high[..., None]
        lower = self.lower.centroids[pairs >> (self.bits + 1)] * low[..., None]
        return _paired(upper, lower).astype(dtype)

    def decode(
        self,
        packed: Packed,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> mx.array:
        """(B, H, T, dim) float32: the inverse of `encode`, up to quantisation."""
        upper, lower = _halves(self.decode_rotated(packed))
        slots = _paired(self.upper.rotation.inverse(upper), self.lower.rotation.inverse(lower))
        return restored(_unordered(slots, channel_order), offset, channel_scale)

    def rotate(
        self, x: mx.array, channel_scale: mx.array | None = None, channel_order: mx.array | None = None
    ) -> mx.array:
        """As Codec.rotate: each half of the ordered channels of x (B, H, T, dim) rotated, in the order of slots."""
        upper, lower = _halves(_ordered(shifted(x, None, channel_scale), channel_order))
        return _paired(self.upper.rotation.forward(upper), self.lower.rotation.forward(lower))


AnyCodec = Codec | SplitCodec


@cache
def split_key_codec(dim: int, bits: int) -> SplitCodec:
    """The one codec of split keys of `dim` channels at `bits` bits in the mean.

    Raises UnpackableHeadDim where half the channels have no rotation, ValueError for a width that can't be split.
    """
    if bits not in WIDTHS:
        raise ValueError(f"Keys of {bits} bits can't be split: of {', '.join(map(str, WIDTHS))} bits they can.")
    half = dim // 2
    check_dim(half)
    return SplitCodec(
        dim,
        bits,
        codec(half, bits + 1, KEY_SEED, "unbiased", len(TRIALS)),
        codec(half, bits - 1, LOWER_SEED, "unbiased", len(TRIALS) if bits > 2 else 1),
    )


def can_split(dim: int) -> bool:
    """Whether half of `dim` channels have a rotation."""
    try:
        check_dim(dim // 2)
    except UnpackableHeadDim:
        return False
    return True


def uniform_note(dim: int, bits: int) -> str:
    """Why keys of `dim` channels at `bits` bits stay uniform though keys of that width can be split; else empty."""
    if bits not in WIDTHS or can_split(dim):
        return ""
    return Reason("keys stay uniform: half of {0} channels can't be rotated", dim)


def norms_of(norms: mx.array) -> tuple[mx.array, mx.array]:
    """The upper's and the lower's norm (float32) of stored ones (uint16)."""
    high, low = (norms >> 8).astype(mx.float32), (norms & 255).astype(mx.float32)
    upper, lower = (mx.power(2.0, (byte - UNIT) / STEPS) for byte in (high, low))
    return mx.where(high == 0, 0.0, upper), mx.where(high == 0, 0.0, lower)


def _norm_byte(norms: mx.array) -> mx.array:
    """1 to 255: the nearest step in the logarithm."""
    log = mx.log2(mx.maximum(norms, 1e-30))
    return mx.clip(mx.round(log * STEPS) + UNIT, 1, 255).astype(mx.uint32)


def _halves(slots: mx.array) -> tuple[mx.array, mx.array]:
    pairs = slots.reshape(*slots.shape[:-1], -1, 2)
    return pairs[..., 0], pairs[..., 1]


def _paired(upper: mx.array, lower: mx.array) -> mx.array:
    return mx.stack([upper, lower], axis=-1).reshape(*upper.shape[:-1], -1)


def _ordered(x: mx.array, channel_order: mx.array | None) -> mx.array:
    assert channel_order is not None, "split keys need the order of their channels"
    index = channel_order.astype(mx.uint32)[:, :, None]
    return mx.take_along_axis(x, mx.broadcast_to(index, x.shape), axis=-1)


def _unordered(slots: mx.array, channel_order: mx.array | None) -> mx.array:
    assert channel_order is not None, "split keys need the order of their channels"
    return _ordered(slots, mx.argsort(channel_order, axis=-1))
