"""Table look-ups of sixteen coordinates at once, within registers: codes to centroids, coordinates to codes.

numba alone looks codes up one by one, which took two thirds of a decode step. LLVM has no portable operation for it, so
that the look-up itself depends on the machine: AVX-512 permutes sixteen numbers at once, AVX2 eight; others load them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from turboquant.backends.cpu_kernels.compiling import inlined

_FLOAT, _INT, _LONG, _OCTET = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.IntType(8)
_FLOATS, _INTS = ir.VectorType(_FLOAT, 16), ir.VectorType(_INT, 16)
_LOW, _HIGH = range(8), range(8, 16)


def table(values: NDArray[np.float32], fill: float | None = None) -> NDArray[np.float32]:
    """16 entries for 2 to 4 bits: `values` over and over, so that bits above a code don't matter, or up to `fill`."""
    if values.size >= 16:
        return values
    if fill is None:
        return np.tile(values, 16 // values.size)
    return np.concatenate([values, np.full(16 - values.size, fill, np.float32)])


def _constant(*lanes: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INT, len(lanes)), list(lanes))


def _spread(builder: Any, value: Any) -> Any:
    """`value` in all sixteen lanes."""
    one = ir.VectorType(value.type, 1)
    single = builder.insert_element(ir.Constant(one, ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(single, ir.Constant(one, ir.Undefined), _constant(*[0] * 16))


def _look_up(context: Any, builder: Any, entries: Any, index: Any) -> Any:
    """entries[index & 15] in each of sixteen lanes."""
    features = context.codegen().magic_tuple()[2].split(",")

    def call(name: str, lanes: int, *arguments: Any) -> Any:
        floats, ints = ir.VectorType(_FLOAT, lanes), ir.VectorType(_INT, lanes)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(floats, [floats, ints]), name), arguments
        )

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


@intrinsic
def _unpack_sixteens(_: Any, words: Any, bits: Any, entries: Any, out: Any, dim: Any) -> Any:
    """out[j] = entries[code j], dim a multiple of 8 and at least 16, 2 to 4 bits.

    Eight codes fill `bits` whole bytes. Of sixteen the lower eight are read forward from where they begin, the upper
    eight backward from where they end, so that 32 bits hold them and nothing is read beyond the last word.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], arguments[0], _OCTET)
        entries = builder.load(_pointer(context, builder, signature.args[2], arguments[2], _FLOATS), align=4)
        target = _pointer(context, builder, signature.args[3], arguments[3], _FLOAT)
        bits = arguments[1]
        width = builder.trunc(bits, _INT)
        shifts = builder.mul(_constant(*[*range(8)] * 2), _spread(builder, width))
        backward = builder.shl(builder.sub(_INT(4), width), _INT(3))
        shifts = builder.add(shifts, builder.and_(_spread(builder, backward), _constant(*[0] * 8, *[-1] * 8)))
        blocks = builder.lshr(arguments[4], _LONG(3))
        last = builder.sub(blocks, _LONG(2))
        pairs = builder.lshr(builder.add(blocks, _LONG(1)), _LONG(1))
        upper = builder.sub(builder.shl(bits, _LONG(1)), _LONG(4))
        with cgutils.for_range(builder, pairs, intp=_LONG) as loop:
            block = builder.shl(loop.index, _LONG(1))
            block = builder.select(builder.icmp_signed("<", block, last), block, last)
            lower = builder.gep(source, [builder.mul(block, bits)])
            two = ir.Constant(ir.VectorType(_INT, 2), ir.Undefined)
            for i, place in enumerate((lower, builder.gep(lower, [upper]))):
                word = builder.load(builder.bitcast(place, _INT.as_pointer()), align=1)
                two = builder.insert_element(two, word, _INT(i))
            index = builder.lshr(builder.shuffle_vector(two, two, _constant(*[0] * 8, *[1] * 8)), shifts)
            place = builder.bitcast(builder.gep(target, [builder.shl(block, _LONG(3))]), _FLOATS.as_pointer())
            builder.store(_look_up(context, builder, entries, index), place, align=4)
        return context.get_dummy_value()

    return types.void(words, types.int64, entries, out, types.int64), generate


@intrinsic
def nearest_sixteens(_: Any, y: Any, trial: Any, boundaries: Any, centroids: Any, codes: Any, out: Any) -> Any:
    """codes[j] = number of the 15 boundaries below trial * y[j], out[j] = centroids[codes[j]]; whole sixteens of y."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], arguments[0], _FLOAT)
        edges, centroids = (
            builder.load(_pointer(context, builder, signature.args[i], arguments[i], _FLOATS), align=4) for i in (2, 3)
        )
        code_target = _pointer(context, builder, signature.args[4], arguments[4], _INT)
        target = _pointer(context, builder, signature.args[5], arguments[5], _FLOAT)
        trial = _spread(builder, arguments[1])
        shape = context.make_array(signature.args[0])(context, builder, arguments[0]).shape
        sixteens = builder.lshr(cgutils.unpack_tuple(builder, shape, 1)[0], _LONG(4))
        with cgutils.for_range(builder, sixteens, intp=_LONG) as loop:
            start = builder.shl(loop.index, _LONG(4))

            def at(base: Any, kind: Any, start: Any = start) -> Any:
                return builder.bitcast(builder.gep(base, [start]), kind.as_pointer())

            scaled = builder.fmul(builder.load(at(source, _FLOATS), align=4), trial)
            code = _constant(*[0] * 16)
            for step in (8, 4, 2, 1):
                middle = _look_up(context, builder, edges, builder.add(code, _constant(*[step - 1] * 16)))
                above = builder.fcmp_ordered(">", scaled, middle)
                code = builder.select(above, builder.add(code, _constant(*[step] * 16)), code)
            builder.store(code, at(code_target, _INTS), align=4)
            builder.store(_look_up(context, builder, centroids, code), at(target, _FLOATS), align=4)
        return context.get_dummy_value()

    return types.void(y, types.float32, boundaries, centroids, codes, out), generate


@intrinsic
def as_float(_: Any, pattern: Any) -> Any:
    """The float32 of a 32-bit pattern."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _FLOAT)

    return types.float32(types.uint32), generate


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
