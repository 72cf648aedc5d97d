"""The blocks that a GGUF file's tensors are made of: their values, and their codes as MLX keeps them.

Layouts: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. NumPy alone, because the importer may run in
any thread and one thread owns MLX.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 32  # weights that share a scale in MLX's form of a quantised tensor
_CHUNK = 1 << 15  # blocks unpacked together, so that a large tensor takes little memory beside its own

Bytes = NDArray[np.uint8]
Halves = NDArray[np.float16]


@dataclass(frozen=True)
class BlockType:
    """How `weights` values lie in `size` bytes. `bits`: the width of a code where MLX can keep them packed, else 0."""

    name: str
    weights: int
    size: int
    bits: int = 0


TYPES = {
    0: BlockType("F32", 1, 4),
    1: BlockType("F16", 1, 2),
    2: BlockType("Q4_0", 32, 18, 4),
    3: BlockType("Q4_1", 32, 20, 4),
    6: BlockType("Q5_0", 32, 22, 5),
    7: BlockType("Q5_1", 32, 24, 5),
    8: BlockType("Q8_0", 32, 34, 8),
    10: BlockType("Q2_K", 256, 84),
    11: BlockType("Q3_K", 256, 110),
    12: BlockType("Q4_K", 256, 144, 4),
    13: BlockType("Q5_K", 256, 176, 5),
    14: BlockType("Q6_K", 256, 210),
    16: BlockType("IQ2_XXS", 256, 66),
    17: BlockType("IQ2_XS", 256, 74),
    18: BlockType("IQ3_XXS", 256, 98),
    19: BlockType("IQ1_S", 256, 50),
    20: BlockType("IQ4_NL", 32, 18),
    21: BlockType("IQ3_S", 256, 110),
    22: BlockType("IQ2_S", 256, 82),
    23: BlockType("IQ4_XS", 256, 136),
    29: BlockType("IQ1_M", 256, 56),
    30: BlockType("BF16", 1, 2),
}
OTHER_TYPES = {9: "Q8_1", 15: "Q8_K", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4"}
"""Known by name only, so that a refusal can say which it is."""


def floats(type_id: int, rows: Bytes) -> NDArray[np.float32]:
    """The values of `rows` (rows, bytes), dequantised: (rows, weights)."""
    name = TYPES[type_id].name
    if name == "BF16":
        return (rows.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if name in ("F32", "F16"):
        return rows.view(np.float32 if name == "F32" else np.float16).astype(np.float32, copy=False)
    from gguf import GGMLQuantizationType, dequantize  # takes a moment: not before it is needed

    return dequantize(rows, GGMLQuantizationType(type_id))


def packed(type_id: int, rows: Bytes) -> tuple[NDArray[np.uint32], Halves, Halves]:
    """MLX's affine form with groups of 32, weight = code · scale + bias: words, scales and biases of each row.

    Codes stay as they are. Types of 256 weights a block multiply two numbers for a group's scale: it is rounded to
    float16, which moves a weight by less than a hundredth of its step.
    """
    kind = TYPES[type_id]
    blocks = rows.reshape(-1, kind.size)
    parts = [_affine(kind.name, blocks[start : start + _CHUNK]) for start in range(0, len(blocks), _CHUNK)]
    words = np.concatenate([_words(codes, kind.bits) for codes, _, _ in parts])
    scales, biases = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return words.reshape(len(rows), -1), scales.reshape(len(rows), -1), biases.reshape(len(rows), -1)


def _words(codes: Bytes, bits: int) -> NDArray[np.uint32]:
    """Codes (groups, 32) as one string of bits, the low ones first: (groups, bits)."""
    if bits == 4:
        dense = codes[:, 0::2] | codes[:, 1::2] << np.uint8(4)
    elif bits == 8:
        dense = codes
    else:
        each = np.unpackbits(codes[:, :, None], axis=2, count=bits, bitorder="little")
        dense = np.packbits(each.reshape(len(codes), BLOCK * bits), axis=1, bitorder="little")
    return np.ascontiguousarray(dense).view("<u4")


def _affine(name: str, blocks: Bytes) -> tuple[Bytes, Halves, Halves]:
    """(groups, 32) codes, (groups,) scales and biases of the blocks."""
    scales = _half(blocks, 0)
    match name:
        case "Q8_0":
            return blocks[:, 2:] ^ np.uint8(0x80), scales, scales * np.float16(-128)
        case "Q4_0":
            return _nibbles(blocks[:, 2:]), scales, scales * np.float16(-8)
        case "Q4_1":
            return _nibbles(blocks[:, 4:]), scales, _half(blocks, 2)
        case "Q5_0":
            return _nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6]), scales, scales * np.float16(-16)
        case "Q5_1":
            return _nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8]), scales, _half(blocks, 2)
    # Q4_K, Q5_K: eight groups with six bits each for scale and offset; nibbles of 32 bytes serve two groups in turn.
    steps, offsets = _six_bits(blocks[:, 4:16])
    codes = np.stack([_nibbles(part) for part in np.split(blocks[:, -128:], 4, axis=1)], axis=1).reshape(-1, 8, BLOCK)
    if name == "Q5_K":
        high = blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
        codes |= high << np.uint8(4)
    exact = (
        _half(blocks, 0).astype(np.float32)[:, None] * steps,
        -_half(blocks, 2).astype(np.float32)[:, None] * offsets,
    )
    return codes.reshape(-1, BLOCK), exact[0].astype(np.float16).ravel(), exact[1].astype(np.float16).ravel()


def _half(blocks: Bytes, at: int) -> Halves:
    return blocks[:, at : at + 2].copy().view(np.float16)[:, 0]


def _nibbles(codes: Bytes) -> Bytes:
    """The low halves of the bytes, then the high ones."""
    return np.concatenate([codes & 0x0F, codes >> 4], axis=1)


def _fifth_bits(bits: Bytes) -> Bytes:
    """(groups, 4) bytes, a bit a code: (groups, 32) of 0 or 16."""
    return np.unpackbits(bits, axis=1, bitorder="little") << np.uint8(4)


def _six_bits(packed: Bytes) -> tuple[Bytes, Bytes]:
    """(blocks, 12) bytes: eight steps and eight offsets of six bits; the last four take two of them from the first."""
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    steps = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    return steps, np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
