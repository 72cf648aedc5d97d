"""Vectors to packed codes and back."""

from __future__ import annotations

import numba
import numpy as np

from turboquant.backends.cpu_kernels.compiling import entry, inlined, inner
from turboquant.backends.cpu_kernels.lanes import half, nearest_sixteens, unpack, unpack_split

ROWS = 16  # vectors that a core encodes with one set of scratch arrays


# Norms of split keys, 32 steps an octave: norm byte b stands for STEPS[b + ONE - 128] (turboquant/split.py)
ONE = 256
STEPS = np.exp2((np.arange(2 * ONE) - ONE) / 32).astype(np.float32)


@inlined
def split_norms(norms):
    """(the upper half's norm, the lower half's over it) of one stored uint16."""
    high = np.int64(norms >> np.uint16(8))
    low = np.int64(norms & np.uint16(255))
    return STEPS[high + ONE - 128] if high else np.float32(0), STEPS[low - high + ONE]


@inner
def rotate(x, mixer):
    """In place: R of one vector, the signs already applied; mixer (m, m)."""
    m = mixer.shape[0]
    if m > 1:
        part = np.empty(m, np.float32)
        for start in range(0, x.shape[0], m):
            for i in range(m):
                total = np.float32(0)
                for j in range(m):
                    total += mixer[i, j] * x[start + j]
                part[i] = total
            for i in range(m):
                x[start + i] = part[i]
    _walsh(x, m)


@inner
def unrotate(x, mixer):
    """In place: R transposed of one vector, but for the signs."""
    m = mixer.shape[0]
    _walsh(x, m)
    if m > 1:
        part = np.empty(m, np.float32)
        for start in range(0, x.shape[0], m):
            part[:] = np.float32(0)
            for j in range(m):
                for i in range(m):
                    part[i] += mixer[j, i] * x[start + j]
            for i in range(m):
                x[start + i] = part[i]


@inner
def _walsh(x, m):
    dim = x.shape[0]
    width = m
    while width < dim:
        for start in range(0, dim, 2 * width):
            for i in range(start, start + width):
                a = x[i]
                b = x[i + width]
                x[i] = a + b
                x[i + width] = a - b
        width *= 2
    scale = np.float32(np.sqrt(m / dim))
    for i in range(dim):
        x[i] *= scale


@inlined
def _nearest(y, trial, boundaries, centroids, codes, chosen):
    """codes[j] = number of boundaries below trial * y[j], chosen[j] = centroids[codes[j]]; y in whole sixteens."""
    if centroids.shape[0] == 16 or centroids.shape[0] == 32:
        nearest_sixteens(y, trial, boundaries, centroids, codes, chosen)
        return
    for j in range(y.shape[0]):
        value = trial * y[j]
        code = np.uint32(0)
        step = np.uint32(centroids.shape[0] // 2)
        while step > 0:
            code += step * np.uint32(value > boundaries[code + step - np.uint32(1)])  # a branch would be a coin toss
            step >>= np.uint32(1)
        codes[j] = code
        chosen[j] = centroids[code]


@inlined
def _pack(codes, bits, dim, octets):
    """The first `dim` codes to octets, LSB first; eight codes fill `bits` octets."""
    for block in range(dim // 8):
        together = np.uint64(0)
        for e in range(8):
            together |= np.uint64(codes[8 * block + e]) << np.uint64(bits * e)
        for i in range(bits):
            octets[bits * block + i] = np.uint8((together >> np.uint64(8 * i)) & np.uint64(255))
    for j in range(dim // 8 * 8, dim):
        code = np.uint64(codes[j]) << np.uint64(j * bits % 8)
        at = j * bits // 8
        octets[at] |= np.uint8(code & np.uint64(255))
        if code > np.uint64(255):
            octets[at + 1] |= np.uint8(code >> np.uint64(8))


@entry
def encode(
    x, order, shift, fold, mixers, centroids, boundaries, widths, trials, counts, matched, octets, norms
):  # fmt: skip
    """x (BH, n, dim) to octets (BH, n, 4 W; zeroed) and norms (BH, n, parts): see Codec.encode, SplitCodec.encode.

    A vector has one part, or two halves that are rotated and coded apart. Slot j takes channel order[j] (BH, dim), less
    shift[j], times fold[j]. Of each part p: mixers[p], centroids[p], boundaries[p], widths[p] in bits, and the first
    counts[p] of the trials are tried.
    """
    heads, rows, dim = x.shape
    chunks = (rows + ROWS - 1) // ROWS
    parts = mixers.shape[0]
    size = dim // parts
    for n in numba.prange(heads * chunks):
        h = n // chunks
        padded = np.zeros((size + 15) // 16 * 16, np.float32)
        y = padded[:size]
        codes = np.empty((parts, padded.shape[0]), np.uint32)
        chosen = np.empty(padded.shape[0], np.float32)
        for t in range(n % chunks * ROWS, min(n % chunks * ROWS + ROWS, rows)):
            for p in range(parts):
                length2 = np.float64(0)
                for j in range(size):
                    slot = p * size + j
                    v = (x[h, t, order[h, slot]] - shift[h, slot]) * fold[h, slot]
                    y[j] = v
                    length2 += np.float64(v) * np.float64(v)
                norm = np.float32(np.sqrt(length2))
                inverse = np.float32(1) / max(norm, np.float32(1e-8))
                for j in range(size):
                    y[j] *= inverse
                rotate(y, mixers[p])
                best = np.float32(-2)
                best_trial = np.float32(1)
                divisor = np.float32(0)
                for trial in trials[: counts[p]]:
                    _nearest(padded, trial, boundaries[p], centroids[p], codes[p], chosen)
                    dot = np.float32(0)
                    square = np.float32(0)
                    for j in range(size):
                        dot += chosen[j] * y[j]
                        square += chosen[j] * chosen[j]
                    cosine = dot / np.sqrt(max(square, np.float32(1e-8)))
                    if cosine > best:
                        best = cosine
                        best_trial = trial
                        divisor = np.sqrt(square) if matched else dot
                if best_trial != trials[counts[p] - 1]:
                    _nearest(padded, best_trial, boundaries[p], centroids[p], codes[p], chosen)
                norms[h, t, p] = min(norm / max(divisor, np.float32(1e-8)), np.float32(65504))
            bits = widths[0]
            if parts == 2:
                bits += widths[1]
                for j in range(size):
                    codes[0, j] |= codes[1, j] << np.uint32(widths[0])
            _pack(codes[0], bits, size, octets[h, t])


@entry
def dequantise(words, norms, entries, bits, split, out):
    """out (n, dim) = norms (n,) * entries[codes of words (n, W)]; norms as they are stored.

    entries as `unpack` takes them, or `unpack_split`: then the two halves are paired.
    """
    dim = out.shape[1]
    for n in numba.prange((out.shape[0] + ROWS - 1) // ROWS):
        halves = np.empty(dim, np.float32)
        for t in range(n * ROWS, min(n * ROWS + ROWS, out.shape[0])):
            if split:
                norm, ratio = split_norms(norms[t])
                unpack_split(words[t], bits, entries, ratio, halves)
                for j in range(dim // 2):
                    out[t, 2 * j] = norm * halves[j]
                    out[t, 2 * j + 1] = norm * halves[dim // 2 + j]
            else:
                norm = half(norms[t])
                unpack(words[t], bits, entries, out[t])
                for j in range(dim):
                    out[t, j] *= norm
