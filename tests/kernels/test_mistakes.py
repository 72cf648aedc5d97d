"""Mistakes that people make in such kernels, each put into a text: the emulator or the comparison must find it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tests.kernels.emulator import EmulatorError
from tests.kernels.running import Attend, Dequantise, Encode, Rotate
from turboquant.kernels.specs import Target

SIMD_BARRIER = "simdgroup_barrier(mem_flags::mem_threadgroup);\n"
LOOP_END = "}\nTQ_UNROLL for (int k = 0; k < SH; ++k) {\nTQ_UNROLL for (int m"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
SUMS = "threadgroup float* sums = sm;"


@dataclass(frozen=True)
class Mistake:
    case: Attend | Encode | Dequantise | Rotate
    old: str
    new: str
    found: str = ""  # in the emulator's message; empty: any finding, or a wrong result
    merge: bool = False  # in the second dispatch's text
    target: Target = "metal"
    schedules: Sequence[int] = (0, 1)


D64 = Attend(64, kv_heads=2)
STORE = Attend(64, kv_heads=2, group=2, store=True)
SPLIT = Attend(64, kv_heads=2, split=True, calibration=2)
LONG = Attend(64, body=300, capacity=320, splits=1)  # every simdgroup has several tiles
MISTAKES = {
    # barriers
    "queries read before all are rotated": Mistake(D64, BARRIER + "const tq_table ktab", "const tq_table ktab", "race"),
    "queries, offsets and tables read before all are there": Mistake(
        D64.with_(calibration=1, starts=(0, 9, 70)),
        BARRIER + "const bool plain",
        "const bool plain",
        "race",
        target="cuda",
    ),
    "weights read before all are written": Mistake(D64, SIMD_BARRIER + "float p[S];", "float p[S];", "race"),
    "weights overwritten before all are read": Mistake(
        LONG,
        SIMD_BARRIER + LOOP_END,
        LOOP_END,
        "race",
    ),
    "sums written over queries still in use": Mistake(
        D64, BARRIER + "if (GS * EV % TPS == 0) {", "if (GS * EV % TPS == 0) {", "race"
    ),
    "sums written over tables still in use": Mistake(
        D64, BARRIER + " float* sums", " float* sums", "race", target="cuda"
    ),
    "sums read before all are written": Mistake(D64, BARRIER + SUMS, SUMS, "race"),
    "codes packed before all are there": Mistake(Encode(64), SIMD_BARRIER + "if (live)", "if (live)", "race"),
    "table read before it is filled": Mistake(Encode(64), BARRIER + "const uint first", "const uint first", "race"),
    "barrier that some threads miss": Mistake(
        D64,
        "if (la == 0u) sm_l[slot] = total;\n" + BARRIER,
        "if (la == 0u) {\nsm_l[slot] = total;\n" + BARRIER + "}\n",
        "race|not reached",
        merge=True,
    ),
    "simd operation that some lanes miss": Mistake(
        Encode(64),
        "metal::precise::sqrt(tq_sum<PB>(square));",
        "metal::precise::sqrt(lane < 16u ? tq_sum<PB>(square) : 0.0f);",
        "lanes",
    ),
    # the splits' joining
    "parts passed on without a fence": Mistake(
        D64, "__threadfence();\n*last = atomicAdd", "*last = atomicAdd", "race", target="cuda"
    ),
    "parts passed on before all are written": Mistake(
        D64,
        "__syncthreads();\nif (tid == 0u) {\n__threadfence();",
        "if (tid == 0u) {\n__threadfence();",
        "race",
        target="cuda",
    ),
    "others' parts read without a fence": Mistake(
        D64, "ticket = 0u;\n__threadfence();", "ticket = 0u;\n", "race", target="cuda"
    ),
    "ticket left as it was counted": Mistake(
        D64, "if (*last != 0u) *(uint*)ticket = 0u;", "", "isn't left as it was", target="cuda"
    ),
    "one ticket for all rows": Mistake(
        D64, "tickets + threadgroup_position_in_grid.y", "tickets", "never written|race|schedule", target="cuda"
    ),
    # a tail that lacks its newest rows
    "newest rows looked for in the tail": Mistake(STORE, "t >= kept) return fresh", "t > kept) return fresh"),
    "newest rows not stored": Mistake(
        STORE, "row < kept + rows ? fresh : tail", "row < kept ? fresh : tail", target="cuda"
    ),
    "a share of the tail left out": Mistake(
        STORE, "NG * nsp * uint(32 * NSG));\ntq_store", "2u * NG * nsp * uint(32 * NSG));\ntq_store"
    ),
    # matrix units and split keys
    "rows of a tile in another order": Mistake(D64, "i % 2 + 8 * (i / 2)", "i % 2 + 4 * (i / 2)", target="cuda"),
    "even and odd coordinates swapped": Mistake(D64, "x[1] = b ^", "x[1] = a ^", target="cuda"),
    "lower half under the upper's norm": Mistake(SPLIT, "tq_lower_ratio(bits)", "1.0f", target="cuda"),
    "halves scored with each other's queries": Mistake(
        SPLIT, "(column / 4u) == slot % 2u", "(column / 4u) != slot % 2u", target="cuda"
    ),
    "ratio of another token": Mistake(SPLIT, "kr[SPLIT != 0 ? n : 0], c)", "kr[0], c)"),
    "channels left in their order": Mistake(SPLIT, "uint(order[c * uint(STEP) + half_of])", "c * uint(STEP) + half_of"),
    "lower codes over the upper's": Mistake(
        Encode(64, 3, split=True), "uint(scratch[at]) | (c[i * M + b] << uint(SHIFT))", "(c[i * M + b] << uint(SHIFT))"
    ),
    "norms in each other's byte": Mistake(
        Encode(64, 3, split=True),
        "(tq_norm_byte(upper) << 8u) | tq_norm_byte(lower)",
        "(tq_norm_byte(lower) << 8u) | tq_norm_byte(upper)",
    ),
    "query rotated with the channel scale": Mistake(
        Rotate(64, scaled=2), "tq_divide(x[i * M + b], float(channel[j]))", "x[i * M + b] * float(channel[j])"
    ),
    # strides, sizes, edges
    "length taken for the capacity": Mistake(D64, "ulong(kvh) * uint(dims[1])", "ulong(kvh) * uint(dims[0])"),
    "first tokens' capacity taken for the tail's": Mistake(D64, "tcap = uint(dims[5])", "tcap = uint(dims[3])"),
    "partial sums of four simdgroups alone": Mistake(
        LONG, "for (int n = 0; n < NSG; ++n) {", "for (int n = 0; n < 4; ++n) {"
    ),
    "row groups rounded down": Mistake(
        Attend(64, group=7), "constexpr uint NG = uint((ROWS + GS - 1) / GS);", "constexpr uint NG = uint(ROWS / GS);"
    ),
    "row of the next head written": Mistake(
        Attend(64, group=5),
        "const bool writes = lane < uint(VPB) && h0 + h < uint(ROWS);",
        "const bool writes = lane < uint(VPB);",
    ),
    "words of a row rounded down": Mistake(Attend(72, key_bits=3), "(DK * KBITS + 31) / 32", "DK * KBITS / 32"),
    "last word of the last row read past its end": Mistake(
        Attend(72, key_bits=3, body=96, capacity=96),
        "w[i] = A || i < W - 1 ? p[i] : p[last];",
        "w[i] = p[i + int(last) * 0];",
        "outside",
    ),
    "what lies beyond the length reaches the sum": Mistake(
        D64, "t1 ? p * vn[j] : 0.0f;", "t1 ? p * vn[j] : p * vn[j];"
    ),
    "parts one number apart": Mistake(
        D64, "const ulong at = base + s * uint(D);", "const ulong at = base + s * uint(D + 1);", merge=True
    ),
    "array written past its end": Mistake(
        D64, "sm_l[slot] = total;", "sm_l[slot + uint(NSG * SUB)] = total;", "index", merge=True
    ),
    "vectors of an unfilled group written": Mistake(Encode(64), "if (live) {", "if (rows > 0u) {", "race"),
    "norm of a vector never written": Mistake(
        Encode(64), "if (live && la == 0u) norms[row]", "if (live && la == 0u && row > 0u) norms[row]", "never"
    ),
    "one vector's offset for all heads": Mistake(
        Encode(64, calibration=1), "offset + head, channel + head, order, 0u", "offset, channel + head, order, 0u"
    ),
    # bits
    "spill shifted by the wrong amount": Mistake(
        Attend(120, key_bits=3, group=2), "(w[i + 1] << uint((32 - s) & 31))", "(w[i + 1] << uint(s))"
    ),
    "spill shifted the wrong way": Mistake(Encode(64, 3), "c >> uint(-shift)", "c << uint(-shift)"),
    "shift by a whole word": Mistake(
        Attend(72, key_bits=3), "((w[i + 1] << 1u) << (31u - shift))", "(w[i + 1] << (32u - shift))", "undefined shift"
    ),
    "negative shift": Mistake(
        Encode(64, 3),
        "word |= shift >= 0 ? c << uint(shift) : c >> uint(-shift);",
        "word |= c << shift;",
        "undefined shift",
    ),
    "search that skips a boundary": Mistake(
        Encode(64), "bounds[at + (1u << uint(b)) - 1u]", "bounds[at + (1u << uint(b))]"
    ),
    "spill of a tile forgotten": Mistake(
        Dequantise(64, 3), "(bit & 31u) + uint(4 * BITS) > 32u", "(bit & 31u) + uint(4 * BITS) > 36u"
    ),
    # what is seen
    "one row out of sight seen": Mistake(Attend(64, hidden=20), "at < low && at", "at < low - 1 && at"),
    "first tokens out of sight": Mistake(Attend(64, hidden=20), "at < low && at >= int(nf)", "at < low"),
    "bias of the first row for all": Mistake(Attend(64, bias=True), "uint(ROWS) + row) * body", "uint(ROWS)) * body"),
    "segment one row late": Mistake(
        Dequantise(64, calibration=1, starts=(0, 7)),
        "while (row - nf >= next)",
        "while (row - nf > next)",
    ),
    "window one token too wide": Mistake(Attend(64, window=20), "at < low + seen[k]", "at < low + seen[k] - 1"),
    "row that doesn't see itself": Mistake(Attend(64, length=3), "at > high + seen[k]", "at >= high + seen[k]"),
    "rows counted by head": Mistake(Attend(64, length=3, group=2), "+ uint(k)) % uint(L));", "+ uint(k)) / uint(L));"),
    "tail placed before the body": Mistake(Attend(64, length=2, window=30), "(t < nf ? t : t + body)", "t"),
    "segment one token late": Mistake(
        Attend(64, calibration=1, starts=(0, 30, 60)), "next = sm_start[seg + 1];", "next = sm_start[seg + 1] + 1;"
    ),
    "segments counted from the split's end": Mistake(
        Attend(64, calibration=1, starts=(0, 30, 60)), "starts[i] <= b0", "starts[i] <= b1"
    ),
    "head slice forgotten": Mistake(Dequantise(64), "uint(dims[8]) + y % uint(dims[9])", "y % uint(dims[9])"),
    # arithmetic
    "maximum never renewed": Mistake(LONG.with_(sharp=True), "grow = grow || x > ms[k] + 16.0f;", "grow = false;"),
    "sums not scaled to the new maximum": Mistake(
        LONG.with_(sharp=True), "acc[h * EV + e] *= f;", "acc[h * EV + e] *= 1.0f;"
    ),
    "sink left out": Mistake(
        Attend(64, sinks=True), "total = SINK != 0 ? tq_exp2(sink - top) : 0.0f;", "total = 0.0f;", merge=True
    ),
    "mixer not transposed on the way back": Mistake(
        Attend(80), "tq_mix<P, M, true>(x, mixer);", "tq_mix<P, M, false>(x, mixer);", merge=True
    ),
    "query multiplied by the channel scale": Mistake(
        Attend(64, calibration=2), "tq_divide(x[i * M + b], float(chan[j]))", "x[i * M + b] * float(chan[j])"
    ),
    "raw sums rotated with the others": Mistake(
        Attend(64, single=True), "if (FINAL != 0 && n >= NQ)", "if (FINAL != 0 && n > NQ)"
    ),
    "the other norm": Mistake(
        Encode(64, 2),
        "MATCHED != 0 ? metal::precise::sqrt(square[t]) : dot[t]",
        "MATCHED == 0 ? metal::precise::sqrt(square[t]) : dot[t]",
    ),
    "last trial kept instead of the best": Mistake(
        Encode(64, 3, trials=8), "if (t == 0 || cosine > best) {", "if (t == 0 || cosine > 0.0f) {"
    ),
    "infinite norm": Mistake(
        Encode(64, dtype="float32"),
        "metal::min(norm / metal::max(divisor, 1.0e-8f), 65504.0f)",
        "(norm * 1.0e3f / metal::max(divisor, 1.0e-8f))",
    ),
}


def test_there_are_enough() -> None:
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize(  # each third in every run
    "name", [pytest.param(name, marks=pytest.mark.slow if n % 3 else ()) for n, name in enumerate(MISTAKES)]
)
def test_found(name: str) -> None:
    mistake = MISTAKES[name]

    def edit(text: str) -> str:
        return text.replace(mistake.old, mistake.new)

    edits: dict[str, Callable[[str], str]] = {"edit_merge" if mistake.merge else "edit": edit}
    with pytest.raises(AssertionError) as raised:
        mistake.case.check(mistake.target, mistake.schedules, **edits)
    message = str(raised.value)
    assert "isn't in this text" not in message
    assert "compiler refused" not in message
    if mistake.found:
        assert isinstance(raised.value, EmulatorError), message
        assert re.search(mistake.found, message), message
