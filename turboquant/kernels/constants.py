"""The small buffers that kernels read beside the cache: constants of codecs and counts, laid out as the bodies say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from turboquant.codec import TRIALS, Codec
from turboquant.kernels import specs
from turboquant.rotation import factors
from turboquant.split import AnyCodec, SplitCodec

Floats = NDArray[np.float32]

LOG2_E = 1.4426950408889634


@cache
def part(codec: AnyCodec) -> specs.Part:
    if isinstance(codec, SplitCodec):
        upper, lower = codec.upper, codec.lower
        return specs.Part(codec.dim, codec.bits, upper.norm == "matched", upper.trials, True, lower.trials)
    return specs.Part(codec.dim, codec.bits, codec.norm == "matched", codec.trials)


def encoding(codec: AnyCodec) -> Floats:
    """Signs / sqrt(2^k), mixer, trial scales, boundaries (and one unused place), centroids; of both halves if split."""
    if isinstance(codec, SplitCodec):
        return _joined([encoding(codec.upper), encoding(codec.lower)])
    trials = np.ones(specs.TRIALS)
    trials[: len(TRIALS)] = TRIALS
    return _joined([*_rotation(codec), trials, _numpy(codec.boundaries), [0.0], _numpy(codec.centroids)])


def decoding(codec: AnyCodec) -> Floats:
    """Signs / sqrt(2^k), mixer, centroids; of both halves where split."""
    if isinstance(codec, SplitCodec):
        return _joined([decoding(codec.upper), decoding(codec.lower)])
    return _joined([*_rotation(codec), _numpy(codec.centroids)])


def attention(keys: AnyCodec | int, values: Codec, scale: float, soft_cap: float = 0.0) -> Floats:
    """Eight numbers, then the keys' and the values' constants. `keys`: their dimension where they are raw."""
    numbers = [scale * LOG2_E, soft_cap * LOG2_E, 2.0 / soft_cap if soft_cap else 0.0, *[0.0] * 5]
    mine = decoding(keys) if not isinstance(keys, int) else np.zeros(keys + factors(keys)[1] ** 2 + 1)
    return _joined([numbers, mine, decoding(values)])


@lru_cache(maxsize=64)
def encoding_array(codec: AnyCodec) -> mx.array:
    return mx.array(encoding(codec))


@lru_cache(maxsize=64)
def decoding_array(codec: AnyCodec) -> mx.array:
    return mx.array(decoding(codec))


@lru_cache(maxsize=64)
def attention_array(keys: AnyCodec | int, values: Codec, scale: float, soft_cap: float) -> mx.array:
    return mx.array(attention(keys, values, scale, soft_cap))


@lru_cache(maxsize=256)
def integers(*values: int) -> mx.array:
    """The kernels' `dims`: the layers of a step share one."""
    return mx.array([*values, *[0] * (specs.DIMS - len(values))], dtype=mx.int32)


@lru_cache(maxsize=64)
def starts(segment_starts: tuple[int, ...]) -> mx.array:
    """Where segments begin, padded with a row that no cache reaches."""
    padding = -len(segment_starts) % specs.DIMS
    return mx.array([*segment_starts, *[2**31 - 1] * padding], dtype=mx.int32)


def fixed(parts: Sequence[mx.array | None]) -> tuple[mx.array, tuple[int, ...]]:
    """What a layer's decode steps share, in one buffer of 32-bit words: `parts` in turn, and where each begins.

    An input less is half a microsecond less of the processor's time a layer and step.
    """
    words, places, at = [], [], 0
    for part in parts:
        places.append(at)
        if part is not None:
            flat = part.reshape(-1).view(mx.uint32)
            flat = mx.pad(flat, (0, -flat.size % 4))  # rows of raw tokens are read 16 bytes at a time
            words.append(flat)
            at += flat.size
    return mx.concatenate(words), tuple(places)


def _rotation(codec: Codec) -> list[NDArray[np.float64]]:
    power, _ = factors(codec.dim)
    return [_numpy(codec.rotation.signs) / np.sqrt(power), _numpy(codec.rotation.mixer)]


def _numpy(array: mx.array) -> NDArray[np.float64]:
    return np.array(array, np.float64)


def _joined(parts: Sequence[NDArray[np.floating] | Sequence[float]]) -> Floats:
    return np.concatenate([np.asarray(p, np.float64).reshape(-1) for p in parts]).astype(np.float32)
