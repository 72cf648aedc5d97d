"""Table look-ups of sixteen coordinates at once, within registers: codes to centroids, coordinates to codes.

numba alone looks codes up one by one, which took two thirds of a decode step. LLVM has no portable operation for it, so
that the look-up itself depends on the machine: AVX-512 permutes sixteen numbers at once, AVX2 eight; others load them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from turboquant.backends.cpu_kernels.compiling import inlined

_FLOAT, _INT, _LONG, _OCTET = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.IntType(8)
_FLOATS, _INTS = ir.VectorType(_FLOAT, 16), ir.VectorType(_INT, 16)
_LOW, _HIGH = range(8), range(8, 16)
HALF_SCALE = np.float32(2.0**112)  # a float16's bits, moved 13 up, are the number times 2^-112


def _constant(*lanes: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INT, len(lanes)), list(lanes))


def _spread(builder: Any, value: Any) -> Any:
    """`value` in all sixteen lanes."""
    one = ir.VectorType(value.type, 1)
    single = builder.insert_element(ir.Constant(one, ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(single, ir.Constant(one, ir.Undefined), _constant(*[0] * 16))


def _look_up(context: Any, builder: Any, entries: Any, index: Any) -> Any:
    """In each of sixteen lanes entries[index & 15], of two tables, one behind the other, entries[index & 31]."""
    features = context.codegen().magic_tuple()[2].split(",")

    def call(name: str, lanes: int, *arguments: Any) -> Any:
        floats = ir.VectorType(_FLOAT, lanes)
        kind = ir.FunctionType(floats, [argument.type for argument in arguments])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

    if isinstance(entries, tuple):
        if "+avx512f" in features:
            return call("llvm.x86.avx512.vpermi2var.ps.512", 16, entries[0], index, entries[1])
        low, high = (_look_up(context, builder, part, index) for part in entries)
        in_high = builder.icmp_unsigned("!=", builder.and_(index, _constant(*[16] * 16)), _constant(*[0] * 16))
        return builder.select(in_high, high, low)
    if "+avx512f" in features:
        return call("llvm.x86.avx512.permvar.sf.512", 16, entries, index)
    if "+avx2" in features:
        nothing = ir.Constant(_FLOATS, ir.Undefined)
        low, high = (builder.shuffle_vector(entries, nothing, _constant(*half)) for half in (_LOW, _HIGH))
        in_high = builder.icmp_unsigned("!=", builder.and_(index, _constant(*[8] * 16)), _constant(*[0] * 16))
        both = []
        for part in (low, high):
            halves = [builder.shuffle_vector(index, index, _constant(*half)) for half in (_LOW, _HIGH)]
            found = [call("llvm.x86.avx2.permps", 8, part, half) for half in halves]
            both.append(builder.shuffle_vector(*found, _constant(*range(16))))
        return builder.select(in_high, both[1], both[0])
    memory = builder.bitcast(cgutils.alloca_once_value(builder, entries), _FLOAT.as_pointer())
    index = builder.and_(index, _constant(*[15] * 16))
    result = ir.Constant(_FLOATS, ir.Undefined)
    for lane in range(16):
        place = builder.gep(memory, [builder.extract_element(index, _INT(lane))])
        result = builder.insert_element(result, builder.load(place), _INT(lane))
    return result


def _pointer(context: Any, builder: Any, kind: Any, array: Any, to: Any) -> Any:
    return builder.bitcast(context.make_array(kind)(context, builder, array).data, to.as_pointer())


def _sixteen_at(builder: Any, base: Any, start: Any, kind: Any = _FLOATS) -> Any:
    """Where the sixteen numbers begin that stand at `start`."""
    return builder.bitcast(builder.gep(base, [start]), kind.as_pointer())


def _codes(builder: Any, source: Any, start: Any, width: Any, groups: int) -> Any:
    """Codes start to start + 15 of `width` bits in the low bits of sixteen lanes; start * width / 8 is whole.

    They are read in groups that 32 bits hold and that fill whole bytes: the last one backward from where it ends, so
    that nothing is read beyond the last word.
    """
    each = 16 // groups
    first = builder.gep(source, [builder.lshr(builder.mul(start, width), _LONG(3))])
    words = ir.Constant(ir.VectorType(_INT, groups), ir.Undefined)
    for group in range(groups):
        offset = builder.lshr(builder.mul(width, _LONG(group * each)), _LONG(3))
        if group == groups - 1:
            offset = builder.sub(builder.shl(width, _LONG(1)), _LONG(4))
        word = builder.load(builder.bitcast(builder.gep(first, [offset]), _INT.as_pointer()), align=1)
        words = builder.insert_element(words, word, _INT(group))
    width = builder.trunc(width, _INT)
    shifts = builder.mul(_constant(*[*range(each)] * groups), _spread(builder, width))
    backward = builder.sub(_INT(32), builder.mul(width, _INT(each)))
    in_last = _constant(*[0] * (16 - each), *[-1] * each)
    shifts = builder.add(shifts, builder.and_(_spread(builder, backward), in_last))
    return builder.lshr(builder.shuffle_vector(words, words, _constant(*[lane // each for lane in range(16)])), shifts)


@contextmanager
def _sixteens(builder: Any, count: Any) -> Iterator[Any]:
    """Starts of sixteens that cover 0 to count; the last may overlap the one before."""
    last = builder.sub(count, _LONG(16))
    with cgutils.for_range(builder, builder.lshr(builder.add(count, _LONG(15)), _LONG(4)), intp=_LONG) as loop:
        start = builder.shl(loop.index, _LONG(4))
        yield builder.select(builder.icmp_signed("<", start, last), start, last)


@intrinsic
def _unpack_sixteens(_: Any, words: Any, bits: Any, entries: Any, out: Any, dim: Any) -> Any:
    """out[j] = entries[code j], dim a multiple of 8 and at least 16, 2 to 4 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], arguments[0], _OCTET)
        entries = builder.load(_pointer(context, builder, signature.args[2], arguments[2], _FLOATS), align=4)
        target = _pointer(context, builder, signature.args[3], arguments[3], _FLOAT)
        with _sixteens(builder, arguments[4]) as start:
            index = _codes(builder, source, start, arguments[1], groups=2)
            builder.store(_look_up(context, builder, entries, index), _sixteen_at(builder, target, start), align=4)
        return context.get_dummy_value()

    return types.void(words, types.int64, entries, out, types.int64), generate


@intrinsic
def _unpack_pairs(_: Any, words: Any, bits: Any, entries: Any, ratio: Any, out: Any, half: Any) -> Any:
    """out[j] = entries[upper code of pair j], out[half + j] = ratio * entries[32 + its lower code].

    half a multiple of 4 and at least 16; pairs of bits + 1 and bits - 1 bits, 2 to 4 in the mean.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], arguments[0], _OCTET)
        tables = _pointer(context, builder, signature.args[2], arguments[2], _FLOAT)
        first, second, lower = (
            builder.load(_sixteen_at(builder, tables, _LONG(16 * part)), align=4) for part in range(3)
        )
        lower = builder.fmul(lower, _spread(builder, arguments[3]))
        uppers = _pointer(context, builder, signature.args[4], arguments[4], _FLOAT)
        half = arguments[5]
        lowers = builder.gep(uppers, [half])
        width = builder.shl(arguments[1], _LONG(1))
        shift = _spread(builder, builder.trunc(builder.add(arguments[1], _LONG(1)), _INT))
        with builder.if_else(builder.icmp_signed("==", arguments[1], _LONG(4))) as branches:
            for branch, upper in zip(branches, ((first, second), first), strict=True):
                with branch, _sixteens(builder, half) as start:
                    pairs = _codes(builder, source, start, width, groups=4)
                    found = _look_up(context, builder, upper, pairs)
                    builder.store(found, _sixteen_at(builder, uppers, start), align=4)
                    found = _look_up(context, builder, lower, builder.lshr(pairs, shift))
                    builder.store(found, _sixteen_at(builder, lowers, start), align=4)
        return context.get_dummy_value()

    return types.void(words, types.int64, entries, types.float32, out, types.int64), generate


@intrinsic
def nearest_sixteens(_: Any, y: Any, trial: Any, boundaries: Any, centroids: Any, codes: Any, out: Any) -> Any:
    """codes[j] = number of boundaries below trial * y[j], out[j] = centroids[codes[j]]; whole sixteens of y.

    16 entries a table, or 32, of which the last boundary doesn't count.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], arguments[0], _FLOAT)
        edges, centroids = (_pointer(context, builder, signature.args[i], arguments[i], _FLOAT) for i in (2, 3))
        code_target = _pointer(context, builder, signature.args[4], arguments[4], _INT)
        target = _pointer(context, builder, signature.args[5], arguments[5], _FLOAT)
        trial = _spread(builder, arguments[1])

        def length(place: int) -> Any:
            array = context.make_array(signature.args[place])(context, builder, arguments[place])
            return cgutils.unpack_tuple(builder, array.shape, 1)[0]

        def table(base: Any, parts: int) -> Any:
            found = tuple(builder.load(_sixteen_at(builder, base, _LONG(16 * p)), align=4) for p in range(parts))
            return found if parts > 1 else found[0]

        with builder.if_else(builder.icmp_signed("==", length(3), _LONG(16))) as branches:
            for branch, parts in zip(branches, (1, 2), strict=True):
                with branch:
                    bounds, values = table(edges, parts), table(centroids, parts)
                    with _sixteens(builder, length(0)) as start:
                        scaled = builder.fmul(builder.load(_sixteen_at(builder, source, start), align=4), trial)
                        code = _constant(*[0] * 16)
                        for step in (16, 8, 4, 2, 1)[2 - parts :]:
                            place = builder.add(code, _constant(*[step - 1] * 16))
                            above = builder.fcmp_ordered(">", scaled, _look_up(context, builder, bounds, place))
                            code = builder.select(above, builder.add(code, _constant(*[step] * 16)), code)
                        builder.store(code, _sixteen_at(builder, code_target, start, _INTS), align=4)
                        found = _look_up(context, builder, values, code)
                        builder.store(found, _sixteen_at(builder, target, start), align=4)
        return context.get_dummy_value()

    return types.void(y, types.float32, boundaries, centroids, codes, out), generate


@intrinsic
def as_float(_: Any, pattern: Any) -> Any:
    """The float32 of a 32-bit pattern."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _FLOAT)

    return types.float32(types.uint32), generate


@inlined
def half(pattern):
    """The float32 of a float16."""
    bits = np.uint32(pattern)
    sign = (bits & np.uint32(0x8000)) << np.uint32(16)
    return as_float(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13))) * HALF_SCALE


@inlined
def unpack(words, bits, entries, out):
    """out[j] = entries[code j] for one vector's words."""
    dim = out.shape[0]
    if bits <= 4 and dim % 8 == 0 and dim >= 16:
        _unpack_sixteens(words, bits, entries, out, dim)
    elif bits == 8 and dim % 4 == 0:
        for w in range(dim // 4):
            x = words[w]
            for e in range(4):
                out[w * 4 + e] = entries[(x >> np.uint32(8 * e)) & np.uint32(255)]
    else:
        mask = np.uint64((1 << bits) - 1)
        for j in range(dim):
            start = j * bits
            w = start >> 5
            s = start & 31
            x64 = np.uint64(words[w])
            if s + bits > 32:
                x64 |= np.uint64(words[w + 1]) << np.uint64(32)
            out[j] = entries[(x64 >> np.uint64(s)) & mask]


@inlined
def unpack_split(words, bits, entries, ratio, out):
    """The upper half's centroids to out's first half, `ratio` times the lower half's to its second.

    entries: 32 of the upper half's, 16 of the lower half's, `table`s both.
    """
    half = out.shape[0] // 2
    if half % 4 == 0 and half >= 16:
        _unpack_pairs(words, bits, entries, ratio, out, half)
        return
    width = 2 * bits
    for j in range(half):
        start = j * width
        w = start >> 5
        s = start & 31
        pair = np.uint64(words[w]) >> np.uint64(s)
        if s + width > 32:
            pair |= np.uint64(words[w + 1]) << np.uint64(32 - s)
        out[j] = entries[pair & np.uint64(31)]
        out[half + j] = ratio * entries[np.uint64(32) + ((pair >> np.uint64(bits + 1)) & np.uint64(15))]
