"""The backend of Apple's and NVIDIA's GPUs: kernels where there are some, the reference's MLX operations elsewhere.

Before a kernel serves for the first time on a machine, its result is compared with the reference's on the same input.
What passes is remembered (see verified.py); what doesn't is never called again, and the notice names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import mlx.core as mx

from turboquant.backends.decoding import FLOATS, Decoder, Runs, alike, calibration_of
from turboquant.backends.reference import Part, ReferenceBackend, stretches_of
from turboquant.backends.verified import Verified
from turboquant.codec import Codec, Packed
from turboquant.kernels import constants, specs
from turboquant.segments import PackedBuffer, Stretches
from turboquant.split import AnyCodec, SplitCodec

T = TypeVar("T")

ENCODE_ERROR = 0.05  # of decoded vectors, relative: a code on a boundary may round either way
ATTEND_ERROR = 0.02  # of outputs, relative, in the coarsest type that models use


class GpuBackend(ReferenceBackend):
    """`window` and `soft_cap` are arguments of `decode` alone; no cache asks for them yet."""

    def __init__(self, runs: Runs, verified: Verified) -> None:
        self.name = runs.target
        self.notice = ""
        self._runs = runs
        self._verified = verified
        self._refused: set[str] = set()
        self._reference = ReferenceBackend()  # what kernels are compared with must not use kernels itself
        self._decoder = Decoder(runs)

    # ------------------------------------------------------------------ encode

    def encode(
        self,
        x: mx.array,
        codec: AnyCodec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> Packed:
        """As ReferenceBackend.encode; codes next to a boundary may round the other way."""
        calibration = calibration_of(offset, channel_scale)
        if isinstance(codec, SplitCodec) or not _encodes(x, codec) or calibration is None:
            return super().encode(x, codec, offset, channel_scale, channel_order)
        batch, heads, rows, _ = x.shape
        part = constants.part(codec)
        kind = "float16" if offset is None else FLOATS[offset.dtype]
        kernel = specs.encode(part, FLOATS[x.dtype], calibration, kind)
        inputs = [x, constants.integers(batch * heads * rows, rows), constants.encoding_array(codec)]
        inputs += [a for a in (offset, channel_scale) if a is not None]

        def run() -> Packed:
            words, norms = self._runs(kernel, specs.encode_launch(part, batch * heads * rows), inputs)
            return _packed(words, norms, x)

        def reference() -> Packed:
            return self._reference.encode(x, codec, offset, channel_scale)

        return self._checked(kernel.name, run, reference, lambda a, b: _encode_error(codec, a, b), ENCODE_ERROR)

    def encode_pair(
        self,
        keys: mx.array,
        key_codec: AnyCodec,
        values: mx.array,
        value_codec: Codec,
        offset: mx.array | None = None,
        channel_scale: mx.array | None = None,
        channel_order: mx.array | None = None,
    ) -> tuple[Packed, Packed]:
        """Keys and values of the same tokens in one dispatch; `offset` and `channel_scale` are the keys'."""
        calibration = calibration_of(offset, channel_scale)
        alike = keys.dtype == values.dtype and keys.shape[:3] == values.shape[:3]
        if isinstance(key_codec, SplitCodec):
            return super().encode_pair(keys, key_codec, values, value_codec, offset, channel_scale, channel_order)
        if not (_encodes(keys, key_codec) and _encodes(values, value_codec) and alike) or calibration is None:
            return self.encode(keys, key_codec, offset, channel_scale), self.encode(values, value_codec)
        batch, heads, rows, _ = keys.shape
        parts = constants.part(key_codec), constants.part(value_codec)
        kind = "float16" if offset is None else FLOATS[offset.dtype]
        kernel = specs.encode_pair(*parts, FLOATS[keys.dtype], calibration, kind)
        inputs = [
            keys,
            values,
            constants.integers(batch * heads * rows, rows),
            constants.encoding_array(key_codec),
            constants.encoding_array(value_codec),
        ]
        inputs += [a for a in (offset, channel_scale) if a is not None]

        def run() -> tuple[Packed, Packed]:
            made = self._runs(kernel, specs.encode_pair_launch(*parts, batch * heads * rows), inputs)
            return _packed(made[0], made[1], keys), _packed(made[2], made[3], values)

        def reference() -> tuple[Packed, Packed]:
            plain = self._reference
            return plain.encode(keys, key_codec, offset, channel_scale), plain.encode(values, value_codec)

        def error(a: tuple[Packed, Packed], b: tuple[Packed, Packed]) -> float:
            return max(_encode_error(key_codec, a[0], b[0]), _encode_error(value_codec, a[1], b[1]))

        return self._checked(kernel.name, run, reference, error, ENCODE_ERROR)

    # ------------------------------------------------------------------ dequantise

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array:
        words, norms = packed
        if isinstance(codec, SplitCodec):
            return super().dequantise(packed, codec, dtype)
        if not specs.supports(codec.dim) or dtype not in FLOATS or norms.size < specs.MIN_ELEMENTS or norms.ndim != 3:
            return super().dequantise(packed, codec, dtype)
        batch, heads, rows = norms.shape
        kernel = specs.dequantise(constants.part(codec), FLOATS[dtype])
        dims = constants.integers(0, 0, rows, rows, 0, 0, 0, rows, 0, heads, heads, 0)

        def run() -> mx.array:
            how = specs.dequantise_launch(constants.part(codec), FLOATS[dtype], batch * heads, rows)
            (out,) = self._runs(kernel, how, [words, norms, dims, constants.decoding_array(codec)])
            return out.reshape(batch, heads, rows, codec.dim)

        def reference() -> mx.array:
            return self._reference.dequantise(packed, codec, dtype)

        return self._checked(kernel.name, run, reference, _error, ATTEND_ERROR)

    def _rotated(self, kv: Stretches, part: Part, heads: slice, begin: int, end: int, dtype: mx.Dtype) -> mx.array:
        """As the reference's, in one dispatch and without a copy of what is packed."""
        first, body, tail = stretches_of(kv, part)
        assert isinstance(body, PackedBuffer)
        raw = [b.array for b in (first, tail) if b.array is not None]
        usable = specs.supports(body.codec.dim) and dtype in FLOATS and raw and alike(raw)
        calibration = calibration_of(kv.offsets, kv.channel_scale) if part == "keys" else 0
        halves = kv.offsets is None or kv.offsets.dtype == mx.float16
        if isinstance(body.codec, SplitCodec) or kv.key_bias is not None or not usable or calibration is None or not halves:
            return super()._rotated(kv, part, heads, begin, end, dtype)
        words, norms = body.words.array, body.norms.array
        assert words is not None
        assert norms is not None
        codec, count = body.codec, heads.stop - heads.start
        batch, held = norms.shape[:2]
        kernel = specs.dequantise(constants.part(codec), FLOATS[dtype], FLOATS[raw[0].dtype], calibration)
        capacities = [b.array.shape[2] if b.array is not None else 0 for b in (first, tail)]
        dims = constants.integers(
            *(first.count, capacities[0], body.count, norms.shape[2], tail.count, capacities[1]),
            *(begin, end - begin, heads.start, count, held, len(kv.segment_starts)),
        )
        inputs = [words, norms, dims, constants.decoding_array(codec), raw[0], raw[-1]]
        if calibration:
            assert kv.offsets is not None
            lifted = codec.rotate(kv.offsets, kv.channel_scale)
            inputs += [lifted, constants.starts(kv.segment_starts)]
        if calibration > 1:
            assert kv.channel_scale is not None
            inputs.append(kv.channel_scale)

        def run() -> mx.array:
            how = specs.dequantise_launch(constants.part(codec), FLOATS[dtype], batch * count, end - begin)
            (out,) = self._runs(kernel, how, inputs)
            return out.reshape(batch, count, end - begin, codec.dim)

        def reference() -> mx.array:
            return self._reference._rotated(kv, part, heads, begin, end, dtype)

        return self._checked(kernel.name, run, reference, _error, ATTEND_ERROR)

    # ------------------------------------------------------------------ attend

    def attend(
        self, queries: mx.array, kv: Stretches, scale: float, mask: mx.array | str | None, sinks: mx.array | None
    ) -> mx.array:
        """As ReferenceBackend.attend; up to MAX_ROWS of the newest tokens go to the decode kernel."""
        causal = kv.key_bias is None and (isinstance(mask, str) or (mask is None and queries.shape[2] == 1))
        causal &= not (kv.hidden and kv.first_keys.count)  # the kernels hide from the sequence's beginning on
        window = kv.visible if kv.hidden else 0
        prepared = self._decoder.prepare(queries, kv, scale, sinks, window) if causal else None
        if prepared is None:
            return super().attend(queries, kv, scale, mask, sinks)
        call, inputs = prepared
        if call.name in self._verified:
            return call.function(*inputs)

        def reference() -> mx.array:
            return self._reference.attend(queries, kv, scale, mask, sinks)

        return self._checked(call.name, lambda: call.function(*inputs), reference, _error, ATTEND_ERROR)

    def decode(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        sinks: mx.array | None = None,
        window: int = 0,
        soft_cap: float = 0.0,
    ) -> mx.array:
        """The kernel itself, unchecked: causal attention of the newest tokens; each sees the `window` newest (0: all).

        Raises ValueError where there is no kernel for this layer.
        """
        prepared = self._decoder.prepare(queries, kv, scale, sinks, window, soft_cap)
        if prepared is None:
            raise ValueError("There is no decode kernel for this layer.")
        call, inputs = prepared
        return call.function(*inputs)

    # ------------------------------------------------------------------ trust

    def _checked(
        self,
        name: str,
        run: Callable[[], T],
        reference: Callable[[], T],
        error: Callable[[T, T], float],
        limit: float,
    ) -> T:
        """The kernel's result; at its first use on this machine compared with the reference's, whose place it takes."""
        if name in self._verified:
            return run()
        if name in self._refused:
            return reference()
        expected = reference()
        try:
            result = run()
            found = error(result, expected)
        except (RuntimeError, ValueError) as failure:  # MLX's, of a compiler or a driver
            why = str(failure).strip().splitlines()[0] if str(failure).strip() else type(failure).__name__
        else:
            if found <= limit:
                self._verified.add(name)
                return result
            why = f"it differs from the reference by {found:.2g}, more than {limit:.2g}"
        self._refused.add(name)
        self.notice = f"The GPU kernel {name} doesn't serve here ({why}). The slower reference runs in its place."
        return expected


def _encodes(x: mx.array, codec: Codec) -> bool:
    return specs.supports(codec.dim) and x.ndim == 4 and x.dtype in FLOATS and x.size > 0


def _packed(words: mx.array, norms: mx.array, x: mx.array) -> Packed:
    return Packed(words.reshape(*x.shape[:3], -1), norms.reshape(x.shape[:3]))


def _error(result: mx.array, expected: mx.array) -> float:
    """Norm of the difference over the norm of what is expected; NaN counts as infinite."""
    expected = expected.astype(mx.float32)
    difference = mx.linalg.norm((result.astype(mx.float32) - expected).reshape(-1))
    found = float(difference / mx.maximum(mx.linalg.norm(expected.reshape(-1)), 1e-20))
    return found if found == found else float("inf")


def _encode_error(codec: Codec, result: Packed, expected: Packed) -> float:
    return _error(codec.decode_rotated(result), codec.decode_rotated(expected))
