"""Vectors to packed codes and back."""

from __future__ import annotations

import numba
import numpy as np

from turboquant.backends.cpu_kernels.compiling import entry, inlined, inner
from turboquant.backends.cpu_kernels.lanes import nearest_sixteens, unpack

ROWS = 16  # vectors that a core encodes with one set of scratch arrays


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
    if centroids.shape[0] == 16:
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
def encode(x, shift, fold, mixer, centroids, boundaries, bits, trials, matched, octets, norms):
    """x (BH, n, dim) to octets (BH, n, 4 W; zeroed) and norms (BH, n); shift and fold (BH, dim): see Codec.encode."""
    heads, rows, dim = x.shape
    chunks = (rows + ROWS - 1) // ROWS
    for n in numba.prange(heads * chunks):
        h = n // chunks
        padded = np.zeros((dim + 15) // 16 * 16, np.float32)
        y = padded[:dim]
        codes = np.empty(padded.shape[0], np.uint32)
        chosen = np.empty(padded.shape[0], np.float32)
        for t in range(n % chunks * ROWS, min(n % chunks * ROWS + ROWS, rows)):
            length2 = np.float64(0)
            for j in range(dim):
                v = (x[h, t, j] - shift[h, j]) * fold[h, j]
                y[j] = v
                length2 += np.float64(v) * np.float64(v)
            norm = np.float32(np.sqrt(length2))
            inverse = np.float32(1) / max(norm, np.float32(1e-8))
            for j in range(dim):
                y[j] *= inverse
            rotate(y, mixer)
            best = np.float32(-2)
            best_trial = np.float32(1)
            divisor = np.float32(0)
            for trial in trials:
                _nearest(padded, trial, boundaries, centroids, codes, chosen)
                dot = np.float32(0)
                square = np.float32(0)
                for j in range(dim):
                    dot += chosen[j] * y[j]
                    square += chosen[j] * chosen[j]
                cosine = dot / np.sqrt(max(square, np.float32(1e-8)))
                if cosine > best:
                    best = cosine
                    best_trial = trial
                    divisor = np.sqrt(square) if matched else dot
            if best_trial != trials[trials.shape[0] - 1]:
                _nearest(padded, best_trial, boundaries, centroids, codes, chosen)
            norms[h, t] = min(norm / max(divisor, np.float32(1e-8)), np.float32(65504))
            _pack(codes, bits, dim, octets[h, t])


@entry
def dequantise(words, norms, entries, bits, out):
    """out (n, dim) = norms (n,) * entries[codes of words (n, W)]."""
    for n in numba.prange(out.shape[0]):
        unpack(words[n], bits, entries, out[n])
        norm = norms[n]
        for j in range(out.shape[1]):
            out[n, j] *= norm
