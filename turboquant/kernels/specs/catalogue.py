"""Every kernel text that the backend can ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from turboquant.kernels.specs.base import Kernel, Part, Target, supports_split
from turboquant.kernels.specs.decode import Attend
from turboquant.kernels.specs.rows import dequantise, encode, encode_pair, rotate


def catalogue(target: Target) -> Iterator[Kernel]:
    """Every kernel text that the backend can ask for, up to head counts: all dims, bits, types and switches.

    Switches that a text takes independently of each other vary in turn over the product of dims and bits, not in a
    product of their own.
    """
    dims, floats = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512), ("float16", "bfloat16", "float32")
    turn = 0
    for dim in dims:
        for value_bits in (2, 3, 4, 8):
            for key_bits in (0, 2, 3, 4, 8):
                dtype = floats[turn % 3]
                yield from _layer(dim, dim, key_bits, value_bits, dtype, turn, target)
                turn += 1
    for key_dim, value_dim in ((192, 128), (64, 128), (96, 64), (256, 512), (80, 120)):
        for key_bits, value_bits in ((4, 4), (0, 2), (8, 3)):
            for dtype in floats:
                yield from _layer(key_dim, value_dim, key_bits, value_bits, dtype, turn, target)
                turn += 1


def _layer(
    key_dim: int, value_dim: int, key_bits: int, value_bits: int, dtype: str, turn: int, target: Target
) -> Iterator[Kernel]:
    raw = "float16" if dtype == "float32" else dtype
    calibration = turn // 3 % 3 if key_bits else 0
    keys, values = Part(key_dim, key_bits, True, 1 + 7 * (turn % 2)), Part(value_dim, value_bits, False, 8)
    can_split = key_bits in (2, 3, 4) and supports_split(key_dim)
    for part in (keys, replace(keys, split=True, lower_trials=8)) if can_split else (keys,) if key_bits else ():
        yield encode(part, dtype, calibration)
        yield encode_pair(part, values, dtype, calibration)
        yield dequantise(part, dtype, raw, calibration)
        yield rotate(part, dtype, 2 if calibration > 1 else 0)
        yield rotate(part, "float16", 1 if calibration > 1 else 0, out="float32")
    yield encode(values, dtype)
    yield rotate(values, dtype, back=True)
    yield dequantise(values, dtype)
    yield dequantise(values, dtype, raw)
    for single, split in ((False, False), (True, False), (turn % 2 == 1, True)):
        if split and not can_split:
            continue
        spec = Attend(
            key_dim, value_dim, key_bits, value_bits,
            kv_heads=(1, 2, 8)[turn % 3], group=(1, 2, 3, 4, 5, 7, 8)[turn % 7], length=(1, 1, 2, 3, 8)[turn % 5],
            dtype=dtype, raw_dtype=raw, calibration=calibration,
            window=turn // 2 % 3, soft_cap=turn // 4 % 2 == 1, sinks=turn % 4 % 3, single=single, target=target,
            split=split, bias=turn // 3 % 5 == 1, store=turn // 5 % 2 == 0,
        )  # fmt: skip
        yield spec.kernel()
        if not (single or spec.joined):
            yield spec.merge()
