"""Every kernel's results in the emulator, Metal and CUDA text, against float64 NumPy, on three schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.kernels import emulator
from tests.kernels.numpy_reference import Case
from tests.kernels.running import Attend, Dequantise, Encode, Rotate, check_pair, key_codec, label, value_codec
from turboquant.kernels import specs
from turboquant.kernels.specs import Target

TARGETS: tuple[Target, ...] = ("metal", "cuda")


def by_turns(cases: Sequence[Any]) -> pytest.MarkDecorator:
    """The `cases` one after the other on either target, on two schedules; if slow, on the other and on all three."""
    made = []
    for n, case in enumerate(cases):
        now, later = TARGETS[n % 2], TARGETS[(n + 1) % 2]
        made.append(pytest.param(case, now, emulator.SCHEDULES, id=f"{label(case)}-{now}"))
        three = (*emulator.SCHEDULES, emulator.RANDOM)
        made.append(pytest.param(case, later, three, marks=pytest.mark.slow, id=f"{label(case)}-{later}-random"))
    return pytest.mark.parametrize(("case", "target", "schedules"), made)


ENCODE = [
    Encode(),
    Encode(64, 2, "float32", trials=8),
    Encode(72, 3, "bfloat16", calibration=2, rows=7),
    Encode(80, 4, calibration=1, matched=False, trials=8),
    Encode(96, 8, calibration=2),
    Encode(112, 3, matched=False, trials=8),
    Encode(120, 2, rows=3, heads=3),
    Encode(192, 4, "float32"),
    Encode(256, 3, calibration=2, trials=8),
    Encode(512, 8, heads=1, rows=2),
    Encode(128, 4, heads=1, rows=1, matched=False),
    Encode(128, 4, calibration=2, split=True),
    Encode(80, 3, "bfloat16", calibration=1, split=True, heads=3, rows=3),
    Encode(72, 2, "float32", split=True, rows=7),
]
PAIRS = [
    (Encode(128, 4, calibration=2, trials=8), Encode(128, 4, matched=False, trials=8)),
    (Encode(96, 8, "bfloat16", calibration=1), Encode(128, 3, "bfloat16", matched=False)),
    (Encode(64, 3, calibration=2, split=True), Encode(128, 4, matched=False, trials=8)),
    (Encode(72, 2, "float32"), Encode(64, 3, "float32", matched=False, trials=8)),
]
DIMS = [
    Attend(64, key_bits=2, value_bits=2),
    Attend(72, key_bits=3, value_bits=4),
    Attend(80, key_bits=4, value_bits=2),
    Attend(96, key_bits=8, value_bits=8),
    Attend(112, key_bits=2, value_bits=3),
    Attend(120, key_bits=4, value_bits=8, group=2),
    Attend(128),
    Attend(128, key_bits=3, value_bits=3),
    Attend(192, key_bits=8, value_bits=4, group=2),
    Attend(256, key_bits=4, value_bits=4, body=40, capacity=64),
    Attend(512, key_bits=3, value_bits=2, group=1, body=20, capacity=32),
]
SHARED = [  # of which each comes more than once, here or below
    # calibration
    Attend(64, calibration=1, starts=(0, 30, 33, 70)),
    Attend(128, calibration=2, starts=(0, 8, 16, 17, 76), kv_heads=2),
    Attend(80, calibration=2, group=2, length=3, starts=(0, 40)),
    # a bias of the scores, rows out of sight
    Attend(64, bias=True, length=2, kv_heads=2, calibration=1),
    Attend(128, bias=True, split=True, dtype="float32", soft_cap=30.0),
    Attend(64, hidden=20, length=2),
    Attend(64, hidden=90, splits=3, kv_heads=2),
    # windows, soft cap, sinks, a growing maximum
    Attend(64, window=50),
    Attend(64, window=45, length=3, group=2),
    Attend(64, window=5, length=2),
    Attend(64, soft_cap=1.5),
    Attend(64, sinks=True),
    Attend(64, sinks=True, group=5, kv_heads=2, batch=2, length=2),
    Attend(64, sharp=True),
    # types
    Attend(64, dtype="bfloat16", raw_dtype="bfloat16", body=200, capacity=224),
    Attend(128, dtype="float32", calibration=2),
]
FEATURES = [
    # raw keys, keys and values of different dims
    Attend(128, key_bits=0),
    Attend(72, key_bits=0, value_bits=2, raw_dtype="bfloat16", dtype="bfloat16"),
    Attend(192, 128),
    Attend(64, 120, key_bits=3, value_bits=3, group=2),
    # groups, rows, batches
    Attend(64, group=1),
    Attend(64, group=7, kv_heads=2),
    Attend(64, group=3, length=5, kv_heads=2),
    Attend(64, group=8, length=8, body=30, capacity=32),
    Attend(64, batch=2, kv_heads=2, group=2, length=2),
    # split keys
    Attend(128, split=True, calibration=2, starts=(0, 30), kv_heads=2),
    Attend(64, split=True, key_bits=3, value_bits=3, calibration=2, group=8),
    Attend(80, split=True, key_bits=2, calibration=2, group=2, length=3),
    Attend(72, split=True, key_bits=3, calibration=1, group=2),
    Attend(256, 64, split=True, key_bits=4, value_bits=2, body=40, capacity=64),
    Attend(120, split=True, key_bits=2, single=True, group=2),
    # lengths
    Attend(64, body=1, capacity=32, tail=1, first=0),
    Attend(64, body=0, capacity=32),
    Attend(64, body=0, capacity=32, calibration=1, tail=3, first=0, single=True),
    Attend(64, body=96, capacity=96, splits=5),
    Attend(64, body=2, capacity=32, tail=103, splits=4),
    # a tail that lacks its newest rows
    Attend(64, store=True, kv_heads=2),
    Attend(128, store=True, group=5, length=2, batch=2, kv_heads=2, splits=3, dtype="bfloat16", raw_dtype="bfloat16"),
    Attend(72, 80, store=True, single=True, key_bits=3, kv_heads=2, group=2, length=3),
    Attend(64, store=True, key_bits=0, window=50, tail=1),
    # one dispatch
    Attend(64, single=True, kv_heads=2),
    Attend(80, single=True, key_bits=3, value_bits=2, calibration=2, starts=(0, 9, 60)),
    Attend(128, single=True, length=2, group=2, window=60, sinks=True),
    Attend(64, single=True, key_bits=0, sharp=True, soft_cap=30.0),
    Attend(512, single=True, group=1, body=20, capacity=32),
]
ATTEND = [*DIMS, *SHARED, *FEATURES]
DEQUANTISE = [
    Dequantise(),
    Dequantise(72, 3, "float32", calibration=2, starts=(0, 7, 8)),
    Dequantise(80, 8, "bfloat16", calibration=1, starts=(0, 20)),
    Dequantise(120, 2, raw=False),
    Dequantise(256, 3, first_row=11),
    Dequantise(64, 3, split=True, calibration=2, starts=(0, 9)),
    Dequantise(80, 4, "float32", split=True, calibration=1, starts=(0, 9)),
    Dequantise(128, 2, "bfloat16", split=True, raw=False),
    Dequantise(512, 4, "float32", raw=False, heads=(0, 3), batch=1),
]


ROTATE = [
    Rotate(),
    Rotate(72, "bfloat16", scaled=2),
    Rotate(80, "float16", scaled=1, out="float32", split=True),
    Rotate(120, "float32", back=True),
    Rotate(64, scaled=2, split=True),
]


@by_turns(ROTATE)
def test_rotate(case: Rotate, target: Target, schedules: Sequence[int]) -> None:
    case.check(target, schedules)


@by_turns(ENCODE)
def test_encode(case: Encode, target: Target, schedules: Sequence[int]) -> None:
    case.check(target, schedules)


@by_turns(PAIRS)
def test_encode_pair(case: tuple[Encode, Encode], target: Target, schedules: Sequence[int]) -> None:
    check_pair(*case, target, schedules)


@by_turns(ATTEND)
def test_attend(case: Attend, target: Target, schedules: Sequence[int]) -> None:
    case.check(target, schedules)


@by_turns(DEQUANTISE)
def test_dequantise(case: Dequantise, target: Target, schedules: Sequence[int]) -> None:
    case.check(target, schedules)


def test_the_emulated_shapes_are_those_of_the_specs() -> None:
    """Every head dim and width that the kernels promise is run here, keys and values alike."""
    dims = {64, 72, 80, 96, 112, 120, 128, 192, 256, 512}
    assert {case.key_dim for case in ATTEND} == dims
    assert {case.dim for case in ENCODE} == dims
    assert {case.key_bits for case in ATTEND} == {0, 2, 3, 4, 8}
    assert {case.value_bits for case in ATTEND} == {2, 3, 4, 8}
    assert all(specs.supports(dim) for dim in dims)
    assert not any(specs.supports(dim) for dim in (8, 24, 74, 100, 136, 1024))


def test_the_reference_itself_sees_what_lies_beyond_the_length_as_nan() -> None:
    """Otherwise the emulated cases could not find a kernel that reads too far."""
    case = Case(1, 1, 5, 8, 0, 1, key_codec(64, 4), value_codec(64, 4))
    assert (case.buffers["knorm"][:, 5:] != case.buffers["knorm"][:, 5:]).all()
