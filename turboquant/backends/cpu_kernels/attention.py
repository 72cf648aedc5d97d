"""Decode attention over raw and packed tokens where they lie.

Scores are logarithms to the base 2 (the caller scales the queries), so that a weight is a power of two. Raw coordinates
are the bit patterns of float16 or bfloat16.
"""

from __future__ import annotations

import numba
import numpy as np

from turboquant.backends.cpu_kernels.codec import rotate, split_norms, unrotate
from turboquant.backends.cpu_kernels.compiling import entry, inlined, inner
from turboquant.backends.cpu_kernels.lanes import as_float, half, unpack, unpack_split
from turboquant.backends.cpu_kernels.layout import LOWEST, TOKENS

_LOG2_E = np.float32(1.4426950408889634)
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
def _widen(row, brain, out):
    """One raw vector as float32."""
    if brain:
        for j in range(row.shape[0]):
            out[j] = as_float(np.uint32(row[j]) << np.uint32(16))
    else:
        for j in range(row.shape[0]):
            out[j] = half(row[j])


@inlined
def _capped(score, cap):
    """cap tanh(score / cap), of scores that are logarithms to the base 2 as the cap is."""
    p = _power(np.float32(-2) * _LOG2_E * abs(score) / cap)
    t = (np.float32(1) - p) / (np.float32(1) + p)
    return cap * t if score > 0 else -cap * t


@inlined
def _dots(q, keys, scales, scores, column):
    """scores[r, column + i] = scales[column + i] q[r] . keys[i] of four keys."""
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
        scores[r, column] = a * scales[column]
        scores[r, column + 1] = b * scales[column + 1]
        scores[r, column + 2] = c * scales[column + 2]
        scores[r, column + 3] = d * scales[column + 3]


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
def _add(weights, column, scales, values, sums):
    """sums[r] += weights[r, column + i] scales[column + i] values[i] of four values."""
    v0, v1, v2, v3 = values[0], values[1], values[2], values[3]
    for r in range(sums.shape[0]):
        a = weights[r, column] * scales[column]
        b = weights[r, column + 1] * scales[column + 1]
        c = weights[r, column + 2] * scales[column + 2]
        d = weights[r, column + 3] * scales[column + 3]
        for j in range(sums.shape[1]):
            sums[r, j] += a * v0[j] + b * v1[j] + c * v2[j] + d * v3[j]


@inlined
def _read_keys(stretch, brain, begin, stop, four, scales, column):
    """Vectors begin..stop of a stretch, at most four, to rows of `four`; what they are multiplied by to `scales`.

    Of split keys the upper half comes first, then the lower.
    """
    raw, words, norms, entries, bits, split = stretch
    for t in range(begin, min(begin + 4, stop)):
        if split:
            norm, ratio = split_norms(norms[t])
            unpack_split(words[t], bits, entries, ratio, four[t - begin])
            scales[column + t - begin] = norm
        elif bits:
            unpack(words[t], bits, entries, four[t - begin])
            scales[column + t - begin] = half(norms[t])
        else:
            _widen(raw[t], brain, four[t - begin])
            scales[column + t - begin] = np.float32(1)


@inlined
def _read_values(stretch, brain, begin, stop, four, scales, column):
    """As _read_keys; values are never split."""
    raw, words, norms, entries, bits, _ = stretch
    for t in range(begin, min(begin + 4, stop)):
        if bits:
            unpack(words[t], bits, entries, four[t - begin])
            scales[column + t - begin] = half(norms[t])
        else:
            _widen(raw[t], brain, four[t - begin])
            scales[column + t - begin] = np.float32(1)


@inner
def _tokens(
    q, stretch_keys, stretch_values, begin, end, brain, limits, cap, lifted, starts, bias, m, total, sums, others, keys,
    values, scores, scales,
):  # fmt: skip
    """Attend tokens begin..end of one stretch: (raw, words, norms, table, bits: 0 if raw, split) of keys and of values.

    Row r sees those before limits[r % len(limits)]; those from starts[g] to starts[g + 1] score lifted[r, g] more, and
    token t scores bias[r, t] more, where there are that many. keys, values: room for four; scores (rows, TOKENS) and
    scales (TOKENS): room for a block.
    """
    segment = 0
    for block in range(begin, end, TOKENS):
        stop = min(block + TOKENS, end)
        for four in range(block, stop, 4):
            _read_keys(stretch_keys, brain, four, stop, keys, scales, four - block)
            _dots(q, keys, scales, scores, four - block)
        if starts.shape[0]:
            for t in range(block, stop):
                while t >= starts[segment + 1]:
                    segment += 1
                for r in range(q.shape[0]):
                    scores[r, t - block] += lifted[r, segment]
        if bias.shape[1]:
            for r in range(q.shape[0]):
                for t in range(block, stop):
                    scores[r, t - block] += bias[r, t]
        if cap > 0:
            for r in range(q.shape[0]):
                for t in range(stop - block):
                    scores[r, t] = _capped(scores[r, t], cap)
        for r in range(q.shape[0]):
            for t in range(max(limits[r % limits.shape[0]], block), stop):
                scores[r, t - block] = LOWEST
        _weigh(scores, stop - block, m, total, sums, others)
        for four in range(block, stop, 4):
            _read_values(stretch_values, brain, four, stop, values, scales, four - block)
            _add(scores, four - block, scales, values, sums)


@inlined
def _of_head(stretch, h):
    raw, words, norms, entries, bits, split = stretch
    return raw[h % raw.shape[0]], words[h % words.shape[0]], norms[h % norms.shape[0]], entries, bits, split


@inner
def _piece(
    h, piece, pieces, q, order, fold, mixers, lifted, starts, bias, first_keys, first_values, body_keys, body_values,
    tail_keys, tail_values, brain, limits, hidden, cap, m, total, key_room, value_room, score_room,
):  # fmt: skip
    """One head's share number `piece` of its tokens; the body comes last, with queries that are rotated for it."""
    rows, dim = q.shape[1:]
    query, keys = key_room[:rows], key_room[rows:]
    plain, packed, values = value_room[:rows], value_room[rows : 2 * rows], value_room[2 * rows :]
    scores, scales = score_room[:rows], score_room[rows]
    for r in range(rows):
        for j in range(dim):
            query[r, j] = q[h, r, j]
    for stretch in range(3):  # one call of the large loop, so that it's compiled once
        sums, others, segments, extra = plain, packed, starts[:0], bias[h, :, :0]
        if stretch == 0:
            stretch_keys, stretch_values, tokens = _of_head(first_keys, h), _of_head(first_values, h), limits[0, -1]
        elif stretch == 1:
            stretch_keys, stretch_values, tokens = _of_head(tail_keys, h), _of_head(tail_values, h), limits[1, -1]
        else:
            stretch_keys, stretch_values, tokens = _of_head(body_keys, h), _of_head(body_values, h), limits[2, -1]
            sums, others, extra = packed, plain, bias[h]
            if stretch_keys[4]:
                segments = starts
                size = dim // mixers.shape[0]
                for r in range(rows):
                    for j in range(dim):
                        query[r, j] = q[h, r, order[h % order.shape[0], j]] * fold[h % fold.shape[0], j]
                    for p in range(mixers.shape[0]):
                        rotate(query[r, p * size : (p + 1) * size], mixers[p])
        low = hidden[stretch]
        seen = max(tokens - low, 0)
        _tokens(
            query, stretch_keys, stretch_values, low + piece * seen // pieces, low + (piece + 1) * seen // pieces,
            brain, limits[stretch], cap, lifted[h], segments, extra, m, total, sums, others, keys, values, scores,
            scales,
        )  # fmt: skip


@inner
def _merge(m, total, value_room, sink, mixer, signs, out):
    """One head's pieces to its rows of the result."""
    pieces, rows = m.shape
    dim = out.shape[1]
    for r in range(rows):
        top = sink[r]
        for piece in range(pieces):
            top = max(top, m[piece, r])
        whole = _power(sink[r] - top) if sink[r] > LOWEST else np.float32(0)
        rotated = value_room[0, rows + r]
        for piece in range(pieces):
            weight = _power(m[piece, r] - top)
            whole += weight * total[piece, r]
            plain, packed = value_room[piece, r], value_room[piece, rows + r]
            for j in range(dim):
                out[r, j] += weight * plain[j]
                rotated[j] = weight * packed[j] + (rotated[j] if piece else np.float32(0))
        if signs.shape[0] == dim:
            unrotate(rotated, mixer)
            for j in range(dim):
                out[r, j] += rotated[j] * signs[j]
        for j in range(dim):
            out[r, j] /= whole


@entry
def attend(
    q, order, fold, key_mixers, lifted, starts, bias, first_keys, first_values, body_keys, body_values, tail_keys,
    tail_values, value_mixer, value_signs, brain, limits, hidden, cap, sink, m, total, key_room, value_room, score_room,
    out,
):  # fmt: skip
    """softmax over all tokens, times the values, to out (BH, rows, value dim; zeroed).

    q (BH, rows, dim): scaled, the logarithm's base included. For packed keys slot j takes channel order[j] (BH or 1,
    dim) times fold[j] (BH or 1, dim), and each of the key_mixers (parts, m, m) rotates its part. lifted (BH, rows,
    segments): q . offset; starts: first body row of each segment, then the body's end; bias (BH, rows, body rows or 0):
    added to the body's scores. Keys and values of a stretch: (raw (BH, capacity, dim), words (BH, capacity, W), norms
    (BH, capacity), table, bits, split); with 0 bits raw is meant, and what isn't meant isn't read. value_mixer,
    value_signs: the rotation of packed values, else of another size. limits (3, L): how many tokens of first, tail and
    body row r % L sees (0 or less: none), the last row all; none sees the oldest hidden (3). cap: scores s become cap
    tanh(s / cap); 0: they don't. sink (BH, rows): a logit without a value, or LOWEST. Room for the P pieces that a
    head's tokens are cut into: m (BH, P, rows; LOWEST), total (BH, P, rows; zeroed), key_room (BH, P, rows + 4, dim;
    zeroed), value_room (BH, P, 2 rows + 4, value dim; zeroed), score_room (BH, P, rows + 1, TOKENS).
    """
    heads, pieces, _ = m.shape
    for n in numba.prange(heads * pieces):
        h = n // pieces
        p = n % pieces
        _piece(
            h, p, pieces, q, order, fold, key_mixers, lifted, starts, bias, first_keys, first_values, body_keys,
            body_values, tail_keys, tail_values, brain, limits, hidden, cap, m[h, p], total[h, p], key_room[h, p],
            value_room[h, p], score_room[h, p],
        )  # fmt: skip
    for h in range(heads):
        _merge(m[h], total[h], value_room[h], sink[h], value_mixer, value_signs, out[h])
