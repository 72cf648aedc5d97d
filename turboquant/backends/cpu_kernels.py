"""The loops behind the CPU backend. Compiled once a machine and kept in numba's cache; the GIL is released.

Rows are contiguous; B and H are one axis (BH). Raw coordinates are the bit patterns of float16 or bfloat16.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numba
import numpy as np

# OpenMP's threads spin while they wait and lose whole time slices as soon as anything else runs (a window, say): seen
# 15 times slower on a busy machine. numba's own pool doesn't, but only one thread may enter it at a time.
if "NUMBA_THREADING_LAYER" not in os.environ:
    numba.config.THREADING_LAYER = "workqueue"
_entrance = threading.Lock()

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"fastmath": True, "cache": True, "nogil": True, "error_model": "numpy"}

TOKENS = 64  # tokens whose scores are held at once
LOWEST = np.float32(-1e30)  # stands for minus infinity, which fast arithmetic may not meet
HALF_SCALE = np.float32(2.0**112)  # a float16's bits, moved 13 up, are the number times 2^-112


def _compiled(function: F) -> F:
    return numba.njit(**_OPTIONS)(function)


def _parallel(function: F) -> F:
    compiled = numba.njit(parallel=True, **_OPTIONS)(function)

    @wraps(function)
    def enter(*arguments: Any) -> None:
        with _entrance:
            compiled(*arguments)

    return enter  # type: ignore[return-value]


@_compiled
def _hadamard_rows(x, power, mixer):
    """In place: (H_power (x) mixer) on one vector of power * m coordinates."""
    m = mixer.shape[0]
    if m > 1:
        part = np.empty(m, np.float32)
        for p in range(power):
            for i in range(m):
                total = np.float32(0)
                for j in range(m):
                    total += mixer[i, j] * x[p * m + j]
                part[i] = total
            for i in range(m):
                x[p * m + i] = part[i]
    _walsh(x, power, m)


@_compiled
def _walsh(x, power, m):
    half = 1
    while half < power:
        width = half * m
        for start in range(0, power * m, 2 * width):
            for i in range(start, start + width):
                a = x[i]
                b = x[i + width]
                x[i] = a + b
                x[i + width] = a - b
        half *= 2
    scale = np.float32(1.0 / np.sqrt(power))
    for i in range(power * m):
        x[i] *= scale


@_parallel
def rotate(x, power, mixer):
    """In place: R of every row of x (BH, rows, dim), the signs already applied."""
    for n in numba.prange(x.shape[0] * x.shape[1]):
        _hadamard_rows(x[n // x.shape[1], n % x.shape[1]], power, mixer)


@_parallel
def unrotate(x, power, mixer, signs):
    """In place: R transposed of every row of x (BH, rows, dim), signs included."""
    m = mixer.shape[0]
    for n in numba.prange(x.shape[0] * x.shape[1]):
        row = x[n // x.shape[1], n % x.shape[1]]
        _walsh(row, power, m)
        if m > 1:
            part = np.empty(m, np.float32)
            for p in range(power):
                for i in range(m):
                    total = np.float32(0)
                    for j in range(m):
                        total += mixer[j, i] * row[p * m + j]
                    part[i] = total
                for i in range(m):
                    row[p * m + i] = part[i]
        for i in range(row.shape[0]):
            row[i] *= signs[i]


@_compiled
def _codes(y, trial, boundaries, codes):
    """codes[j] = number of boundaries below trial * y[j]."""
    count = boundaries.shape[0]
    if count <= 15:
        for j in range(y.shape[0]):
            codes[j] = 0
        for k in range(count):
            boundary = boundaries[k]
            for j in range(y.shape[0]):
                codes[j] += np.int32(trial * y[j] > boundary)
    else:
        for j in range(y.shape[0]):
            value = trial * y[j]
            low = np.int32(0)
            step = np.int32((count + 1) // 2)
            while step > 0:
                if value > boundaries[low + step - 1]:
                    low += step
                step //= 2
            codes[j] = low


@_parallel
def encode(x, shift, fold, power, mixer, centroids, boundaries, bits, trials, matched, words, norms):
    """x (BH, n, dim) to words (BH, n, W, zeroed) and norms (BH, n); shift and fold (BH, dim): see Codec.encode."""
    heads, rows, dim = x.shape
    for n in numba.prange(heads * rows):
        h = n // rows
        t = n % rows
        y = np.empty(dim, np.float32)
        length2 = np.float64(0)
        for j in range(dim):
            v = (x[h, t, j] - shift[h, j]) * fold[h, j]
            y[j] = v
            length2 += np.float64(v) * np.float64(v)
        norm = np.float32(np.sqrt(length2))
        inverse = np.float32(1) / max(norm, np.float32(1e-8))
        for j in range(dim):
            y[j] *= inverse
        _hadamard_rows(y, power, mixer)
        codes = np.empty(dim, np.int32)
        best_codes = np.empty(dim, np.int32)
        best = np.float32(-2)
        best_divisor = np.float32(0)
        for trial in trials:
            _codes(y, trial, boundaries, codes)
            dot = np.float32(0)
            square = np.float32(0)
            for j in range(dim):
                c = centroids[codes[j]]
                dot += c * y[j]
                square += c * c
            cosine = dot / np.sqrt(max(square, np.float32(1e-8)))
            if cosine > best:
                best = cosine
                best_divisor = np.sqrt(square) if matched else dot
                for j in range(dim):
                    best_codes[j] = codes[j]
        norms[h, t] = min(norm / max(best_divisor, np.float32(1e-8)), np.float32(65504))
        for j in range(dim):
            start = j * bits
            w = start >> 5
            s = start & 31
            code = np.uint64(best_codes[j]) << np.uint64(s)
            words[h, t, w] |= np.uint32(code & np.uint64(0xFFFFFFFF))
            if s + bits > 32:
                words[h, t, w + 1] |= np.uint32(code >> np.uint64(32))


@_compiled
def _unpack(words, bits, table, out):
    """out[j] = table[code j] for one vector's words."""
    dim = out.shape[0]
    if bits == 4 and dim % 8 == 0:
        for w in range(dim // 8):
            x = words[w]
            for e in range(8):
                out[w * 8 + e] = table[(x >> np.uint32(4 * e)) & np.uint32(15)]
    elif bits == 2 and dim % 16 == 0:
        for w in range(dim // 16):
            x = words[w]
            for e in range(16):
                out[w * 16 + e] = table[(x >> np.uint32(2 * e)) & np.uint32(3)]
    elif bits == 8 and dim % 4 == 0:
        for w in range(dim // 4):
            x = words[w]
            for e in range(4):
                out[w * 4 + e] = table[(x >> np.uint32(8 * e)) & np.uint32(255)]
    elif bits == 3 and dim % 32 == 0:
        for b in range(dim // 32):  # 32 codes fill 3 words
            x = words[3 * b]
            y = words[3 * b + 1]
            z = words[3 * b + 2]
            for e in range(10):
                out[32 * b + e] = table[(x >> np.uint32(3 * e)) & np.uint32(7)]
            out[32 * b + 10] = table[(x >> np.uint32(30)) | ((y & np.uint32(1)) << np.uint32(2))]
            for e in range(10):
                out[32 * b + 11 + e] = table[(y >> np.uint32(3 * e + 1)) & np.uint32(7)]
            out[32 * b + 21] = table[(y >> np.uint32(31)) | ((z & np.uint32(3)) << np.uint32(1))]
            for e in range(10):
                out[32 * b + 22 + e] = table[(z >> np.uint32(3 * e + 2)) & np.uint32(7)]
    else:
        mask = np.uint64((1 << bits) - 1)
        for j in range(dim):
            start = j * bits
            w = start >> 5
            s = start & 31
            x64 = np.uint64(words[w])
            if s + bits > 32:
                x64 |= np.uint64(words[w + 1]) << np.uint64(32)
            out[j] = table[(x64 >> np.uint64(s)) & mask]


@_parallel
def dequantise(words, norms, table, bits, out):
    """out (n, dim) = norms (n,) * table[codes of words (n, W)]."""
    for n in numba.prange(out.shape[0]):
        _unpack(words[n], bits, table, out[n])
        norm = norms[n]
        for j in range(out.shape[1]):
            out[n, j] *= norm


@_compiled
def _widen(row, brain, pattern):
    """Bit patterns of one raw vector to the bits of float32, to be multiplied by what `_widening` returns."""
    if brain:
        for j in range(row.shape[0]):
            pattern[j] = np.uint32(row[j]) << np.uint32(16)
    else:
        for j in range(row.shape[0]):
            half = np.uint32(row[j])
            pattern[j] = ((half & np.uint32(0x8000)) << np.uint32(16)) | ((half & np.uint32(0x7FFF)) << np.uint32(13))


@_compiled
def _half(bits, pattern, number):
    """One float16; pattern and number share one float32's memory."""
    half = np.uint32(bits)
    pattern[0] = ((half & np.uint32(0x8000)) << np.uint32(16)) | ((half & np.uint32(0x7FFF)) << np.uint32(13))
    return number[0] * HALF_SCALE


@_compiled
def _dots(q, keys, factors, scores, column, count):
    """scores[r, column + i] = factors[i] q[r] . keys[i] for the first `count` of four keys."""
    k0, k1, k2, k3 = keys[0], keys[1], keys[2], keys[3]
    for r in range(q.shape[0]):
        a = np.float32(0)
        b = np.float32(0)
        c = np.float32(0)
        d = np.float32(0)
        for j in range(q.shape[1]):
            x = q[r, j]
            a += x * k0[j]
            b += x * k1[j]
            c += x * k2[j]
            d += x * k3[j]
        scores[r, column] = a * factors[0]
        if count > 1:
            scores[r, column + 1] = b * factors[1]
        if count > 2:
            scores[r, column + 2] = c * factors[2]
        if count > 3:
            scores[r, column + 3] = d * factors[3]


@_compiled
def _renew(scores, count, m, total, plain, packed):
    """Turn `count` columns of scores into weights under a renewed running maximum; rescale what was summed."""
    for r in range(scores.shape[0]):
        top = m[r]
        for t in range(count):
            top = max(top, scores[r, t])
        if top > m[r]:
            shrink = np.exp(m[r] - top)
            total[r] *= shrink
            for j in range(plain.shape[1]):
                plain[r, j] *= shrink
                packed[r, j] *= shrink
            m[r] = top
        for t in range(count):
            p = np.exp(scores[r, t] - top)
            scores[r, t] = p
            total[r] += p


@_compiled
def _add(weights, column, factors, values, count, sums):
    """sums[r] += weights[r, column + i] factors[i] values[i] for the first `count` of four values."""
    v0, v1, v2, v3 = values[0], values[1], values[2], values[3]
    zero = np.float32(0)
    for r in range(sums.shape[0]):
        a = weights[r, column] * factors[0]
        b = weights[r, column + 1] * factors[1] if count > 1 else zero
        c = weights[r, column + 2] * factors[2] if count > 2 else zero
        d = weights[r, column + 3] * factors[3] if count > 3 else zero
        for j in range(sums.shape[1]):
            sums[r, j] += a * v0[j] + b * v1[j] + c * v2[j] + d * v3[j]


@_compiled
def _raw_tokens(q, keys, values, begin, end, brain, limit, step, m, total, plain, packed):
    """Attend raw tokens begin..end; row r sees those before limit[r % step]."""
    rows = q.shape[0]
    factors = np.full(4, np.float32(1) if brain else HALF_SCALE)
    key_patterns = np.zeros((4, keys.shape[1]), np.uint32)
    value_patterns = np.zeros((4, values.shape[1]), np.uint32)
    four_keys, four_values = key_patterns.view(np.float32), value_patterns.view(np.float32)
    scores = np.empty((rows, TOKENS), np.float32)
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            count = min(4, stop - four)
            for i in range(count):
                _widen(keys[four + i], brain, key_patterns[i])
            _dots(q, four_keys, factors, scores, four - block, count)
        for t in range(block, stop):
            for r in range(rows):
                if t >= limit[r % step]:
                    scores[r, t - block] = LOWEST
        _renew(scores, stop - block, m, total, plain, packed)
        for four in range(block, stop, 4):
            count = min(4, stop - four)
            for i in range(count):
                _widen(values[four + i], brain, value_patterns[i])
            _add(scores, four - block, factors, four_values, count, plain)


@_compiled
def _body_tokens(
    q, rotated, lifted, starts, raw_keys, key_words, key_norms, key_table, key_bits, value_words, value_norms,
    value_table, value_bits, begin, end, brain, m, total, plain, packed,
):  # fmt: skip
    """Attend body tokens begin..end: keys packed (key_bits) or raw (0), values packed."""
    rows = q.shape[0]
    pattern = np.empty(1, np.uint32)
    number = pattern.view(np.float32)
    raw_patterns = np.zeros((4, raw_keys.shape[1]), np.uint32)
    raw = raw_patterns.view(np.float32)
    keys = np.zeros((4, rotated.shape[1]), np.float32)
    values = np.zeros((4, plain.shape[1]), np.float32)
    factors = np.full(4, np.float32(1) if brain else HALF_SCALE)
    scores = np.empty((rows, TOKENS), np.float32)
    segment = 0
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            count = min(4, stop - four)
            if key_bits == 0:
                for i in range(count):
                    _widen(raw_keys[four + i], brain, raw_patterns[i])
                _dots(q, raw, factors, scores, four - block, count)
                continue
            for i in range(count):
                _unpack(key_words[four + i], key_bits, key_table, keys[i])
                factors[i] = _half(key_norms[four + i], pattern, number)
            _dots(rotated, keys, factors, scores, four - block, count)
        if key_bits:
            for t in range(block, stop):
                while segment + 2 < starts.shape[0] and t >= starts[segment + 1]:
                    segment += 1
                for r in range(rows):
                    scores[r, t - block] += lifted[r, segment]
        _renew(scores, stop - block, m, total, plain, packed)
        for four in range(block, stop, 4):
            count = min(4, stop - four)
            for i in range(count):
                _unpack(value_words[four + i], value_bits, value_table, values[i])
                factors[i] = _half(value_norms[four + i], pattern, number)
            _add(scores, four - block, factors, values, count, packed)
        if key_bits == 0:
            factors[:] = np.float32(1) if brain else HALF_SCALE


@_parallel
def attend(
    q, rotated, lifted, starts, first_keys, first_values, raw_keys, key_words, key_norms, key_table, key_bits,
    value_words, value_norms, value_table, value_bits, tail_keys, tail_values, counts, brain, causal, threads, sink,
    plain, packed, total,
):  # fmt: skip
    """Sums of weights (total), of weighted raw values (plain) and of weighted packed values (packed, still rotated).

    q, rotated (BH, rows, dim), scaled; lifted (BH, rows, segments): q . offset; starts: first body row of each segment,
    then the body's end. counts: tokens of first, body, tail. threads: that may run. causal: L where row r (of L rows
    a head) sees all but the newest L - 1 - r tokens, else 1. sink (BH, rows): a logit without a value, or -infinity.
    """
    heads, rows, value_dim = plain.shape
    first, body, tail = counts[0], counts[1], counts[2]
    # enough pieces for every core, and none shorter than a few blocks
    pieces = max(1, min((2 * threads + heads - 1) // heads, (body + tail) // (4 * TOKENS)))
    part_m = np.full((heads, pieces, rows), LOWEST, np.float32)
    part_total = np.zeros((heads, pieces, rows), np.float32)
    part_plain = np.zeros((heads, pieces, rows, value_dim), np.float32)
    part_packed = np.zeros((heads, pieces, rows, value_dim), np.float32)
    for n in numba.prange(heads * pieces):
        h = n // pieces
        piece = n % pieces
        m = part_m[h, piece]
        sums = part_total[h, piece]
        limit = np.empty(causal, np.int64)
        for r in range(causal):
            limit[r] = tail - (causal - 1 - r)
        everything = np.full(1, np.int64(1) << 40)
        if piece == 0 and first:
            _raw_tokens(
                q[h], first_keys[h], first_values[h], 0, first, brain, everything, 1, m, sums,
                part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
        begin = piece * body // pieces
        end = (piece + 1) * body // pieces
        if end > begin:
            _body_tokens(
                q[h], rotated[h], lifted[h], starts, raw_keys[h if key_bits == 0 else 0],
                key_words[h if key_bits else 0], key_norms[h if key_bits else 0], key_table, key_bits,
                value_words[h], value_norms[h], value_table, value_bits, begin, end, brain, m, sums,
                part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
        begin = piece * tail // pieces
        end = (piece + 1) * tail // pieces
        if end > begin:
            _raw_tokens(
                q[h], tail_keys[h], tail_values[h], begin, end, brain, limit, causal, m, sums,
                part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
    for h in range(heads):
        for r in range(rows):
            top = max(LOWEST, sink[h, r])
            for piece in range(pieces):
                top = max(top, part_m[h, piece, r])
            sum_ = np.exp(max(sink[h, r], LOWEST) - top) if sink[h, r] > LOWEST else np.float32(0)
            for piece in range(pieces):
                weight = np.exp(part_m[h, piece, r] - top)
                sum_ += weight * part_total[h, piece, r]
                for j in range(value_dim):
                    plain[h, r, j] += weight * part_plain[h, piece, r, j]
                    packed[h, r, j] += weight * part_packed[h, piece, r, j]
            total[h, r] = sum_
