"""Kernels that take vectors one by one: encoding, and dequantising to rotated rows."""

from __future__ import annotations

from functools import cache

from turboquant.kernels.specs.base import Kernel, Launch, Part
from turboquant.rotation import factors

ENCODE_SIMDGROUPS = 4


@cache
def encode(part: Part, dtype: str, calibration: int = 0, calibration_dtype: str = "float16") -> Kernel:
    """Vectors of `dtype` to codes; `calibration` 0, 1 (an offset a head) or 2 (and a channel scale)."""
    calibrated, absent = _calibrated(part, "x", calibration, calibration_dtype)
    return Kernel(
        "encode",
        (*part.constants(), ("CAL", calibration), ("VPG", ENCODE_SIMDGROUPS)),
        ("x", "dims", "consts", *calibrated),
        (dtype, "int32", "float32", *calibrated.values()),
        ("words", "norms"),
        absent,
    )


def encode_launch(part: Part, rows: int) -> Launch:
    per_group = ENCODE_SIMDGROUPS * part.vectors
    return Launch(
        (32 * ENCODE_SIMDGROUPS * -(-rows // per_group), 1, 1),
        (32 * ENCODE_SIMDGROUPS, 1, 1),
        ((rows, part.words), (rows,)),
        ("uint32", part.norm_type),
    )


@cache
def encode_pair(
    keys: Part, values: Part, dtype: str, calibration: int = 0, calibration_dtype: str = "float16"
) -> Kernel:
    """Keys and values in one launch; `calibration` is the keys'."""
    calibrated, absent = _calibrated(keys, "k", calibration, calibration_dtype)
    return Kernel(
        "encode_pair",
        (*keys.constants("K"), ("CAL", calibration), *values.constants("V"), ("VPG", ENCODE_SIMDGROUPS)),
        ("k", "v", "dims", "kconsts", "vconsts", *calibrated),
        (dtype, dtype, "int32", "float32", "float32", *calibrated.values()),
        ("kwords", "knorms", "vwords", "vnorms"),
        absent,
    )


def encode_pair_launch(keys: Part, values: Part, rows: int) -> Launch:
    per_group = ENCODE_SIMDGROUPS * min(keys.vectors, values.vectors)
    return Launch(
        (32 * ENCODE_SIMDGROUPS * -(-rows // per_group), 1, 2),
        (32 * ENCODE_SIMDGROUPS, 1, 1),
        ((rows, keys.words), (rows,), (rows, values.words), (rows,)),
        ("uint32", keys.norm_type, "uint32", "float16"),
    )


def _calibrated(
    part: Part, stand_in: str, calibration: int, dtype: str
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Names and types of the inputs that belong to a head, and what the text names in place of those missing."""
    given = dict.fromkeys(("offset", "channel")[:calibration], dtype)
    if part.split:
        given["order"] = "uint16"
    return given, tuple((name, stand_in) for name in ("offset", "channel", "order") if name not in given)


ROW_SIMDGROUPS = 8
ROWS_OF_A_SIMDGROUP = 4


@cache
def dequantise(part: Part, dtype: str, raw_dtype: str | None = None, calibration: int = 0) -> Kernel:
    """Packed rows in rotated space as `dtype`; with `raw_dtype` also the raw first tokens and tail, rotated.

    `calibration` 1 adds the rotated offset of a row's segment, 2 also scales the channels of raw rows.
    """
    power, odd = factors(part.dim)
    inputs, types = ["words", "norms", "dims", "consts"], ["uint32", part.norm_type, "int32", "float32"]
    aliases = []
    for names, kind, stand_in, present in (
        (("first", "tail"), raw_dtype or "", "norms", raw_dtype is not None),
        (("lift",), "float32", "consts", calibration > 0),
        (("starts",), "int32", "dims", calibration > 0),
        (("channel",), "float16", "norms", calibration > 1),
        (("order",), "uint16", "norms", part.split and raw_dtype is not None),
    ):
        if present:
            inputs += names
            types += [kind] * len(names)
        else:
            aliases += [(name, stand_in) for name in names]
    constants: tuple[tuple[str, int | str], ...] = (
        ("OT", dtype),
        ("P", power),
        ("M", odd),
        ("BITS", part.bits),
        ("SPLIT", int(part.split)),
        ("RAW", int(raw_dtype is not None)),
        ("CAL", calibration),
        ("CLIP", int(dtype == "float16")),
        ("NSG", ROW_SIMDGROUPS),
        ("RPS", ROWS_OF_A_SIMDGROUP),
    )
    return Kernel("dequantise", constants, tuple(inputs), tuple(types), ("out",), tuple(aliases))


def dequantise_launch(part: Part, dtype: str, batch_heads: int, rows: int) -> Launch:
    groups = -(-rows // (ROW_SIMDGROUPS * ROWS_OF_A_SIMDGROUP))
    return Launch(
        (32 * ROW_SIMDGROUPS * groups, batch_heads, 1),
        (32 * ROW_SIMDGROUPS, 1, 1),
        ((batch_heads, rows, part.dim),),
        (dtype,),
    )


@cache
def rotate(part: Part, dtype: str, scaled: int = 0, back: bool = False, out: str = "") -> Kernel:
    """Rows of `dtype` into the space of packed ones, as `out` (the same), or `back`.

    `scaled`: 0, 1 (times the channel scale) or 2 (over it).
    """
    power, odd = factors(part.dim)
    inputs = {"x": dtype, "dims": "int32", "consts": "float32"}
    inputs |= {"channel": "float16"} if scaled else {}
    inputs |= {"order": "uint16"} if part.split else {}
    constants: tuple[tuple[str, int | str], ...] = (
        ("OT", out or dtype),
        ("P", power),
        ("M", odd),
        ("BITS", part.bits),
        ("SPLIT", int(part.split)),
        ("SCALE", scaled),
        ("BACK", int(back)),
        ("CLIP", int((out or dtype) == "float16")),
        ("NSG", ROW_SIMDGROUPS),
    )
    aliases = tuple((name, "x") for name in ("channel", "order") if name not in inputs)
    return Kernel("rotate", constants, tuple(inputs), tuple(inputs.values()), ("out",), aliases)


def rotate_launch(part: Part, dtype: str, rows: int) -> Launch:
    groups = -(-rows // ROW_SIMDGROUPS)
    return Launch((32 * ROW_SIMDGROUPS * groups, 1, 1), (32 * ROW_SIMDGROUPS, 1, 1), ((rows, part.dim),), (dtype,))
