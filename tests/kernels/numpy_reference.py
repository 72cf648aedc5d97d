"""What the kernels must compute, in float64 NumPy, written from the definitions and not from the library's code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turboquant.codec import TRIALS, Codec
from turboquant.split import SplitCodec

Array = NDArray[Any]


def to_bits(x: Array, dtype: str) -> Array:
    """Floats as a kernel's buffer holds them (bfloat16 as its bits, rounded to nearest even)."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(x, dtype=dtype)


def from_bits(x: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.float64)


def rotation(codec: Codec) -> Array:
    """R, orthogonal: checked here, because everything else leans on it."""
    r = codec.rotation.dense()
    assert np.abs(r @ r.T - np.eye(codec.dim)).max() < 1e-6
    return r


def centroids(codec: Codec) -> Array:
    return np.array(codec.centroids, np.float64)


def pack(codes: Array, bits: int) -> Array:
    """(..., dim) codes, LSB first with spill, one bit at a time."""
    dim = codes.shape[-1]
    words = (dim * bits + 31) // 32
    flat = ((codes[..., None].astype(np.uint64) >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)).reshape(
        *codes.shape[:-1], dim * bits
    )
    padded = np.zeros((*codes.shape[:-1], words * 32), np.uint64)
    padded[..., : dim * bits] = flat
    weights = np.uint64(1) << np.arange(32, dtype=np.uint64)
    return (padded.reshape(*codes.shape[:-1], words, 32) * weights).sum(-1).astype(np.uint32)


def unpack(words: Array, bits: int, dim: int) -> Array:
    flat = (words[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    used = flat.reshape(*words.shape[:-1], -1)[..., : dim * bits].reshape(*words.shape[:-1], dim, bits)
    return (used.astype(np.int64) << np.arange(bits)).sum(-1)


@dataclass(frozen=True)
class Encoded:
    """Codes (n, trials, dim), stored norm and cosine (n, trials); `close`: coordinates next to a boundary."""

    codes: Array
    norms: Array
    cosines: Array
    close: Array


def encode(x: Array, codec: Codec, margin: float = 2e-6) -> Encoded:
    """Every trial of x (n, dim), which is already shifted and scaled."""
    norm = np.sqrt((x * x).sum(-1))
    y = (x / np.maximum(norm, 1e-8)[:, None]) @ rotation(codec).T
    c = centroids(codec)
    bounds = (c[1:] + c[:-1]) / 2
    alphas = np.array(TRIALS[: codec.trials])
    scaled = y[:, None] * alphas[:, None]
    codes = np.searchsorted(bounds, scaled)
    chosen = c[codes]
    dot, square = (chosen * y[:, None]).sum(-1), (chosen * chosen).sum(-1)
    divisor = np.sqrt(square) if codec.norm == "matched" else dot
    close = np.abs(scaled[..., None] - bounds).min(-1) < margin
    stored = np.minimum(norm[:, None] / np.maximum(divisor, 1e-8), 65504.0)
    return Encoded(codes, stored, dot / np.sqrt(np.maximum(square, 1e-8)), close)


def check_encoded(got_words: Array, got_norms: Array, x: Array, codec: Codec) -> None:
    """Codes equal but next to a boundary; the trial that was taken is as good as the best; the norm is that trial's."""
    got = unpack(got_words, codec.bits, codec.dim)
    assert (pack(got, codec.bits) == got_words).all(), "bits behind the last code"
    norms = check_codes(got, x, codec)
    np.testing.assert_allclose(got_norms.astype(np.float64), norms, rtol=1.5e-3, atol=1e-7)


def check_split_encoded(got_words: Array, got_norms: Array, x: Array, codec: SplitCodec) -> None:
    """As check_encoded, for each half of x (n, dim), its channels in order; norms may fall to the next of 32 steps."""
    pairs = unpack(got_words, 2 * codec.bits, codec.dim // 2)
    assert (pack(pairs, 2 * codec.bits) == got_words).all(), "bits behind the last pair"
    upper = check_codes(pairs & ((2 << codec.bits) - 1), x[:, 0::2], codec.upper)
    lower = check_codes(pairs >> (codec.bits + 1), x[:, 1::2], codec.lower)
    steps = [np.clip(np.log2(np.maximum(norms, 1e-30)) * 32 + 128, 1, 255) for norms in (upper, lower)]
    zero = (upper == 0) & (lower == 0)
    for byte, wanted in zip((got_norms >> 8, got_norms & 255), steps, strict=True):
        assert (np.abs(byte.astype(np.float64) - np.where(zero, 0, wanted)) < 0.51).all(), "norms"


def check_codes(got: Array, x: Array, codec: Codec) -> Array:
    """The norms that should be stored with the codes `got`, which must be those of a good trial."""
    want = encode(x, codec)
    differs = (got[:, None] != want.codes) & ~want.close
    fits = ~differs.any(-1) & (np.abs(got[:, None] - want.codes).max(-1) <= 1)
    good = want.cosines > want.cosines.max(-1, keepdims=True) - 1e-6
    assert (fits & good).any(-1).all(), "codes of no good trial"
    assert want.close[np.abs(x).sum(-1) > 0].mean() < 0.05  # a zero vector lies on a boundary
    return np.asarray(want.norms[np.arange(len(x)), np.argmax(fits & good, axis=-1)])


def split_slots(pairs: Array, norms: Array, codec: SplitCodec) -> tuple[Array, Array]:
    """The upper and the lower half of split keys, still rotated: pairs (.., dim / 2), norms (..) uint16."""
    high, low = norms >> 8, norms & 255
    upper, lower = (np.where(high == 0, 0.0, 2.0 ** ((byte.astype(np.float64) - 128) / 32)) for byte in (high, low))
    codes = pairs & ((2 << codec.bits) - 1), pairs >> (codec.bits + 1)
    return centroids(codec.upper)[codes[0]] * upper[..., None], centroids(codec.lower)[codes[1]] * lower[..., None]


def rotated(x: Array, codec: Codec | SplitCodec, order: Array) -> Array:
    """Rows x (heads, n, dim), scaled, as packed ones lie: of split keys the channels in `order` (heads, dim)."""
    if isinstance(codec, Codec):
        return np.asarray(x @ rotation(codec).T)
    slots = np.take_along_axis(x, order.astype(np.int64)[:, None].repeat(x.shape[1], 1), axis=-1)
    halves = slots[..., 0::2] @ rotation(codec.upper).T, slots[..., 1::2] @ rotation(codec.lower).T
    return np.stack(halves, axis=-1).reshape(x.shape)


def unrotated(slots: Array, codec: SplitCodec) -> Array:
    """(.., dim) in the order of slots, each half's rotation undone."""
    halves = slots[..., 0::2] @ rotation(codec.upper), slots[..., 1::2] @ rotation(codec.lower)
    return np.stack(halves, axis=-1).reshape(slots.shape)


@dataclass(frozen=True)
class Layer:
    """One layer's tokens in order, as float64 (rows = batch * kv heads): what the kernel should see."""

    keys: Array
    values: Array


@dataclass
class Case:
    """A random cache in the kernels' buffers, and the same as plain keys and values."""

    batch: int
    kv_heads: int
    body: int
    capacity: int
    first: int
    tail: int
    key_codec: Codec | SplitCodec | int  # an int: raw keys of this dimension
    value_codec: Codec
    raw_dtype: str = "float16"
    calibration: int = 0
    starts: tuple[int, ...] = (0,)
    seed: int = 3
    tail_capacity: int = 128
    buffers: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        heads, value_dim = self.batch * self.kv_heads, self.value_codec.dim
        key_dim = self.key_codec if isinstance(self.key_codec, int) else self.key_codec.dim
        first_capacity, tail_capacity = max(self.first, 4), self.tail_capacity

        def raw(rows: int, dim: int, size: float) -> Array:
            return to_bits(random.standard_normal((heads, rows, dim)) * size, self.raw_dtype)

        def packed(codec: Codec) -> tuple[Array, Array, Array]:
            codes = random.integers(0, 1 << codec.bits, (heads, self.capacity, codec.dim))
            norms = (random.random((heads, self.capacity)) * 2 + 1).astype(np.float16)
            norms[:, self.body :] = np.nan  # whatever lies beyond the length must not matter
            plain = centroids(codec)[codes] * norms[..., None].astype(np.float64)
            return pack(codes, codec.bits), norms, plain[:, : self.body] @ rotation(codec)

        def packed_split(codec: SplitCodec) -> tuple[Array, Array, Array]:
            pairs = random.integers(0, 1 << 2 * codec.bits, (heads, self.capacity, codec.dim // 2))
            norms = random.integers(0, 1 << 16, (heads, self.capacity)).astype(np.uint16)
            norms[:, 0] &= 0xFF  # a zero vector
            slots = np.stack(split_slots(pairs, norms, codec), axis=-1).reshape(heads, self.capacity, -1)
            keys = np.empty((heads, self.body, codec.dim))
            order = b["order"].astype(np.int64)
            np.put_along_axis(
                keys, order[:, None].repeat(self.body, 1), unrotated(slots[:, : self.body], codec), axis=-1
            )
            return pack(pairs, 2 * codec.bits), norms, keys

        b = self.buffers
        b["order"] = np.stack([random.permutation(key_dim) for _ in range(heads)]).astype(np.uint16)
        if isinstance(self.key_codec, SplitCodec):
            b["kpack"], b["knorm"], keys = packed_split(self.key_codec)
        elif isinstance(self.key_codec, Codec):
            b["kpack"], b["knorm"], keys = packed(self.key_codec)
        else:
            b["kpack"] = raw(self.capacity, key_dim, 1.0)
            keys = from_bits(b["kpack"], self.raw_dtype)[:, : self.body]
        b["offs"] = (random.standard_normal((heads, len(self.starts), key_dim)) * 2).astype(np.float16)
        b["chan"] = np.exp(random.standard_normal((heads, key_dim)) / 2).astype(np.float16)
        b["starts"] = np.full(max(8, -(-len(self.starts) // 8) * 8), 2**31 - 1, np.int32)
        b["starts"][: len(self.starts)] = self.starts
        if self.calibration > 1:
            keys = keys / b["chan"].astype(np.float64)[:, None]
        if self.calibration:
            segment = np.searchsorted(self.starts, np.arange(self.body), side="right") - 1
            keys = keys + b["offs"].astype(np.float64)[:, segment]
        b["vpack"], b["vnorm"], values = packed(self.value_codec)
        b["fk"], b["fv"] = raw(first_capacity, key_dim, 1.0), raw(first_capacity, value_dim, 1.0)
        b["tk"], b["tv"] = raw(tail_capacity, key_dim, 1.0), raw(tail_capacity, value_dim, 1.0)
        plain = {name: from_bits(b[name], self.raw_dtype) for name in ("fk", "fv", "tk", "tv")}
        self.keys = np.concatenate([plain["fk"][:, : self.first], keys, plain["tk"][:, : self.tail]], axis=1)
        self.values = np.concatenate([plain["fv"][:, : self.first], values, plain["tv"][:, : self.tail]], axis=1)

    @property
    def tokens(self) -> int:
        return self.first + self.body + self.tail

    def dims(self, splits: int, low: int = 0) -> Array:
        """The buffer of attend.metal and attend_merge.metal."""
        found = np.zeros(16, np.int32)
        first, tail = self.buffers["fk"].shape[1], self.buffers["tk"].shape[1]
        values = (
            self.body,
            self.capacity,
            self.first,
            first,
            self.tail,
            tail,
            splits,
            len(self.starts),
            low,
            self.capacity,
        )
        found[: len(values)] = values
        return found


def attend(
    q: Array,
    keys: Array,
    values: Array,
    scale: float,
    window: int = 0,
    soft_cap: float = 0.0,
    sinks: Array | None = None,
    hidden: tuple[int, int] = (0, 0),
    bias: Array | None = None,
) -> Array:
    """Causal attention of q (batch, heads, L, dk), the newest L tokens, over (batch, kv heads, T, d)."""
    batch, heads, length, _ = q.shape
    group, tokens = heads // keys.shape[1], keys.shape[2]
    scores = np.einsum("bhld,bhtd->bhlt", q, keys.repeat(group, 1))
    scores = (scores if bias is None else scores + bias) * scale
    if soft_cap:
        scores = soft_cap * np.tanh(scores / soft_cap)
    position = np.arange(tokens)
    newest = tokens - length + np.arange(length)[:, None]
    visible = (position <= newest) & ((position > newest - window) if window else True)
    visible = visible & ((position < hidden[0]) | (position >= hidden[1]))
    scores = np.where(visible, scores, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks[None, :, None, None], (batch, heads, length, 1))
        scores = np.concatenate([scores, column], axis=-1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True))[..., :tokens]
    return np.einsum("bhlt,bhtd->bhld", weights, values.repeat(group, 1))
