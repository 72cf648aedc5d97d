"""Decode attention over raw and packed tokens where they lie.

Scores are logarithms to the base 2 (the caller scales the queries), so that a weight is a power of two. Raw coordinates
are the bit patterns of float16 or bfloat16.
"""

from __future__ import annotations

import numba
import numpy as np

from turboquant.backends.cpu_kernels.codec import rotate, unrotate
from turboquant.backends.cpu_kernels.compiling import entry, inlined, inner
from turboquant.backends.cpu_kernels.lanes import aligned, as_float, unpack

TOKENS = 64  # tokens whose scores are held at once; a multiple of the four that are unpacked together
LOWEST = np.float32(-1e30)  # stands for minus infinity, which fast arithmetic may not meet
HALF_SCALE = np.float32(2.0**112)  # a float16's bits, moved 13 up, are the number times 2^-112
# 2^f for f in -1/2 .. 1/2 with a relative error below 8e-8
_P0, _P1, _P2 = np.float32(1.0000000716553028), np.float32(0.6931469670628856), np.float32(0.24022119720751167)
_P3, _P4, _P5 = np.float32(0.055507132750645484), np.float32(0.009675541502638704), np.float32(0.0013276471960072256)


@inlined
def _power(x):
    """2^x of x <= 0; 0 below the smallest normal number."""
    whole = np.floor(max(x, np.float32(-126)) + np.float32(0.5))
    f = max(x, np.float32(-126)) - whole
    p = _P0 + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * _P5))))
    power = as_float(np.uint32(np.int32(whole) + np.int32(127)) << np.uint32(23))
    return p * power if x > np.float32(-126) else np.float32(0)


@inlined
def _half(pattern):
    """The float32 of a float16."""
    bits = np.uint32(pattern)
    sign = (bits & np.uint32(0x8000)) << np.uint32(16)
    return as_float(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13))) * HALF_SCALE


@inlined
def _widen(row, brain, out):
    """One raw vector as float32."""
    if brain:
        for j in range(row.shape[0]):
            out[j] = as_float(np.uint32(row[j]) << np.uint32(16))
    else:
        for j in range(row.shape[0]):
            out[j] = _half(row[j])


@inlined
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


@inlined
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


@inlined
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


@inlined
def _read(stretch, brain, begin, stop, four, factors):
    """Vectors begin..stop of a stretch, at most four, to rows of `four`, to be multiplied by their factors."""
    raw, words, norms, entries, bits = stretch
    for t in range(begin, min(begin + 4, stop)):
        if bits:
            unpack(words[t], bits, entries, four[t - begin])
            factors[t - begin] = _half(norms[t])
        else:
            _widen(raw[t], brain, four[t - begin])


@inner
def _tokens(q, stretch_keys, stretch_values, begin, end, brain, limit, lifted, starts, m, total, sums, others):
    """Attend tokens begin..end of one stretch, (raw, words, norms, table, bits: 0 if raw) of keys and of values.

    Row r sees those before limit[r % len(limit)]; those from starts[g] to starts[g + 1] score lifted[r, g] more.
    """
    keys, values = aligned(4, q.shape[1]), aligned(4, sums.shape[1])
    key_factors, value_factors = np.ones(4, np.float32), np.ones(4, np.float32)
    scores = aligned(q.shape[0], TOKENS)
    segment = 0
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            _read(stretch_keys, brain, four, stop, keys, key_factors)
            _dots(q, keys, key_factors, scores, four - block)
        for t in range(block, stop):
            while t >= starts[segment + 1]:
                segment += 1
            for r in range(q.shape[0]):
                scores[r, t - block] += lifted[r, segment]
        for r in range(q.shape[0]):
            for t in range(max(limit[r % limit.shape[0]], block), stop):
                scores[r, t - block] = LOWEST
        _weigh(scores, stop - block, m, total, sums, others)
        for four in range(block, stop, 4):
            _read(stretch_values, brain, four, stop, values, value_factors)
            _add(scores, four - block, value_factors, values, sums)


@inlined
def _of_head(stretch, h):
    raw, words, norms, entries, bits = stretch
    return raw[h % raw.shape[0]], words[h % words.shape[0]], norms[h % norms.shape[0]], entries, bits


@inner
def _piece(
    h, piece, pieces, q, fold, mixer, lifted, starts, first_keys, first_values, body_keys, body_values, tail_keys,
    tail_values, counts, brain, causal, m, total, plain, packed,
):  # fmt: skip
    """One head's share number `piece` of its tokens."""
    everything = np.full(1, np.iinfo(np.int64).max)
    no_lift, one_segment = np.zeros((q.shape[1], 1), np.float32), np.array([0, np.iinfo(np.int64).max])
    query = aligned(q.shape[1], q.shape[2])
    query[:] = q[h]
    if piece == 0:
        _tokens(
            query, _of_head(first_keys, h), _of_head(first_values, h), 0, counts[0], brain, everything, no_lift,
            one_segment, m, total, plain, packed,
        )  # fmt: skip
    limit = np.empty(causal, np.int64)
    for r in range(causal):
        limit[r] = counts[2] - (causal - 1 - r)
    _tokens(
        query, _of_head(tail_keys, h), _of_head(tail_values, h), piece * counts[2] // pieces,
        (piece + 1) * counts[2] // pieces, brain, limit, no_lift, one_segment, m, total, plain, packed,
    )  # fmt: skip
    keys = _of_head(body_keys, h)
    if keys[4]:
        for r in range(query.shape[0]):
            for j in range(query.shape[1]):
                query[r, j] *= fold[h % fold.shape[0], j]
            rotate(query[r], mixer)
    _tokens(
        query, keys, _of_head(body_values, h), piece * counts[1] // pieces, (piece + 1) * counts[1] // pieces,
        brain, everything, lifted[h], starts, m, total, packed, plain,
    )  # fmt: skip


@inner
def _merge(part_m, part_total, part_plain, part_packed, sink, mixer, signs, out):
    """One head's pieces to its rows of the result."""
    pieces, rows, dim = part_plain.shape
    rotated = np.empty(dim, np.float32)
    for r in range(rows):
        top = sink[r]
        for piece in range(pieces):
            top = max(top, part_m[piece, r])
        total = _power(sink[r] - top) if sink[r] > LOWEST else np.float32(0)
        rotated[:] = np.float32(0)
        for piece in range(pieces):
            weight = _power(part_m[piece, r] - top)
            total += weight * part_total[piece, r]
            for j in range(dim):
                out[r, j] += weight * part_plain[piece, r, j]
                rotated[j] += weight * part_packed[piece, r, j]
        if signs.shape[0] == dim:
            unrotate(rotated, mixer)
            for j in range(dim):
                out[r, j] += rotated[j] * signs[j]
        for j in range(dim):
            out[r, j] /= total


@entry
def attend(
    q, fold, key_mixer, lifted, starts, first_keys, first_values, body_keys, body_values, tail_keys, tail_values,
    value_mixer, value_signs, counts, brain, causal, threads, sink, out,
):  # fmt: skip
    """softmax over all tokens, times the values, to out (BH, rows, value dim; zeroed).

    q (BH, rows, dim): scaled, the logarithm's base included; fold (BH or 1, dim): what it is multiplied by before its
    rotation for packed keys. lifted (BH, rows, segments): q . offset; starts: first body row of each segment, then the
    body's end. Keys and values of a stretch: (raw (BH, capacity, dim), words (BH, capacity, W), norms (BH, capacity),
    table, bits); with 0 bits raw is meant, and what isn't meant isn't read. counts: tokens of first, body and tail.
    value_mixer, value_signs: the rotation of packed values, else of another size. threads: that may run.
    causal: L where row r (of L rows a head) sees all but the newest L - 1 - r tokens, else 1. sink (BH, rows): a logit
    without a value, or LOWEST.
    """
    heads, rows, dim = out.shape
    # enough pieces for every core, and none shorter than a few blocks
    pieces = max(1, min((2 * threads + heads - 1) // heads, (counts[1] + counts[2]) // (4 * TOKENS)))
    m = np.full((heads, pieces, rows), LOWEST, np.float32)
    total = np.zeros((heads, pieces, rows), np.float32)
    plain = aligned(heads * pieces * rows, dim).reshape(heads, pieces, rows, dim)
    packed = aligned(heads * pieces * rows, dim).reshape(heads, pieces, rows, dim)
    for n in numba.prange(heads * pieces):
        h = n // pieces
        p = n % pieces
        _piece(
            h, p, pieces, q, fold, key_mixer, lifted, starts, first_keys, first_values, body_keys, body_values,
            tail_keys, tail_values, counts, brain, causal, m[h, p], total[h, p], plain[h, p], packed[h, p],
        )  # fmt: skip
    for h in range(heads):
        _merge(m[h], total[h], plain[h], packed[h], sink[h], value_mixer, value_signs, out[h])
