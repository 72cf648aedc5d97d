"""Vectors to packed codes and back, in plain MLX operations: the reference that every backend must equal.

Encode (TurboQuant, Algorithm 1, with a matched norm): n = |x|, y = R x / n, codes = boundaries below y, packed
LSB-first into uint32 words with spill; one float16 norm. Keys may be shifted by an offset and scaled by channel first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import mlx.core as mx
import numpy as np

from turboquant import codebook
from turboquant.rotation import Rotation, rotation
from turboquant.schemes import words_per_vector

Norm = Literal["matched", "unbiased"]

MAX_NORM = 65504.0  # float16's largest: a larger norm is clamped, so that one outlier can't turn a vector infinite
TINY = 1e-8
KEY_SEED, VALUE_SEED = 42, 43
# Trial scales of the search at encode time, tried in this order; a later one must be strictly better.
TRIALS = (1.0, 0.9, 0.95, 1.05, 1.1, 1.15, 0.85, 1.2)


class Packed(NamedTuple):
    """`words` (..., W) uint32 and `norms` (...) float16 (split keys: uint16) of the same leading shape."""

    words: mx.array
    norms: mx.array


@dataclass(frozen=True, eq=False)
class Codec:
    """Codes of `bits` bits for vectors of `dim` coordinates; hold one through `codec()`, never build it.

    `norm`: matched s = n/|c| keeps a key's length, unbiased s = n/<u, c> keeps a value's sums right.
    `trials`: how many scales of the rotated vector are tried for the best cosine (1 is the plain scheme).
    """

    dim: int
    bits: int
    seed: int
    norm: Norm
    trials: int
    rotation: Rotation
    centroids: mx.array
    boundaries: mx.array

    @property
    def words(self) -> int:
        return words_per_vector(self.dim, self.bits)

    def __deepcopy__(self, memo: object) -> Codec:
        return self  # shared, also by a copied cache

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return codec, (self.dim, self.bits, self.seed, self.norm, self.trials)

    def identity(self) -> dict[str, int | str]:
        """What a stored cache must agree on to be decoded."""
        return {
            "dim": self.dim,
            "bits": self.bits,
            "seed": self.seed,
            "norm": self.norm,
            "codebook": codebook.VERSION,
        }

    def encode(
        self,
        x: mx.array,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed:
        """`x` (B, H, T, dim) in any float type; `offset`, `channel_scale` (B, H, dim) or None.

        What is stored is (x - offset) * channel_scale, so a query must be divided by the scale. `channel_order` is of
        no use here: a codec of one width treats all channels alike (see split.py).
        """
        codes, norms = self.quantise(shifted(x, offset, channel_scale))
        return Packed(pack(codes, self.bits), norms.astype(mx.float16))

    def quantise(self, x: mx.array) -> tuple[mx.array, mx.array]:
        """Codes (..., dim) uint32 and norms (...) float32 of x (..., dim) float32."""
        norm = mx.linalg.norm(x, axis=-1, keepdims=True)
        y = self.rotation.forward(x / mx.maximum(norm, TINY))
        codes, dot, length2 = self._nearest(y, 1.0)
        best = dot * mx.rsqrt(mx.maximum(length2, TINY))
        for trial in TRIALS[1 : self.trials]:
            other, other_dot, other_length2 = self._nearest(y, trial)
            cosine = other_dot * mx.rsqrt(mx.maximum(other_length2, TINY))
            better = cosine > best
            codes = mx.where(better, other, codes)
            dot = mx.where(better, other_dot, dot)
            length2 = mx.where(better, other_length2, length2)
            best = mx.maximum(cosine, best)
        divisor = mx.sqrt(length2) if self.norm == "matched" else dot
        return codes, mx.minimum(norm / mx.maximum(divisor, TINY), MAX_NORM).squeeze(-1)

    def _nearest(self, y: mx.array, trial: float) -> tuple[mx.array, mx.array, mx.array]:
        """Codes of `trial` * y, <c, y> and |c|^2 (last axis kept)."""
        codes = count_below(y * trial if trial != 1.0 else y, self.boundaries)
        c = self.centroids[codes]
        return codes, (c * y).sum(-1, keepdims=True), (c * c).sum(-1, keepdims=True)

    def decode_rotated(self, packed: Packed, dtype: mx.Dtype = mx.float32) -> mx.array:
        """(..., dim): norms * centroids, still rotated (and still scaled and without the offset)."""
        c = self.centroids[unpack(packed.words, self.bits, self.dim)]
        return (c * packed.norms.astype(mx.float32)[..., None]).astype(dtype)

    def decode(
        self,
        packed: Packed,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> mx.array:
        """(B, H, T, dim) float32: the inverse of `encode`, up to quantisation."""
        return restored(self.rotation.inverse(self.decode_rotated(packed)), offset, channel_scale)

    def rotate(
        self, x: mx.array, channel_scale: mx.array | None = None, channel_order: mx.array | None = None
    ) -> mx.array:
        """R(x * channel_scale) of x (B, H, T, dim), float32: where raw keys and queries lie beside packed ones.

        `channel_scale` (B, H, dim): the keys' own for keys, its reciprocal for queries.
        """
        return self.rotation.forward(shifted(x, None, channel_scale))


def shifted(x: mx.array, offset: mx.array | None, channel_scale: mx.array | None) -> mx.array:
    """(x - offset) * channel_scale in float32, for x (B, H, T, dim)."""
    x = x.astype(mx.float32)
    if offset is not None:
        x = x - offset.astype(mx.float32)[..., None, :]
    if channel_scale is not None:
        x = x * channel_scale.astype(mx.float32)[..., None, :]
    return x


def restored(x: mx.array, offset: mx.array | None, channel_scale: mx.array | None) -> mx.array:
    """The inverse of `shifted`."""
    if channel_scale is not None:
        x = x / channel_scale.astype(mx.float32)[..., None, :]
    if offset is not None:
        x = x + offset.astype(mx.float32)[..., None, :]
    return x


def count_below(y: mx.array, boundaries: mx.array) -> mx.array:
    """Number of ascending `boundaries` strictly below each element, by binary search in `bits` steps."""
    count = mx.zeros(y.shape, dtype=mx.uint32)
    step = (boundaries.size + 1) // 2
    while step:
        count = count + mx.where(y > boundaries[count + (step - 1)], step, 0).astype(mx.uint32)
        step //= 2
    return count


def pack(codes: mx.array, bits: int) -> mx.array:
    """(..., dim) codes below 2^bits to (..., words) uint32: code j starts at bit j*bits, counted from the low end."""
    dim = codes.shape[-1]
    words = words_per_vector(dim, bits)
    start = np.arange(dim) * bits
    word, shift = start // 32, start % 32
    codes = codes.astype(mx.uint32)
    low = mx.left_shift(codes, mx.array(shift.astype(np.uint32)))
    spills = shift + bits > 32
    packed = mx.zeros((*codes.shape[:-1], words), dtype=mx.uint32)
    # codes of one word never overlap, so adding them is or-ing them
    packed = packed.at[..., mx.array(word)].add(low)
    if spills.any():
        index = np.flatnonzero(spills)
        high = mx.right_shift(codes[..., mx.array(index)], mx.array((32 - shift[index]).astype(np.uint32)))
        packed = packed.at[..., mx.array(word[index] + 1)].add(high)
    return packed


def unpack(words: mx.array, bits: int, dim: int) -> mx.array:
    """The inverse of `pack`: (..., dim) uint32 codes."""
    start = np.arange(dim) * bits
    word, shift = start // 32, start % 32
    codes = mx.right_shift(words[..., mx.array(word)], mx.array(shift.astype(np.uint32)))
    spills = shift + bits > 32
    if spills.any():
        following = mx.array(np.minimum(word + 1, words.shape[-1] - 1))
        up = np.where(spills, 32 - shift, 0).astype(np.uint32)
        high = mx.left_shift(words[..., following], mx.array(up))
        codes = codes | mx.where(mx.array(spills), high, 0)
    return codes & ((1 << bits) - 1)


@cache
def codec(dim: int, bits: int, seed: int, norm: Norm = "matched", trials: int = 1) -> Codec:
    """The one codec of these arguments: every layer that uses it shares its arrays."""
    centroids = codebook.lloyd_max(dim, bits)
    return Codec(
        dim,
        bits,
        seed,
        norm,
        trials,
        rotation(dim, seed),
        mx.array(centroids.astype(np.float32)),
        mx.array(codebook.boundaries(centroids).astype(np.float32)),
    )


def key_codec(dim: int, bits: int) -> Codec:
    """The codec of a cache's keys."""
    return codec(dim, bits, KEY_SEED, "matched", _trials(bits))


def value_codec(dim: int, bits: int) -> Codec:
    """The codec of a cache's values."""
    return codec(dim, bits, VALUE_SEED, "unbiased", _trials(bits))


def _trials(bits: int) -> int:
    """The search gains nothing below 3 bits, and at 8 bits there is nothing left to gain."""
    return len(TRIALS) if bits in (3, 4) else 1
