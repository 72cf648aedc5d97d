"""Decode attention over raw and packed tokens where they lie.

Scores are logarithms to the base 2 (the caller scales the queries), so that a weight is a power of two. Raw coordinates
are the bit patterns of float16 or bfloat16.
"""

from __future__ import annotations

import numba
import numpy as np

from turboquant.backends.cpu_kernels.codec import rotate, unrotate
from turboquant.backends.cpu_kernels.compiling import entry, inner
from turboquant.backends.cpu_kernels.lanes import as_float, unpack

TOKENS = 64  # tokens whose scores are held at once; a multiple of the four that are unpacked together
LOWEST = np.float32(-1e30)  # stands for minus infinity, which fast arithmetic may not meet
HALF_SCALE = np.float32(2.0**112)  # a float16's bits, moved 13 up, are the number times 2^-112
# 2^f for f in -1/2 .. 1/2 with a relative error below 8e-8
_P0, _P1, _P2 = np.float32(1.0000000716553028), np.float32(0.6931469670628856), np.float32(0.24022119720751167)
_P3, _P4, _P5 = np.float32(0.055507132750645484), np.float32(0.009675541502638704), np.float32(0.0013276471960072256)


@inner
def _power(x):
    """2^x of x <= 0; 0 below the smallest normal number."""
    whole = np.floor(max(x, np.float32(-126)) + np.float32(0.5))
    f = max(x, np.float32(-126)) - whole
    p = _P0 + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * _P5))))
    power = as_float(np.uint32(np.int32(whole) + np.int32(127)) << np.uint32(23))
    return p * power if x > np.float32(-126) else np.float32(0)


@inner
def _half(pattern):
    """The float32 of a float16."""
    bits = np.uint32(pattern)
    sign = (bits & np.uint32(0x8000)) << np.uint32(16)
    return as_float(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13))) * HALF_SCALE


@inner
def _widen(row, brain, out):
    """One raw vector as float32."""
    if brain:
        for j in range(row.shape[0]):
            out[j] = as_float(np.uint32(row[j]) << np.uint32(16))
    else:
        for j in range(row.shape[0]):
            out[j] = _half(row[j])


@inner
def _dots(q, keys, factors, scores, column):
    """scores[r, column + i] = factors[i] q[r] . keys[i] of four keys."""
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
        scores[r, column + 1] = b * factors[1]
        scores[r, column + 2] = c * factors[2]
        scores[r, column + 3] = d * factors[3]


@inner
def _weigh(scores, count, m, total, plain, packed):
    """The first `count` columns of scores to weights under a renewed running maximum, the others to 0."""
    for r in range(scores.shape[0]):
        top = m[r]
        for t in range(count):
            top = max(top, scores[r, t])
        for t in range(count, TOKENS):
            scores[r, t] = LOWEST
        if top > m[r]:
            shrink = _power(m[r] - top)
            total[r] *= shrink
            for j in range(plain.shape[1]):
                plain[r, j] *= shrink
                packed[r, j] *= shrink
            m[r] = top
        sum_ = np.float32(0)
        for t in range(TOKENS):
            p = _power(scores[r, t] - top)
            scores[r, t] = p
            sum_ += p
        total[r] += sum_


@inner
def _add(weights, column, factors, values, sums):
    """sums[r] += weights[r, column + i] factors[i] values[i] of four values."""
    v0, v1, v2, v3 = values[0], values[1], values[2], values[3]
    for r in range(sums.shape[0]):
        a = weights[r, column] * factors[0]
        b = weights[r, column + 1] * factors[1]
        c = weights[r, column + 2] * factors[2]
        d = weights[r, column + 3] * factors[3]
        for j in range(sums.shape[1]):
            sums[r, j] += a * v0[j] + b * v1[j] + c * v2[j] + d * v3[j]


@inner
def _raw_tokens(q, keys, values, begin, end, brain, limit, m, total, plain, packed):
    """Attend raw tokens begin..end; row r sees those before limit[r % len(limit)]."""
    ones = np.ones(4, np.float32)
    four_keys = np.zeros((4, keys.shape[1]), np.float32)
    four_values = np.zeros((4, values.shape[1]), np.float32)
    scores = np.empty((q.shape[0], TOKENS), np.float32)
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            for t in range(four, min(four + 4, stop)):
                _widen(keys[t], brain, four_keys[t - four])
            _dots(q, four_keys, ones, scores, four - block)
        for r in range(q.shape[0]):
            for t in range(max(limit[r % limit.shape[0]], block), stop):
                scores[r, t - block] = LOWEST
        _weigh(scores, stop - block, m, total, plain, packed)
        for four in range(block, stop, 4):
            for t in range(four, min(four + 4, stop)):
                _widen(values[t], brain, four_values[t - four])
            _add(scores, four - block, ones, four_values, plain)


@inner
def _body_tokens(
    q, lifted, starts, raw_keys, key_words, key_norms, key_table, key_bits, value_words, value_norms, value_table,
    value_bits, begin, end, brain, m, total, plain, packed,
):  # fmt: skip
    """Attend body tokens begin..end: keys packed (key_bits, q rotated) or raw (0, q as it is), values packed."""
    keys = np.zeros((4, q.shape[1]), np.float32)
    values = np.zeros((4, plain.shape[1]), np.float32)
    key_factors = np.ones(4, np.float32)
    value_factors = np.zeros(4, np.float32)
    scores = np.empty((q.shape[0], TOKENS), np.float32)
    segment = 0
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            for t in range(four, min(four + 4, stop)):
                if key_bits:
                    unpack(key_words[t], key_bits, key_table, keys[t - four])
                    key_factors[t - four] = _half(key_norms[t])
                else:
                    _widen(raw_keys[t], brain, keys[t - four])
            _dots(q, keys, key_factors, scores, four - block)
        if key_bits:
            for t in range(block, stop):
                while segment + 2 < starts.shape[0] and t >= starts[segment + 1]:
                    segment += 1
                for r in range(q.shape[0]):
                    scores[r, t - block] += lifted[r, segment]
        _weigh(scores, stop - block, m, total, plain, packed)
        for four in range(block, stop, 4):
            for t in range(four, min(four + 4, stop)):
                unpack(value_words[t], value_bits, value_table, values[t - four])
                value_factors[t - four] = _half(value_norms[t])
            _add(scores, four - block, value_factors, values, packed)


@entry
def attend(
    q, fold, key_mixer, lifted, starts, first_keys, first_values, raw_keys, key_words, key_norms, key_table, key_bits,
    value_words, value_norms, value_table, value_bits, value_mixer, value_signs, tail_keys, tail_values, counts, brain,
    causal, threads, sink, out,
):  # fmt: skip
    """softmax over all tokens, times the values, to out (BH, rows, value dim; zeroed).

    q (BH, rows, dim): scaled, the logarithm's base included; fold (BH or 1, dim): what its rotation for packed keys
    takes it times. lifted (BH, rows, segments): q . offset; starts: first body row of each segment, then the body's
    end. counts: tokens of first, body, tail. threads: that may run. causal: L where row r (of L rows a head) sees all
    but the newest L - 1 - r tokens, else 1. sink (BH, rows): a logit without a value, or LOWEST.
    """
    heads, rows, value_dim = out.shape
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
        total = part_total[h, piece]
        limit = np.empty(causal, np.int64)
        for r in range(causal):
            limit[r] = tail - (causal - 1 - r)
        if piece == 0 and first:
            _raw_tokens(
                q[h], first_keys[h], first_values[h], 0, first, brain, np.full(1, first), m, total,
                part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
        begin = piece * body // pieces
        end = (piece + 1) * body // pieces
        if end > begin:
            query = q[h].copy()
            if key_bits:
                for r in range(rows):
                    for j in range(query.shape[1]):
                        query[r, j] *= fold[h % fold.shape[0], j]
                    rotate(query[r], key_mixer)
            _body_tokens(
                query, lifted[h], starts, raw_keys[h if key_bits == 0 else 0], key_words[h if key_bits else 0],
                key_norms[h if key_bits else 0], key_table, key_bits, value_words[h], value_norms[h], value_table,
                value_bits, begin, end, brain, m, total, part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
        begin = piece * tail // pieces
        end = (piece + 1) * tail // pieces
        if end > begin:
            _raw_tokens(
                q[h], tail_keys[h], tail_values[h], begin, end, brain, limit, m, total,
                part_plain[h, piece], part_packed[h, piece],
            )  # fmt: skip
    rotated = np.empty(value_dim, np.float32)
    for h in range(heads):
        for r in range(rows):
            top = sink[h, r]
            for piece in range(pieces):
                top = max(top, part_m[h, piece, r])
            total_weight = _power(sink[h, r] - top) if sink[h, r] > LOWEST else np.float32(0)
            rotated[:] = np.float32(0)
            for piece in range(pieces):
                weight = _power(part_m[h, piece, r] - top)
                total_weight += weight * part_total[h, piece, r]
                for j in range(value_dim):
                    out[h, r, j] += weight * part_plain[h, piece, r, j]
                    rotated[j] += weight * part_packed[h, piece, r, j]
            if value_bits:
                unrotate(rotated, value_mixer)
                for j in range(value_dim):
                    out[h, r, j] += rotated[j] * value_signs[j]
            for j in range(value_dim):
                out[h, r, j] /= total_weight
