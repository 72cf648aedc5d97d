"""The backend of Apple's and NVIDIA's GPUs: kernels where there are some, the reference's MLX operations elsewhere.

Before a kernel serves for the first time on a machine, its result is compared with the reference's on the same input.
What passes is remembered (see verified.py); what doesn't is never called again, and the notice names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import mlx.core as mx

from turboquant.backends.decoding import FLOATS, Decoder, Runs, alike, calibration_of, shortened
from turboquant.backends.reference import Part, ReferenceBackend, stretches_of
from turboquant.backends.verified import Verified
from turboquant.codec import MAX_NORM, Codec, Packed
from turboquant.kernels import constants, specs
from turboquant.kernels.specs import Kernel, Launch
from turboquant.reasons import Reason
from turboquant.segments import PackedBuffer, Stretches
from turboquant.split import AnyCodec

T = TypeVar("T")

ENCODE_ERROR = 0.05  # of decoded vectors, relative: a code on a boundary may round either way
ATTEND_ERROR = 0.02  # of outputs, relative, in the coarsest type that models use
CALLS = 256  # of kernels over so many rows, kept
SAMPLE = 2048  # rows that a check at first use looks at


class GpuBackend(ReferenceBackend):
    """`window` and `soft_cap` are arguments of `decode` alone; no cache asks for them yet."""

    leaves_raw = True

    def __init__(self, runs: Runs, verified: Verified) -> None:
        self.name = runs.target
        self.notice = ""
        self._runs = runs
        self._verified = verified
        self._refused: set[str] = set()
        self._reference = ReferenceBackend()  # what kernels are compared with must not use kernels itself
        self._decoder = Decoder(runs)
        self._calls: dict[tuple[str, Launch], Callable[..., list[mx.array]]] = {}

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
        if not _encodes(x, codec) or calibration is None:
            return super().encode(x, codec, offset, channel_scale, channel_order)
        batch, heads, rows, _ = x.shape
        part = constants.part(codec)
        kind = "float16" if offset is None else FLOATS[offset.dtype]
        kernel = specs.encode(part, FLOATS[x.dtype], calibration, kind)
        if self._unknown(kernel.name) and rows > SAMPLE:
            self.encode(x[:, :, :SAMPLE], codec, offset, channel_scale, channel_order)
        inputs = [x, constants.integers(batch * heads * rows, rows), constants.encoding_array(codec)]
        inputs += [a for a in (offset, channel_scale, channel_order if part.split else None) if a is not None]

        def run() -> Packed:
            words, norms = self._call(kernel, specs.encode_launch(part, batch * heads * rows), inputs)
            return _packed(words, norms, x)

        def reference() -> Packed:
            return self._reference.encode(x, codec, offset, channel_scale, channel_order)

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
        if not (_encodes(keys, key_codec) and _encodes(values, value_codec) and alike) or calibration is None:
            packed = self.encode(keys, key_codec, offset, channel_scale, channel_order)
            return packed, self.encode(values, value_codec)
        batch, heads, rows, _ = keys.shape
        parts = constants.part(key_codec), constants.part(value_codec)
        kind = "float16" if offset is None else FLOATS[offset.dtype]
        kernel = specs.encode_pair(*parts, FLOATS[keys.dtype], calibration, kind)
        if self._unknown(kernel.name) and rows > SAMPLE:
            few = keys[:, :, :SAMPLE], values[:, :, :SAMPLE]
            self.encode_pair(few[0], key_codec, few[1], value_codec, offset, channel_scale, channel_order)
        inputs = [
            keys,
            values,
            constants.integers(batch * heads * rows, rows),
            constants.encoding_array(key_codec),
            constants.encoding_array(value_codec),
        ]
        inputs += [a for a in (offset, channel_scale, channel_order if parts[0].split else None) if a is not None]

        def run() -> tuple[Packed, Packed]:
            made = self._call(kernel, specs.encode_pair_launch(*parts, batch * heads * rows), inputs)
            return _packed(made[0], made[1], keys), _packed(made[2], made[3], values)

        def reference() -> tuple[Packed, Packed]:
            return self._reference.encode_pair(
                keys, key_codec, values, value_codec, offset, channel_scale, channel_order
            )

        def error(a: tuple[Packed, Packed], b: tuple[Packed, Packed]) -> float:
            return max(_encode_error(key_codec, a[0], b[0]), _encode_error(value_codec, a[1], b[1]))

        return self._checked(kernel.name, run, reference, error, ENCODE_ERROR)

    # ------------------------------------------------------------------ dequantise

    def dequantise(self, packed: Packed, codec: AnyCodec, dtype: mx.Dtype) -> mx.array:
        words, norms = packed
        part = constants.part(codec)
        if not _supports(codec) or dtype not in FLOATS or norms.size < specs.MIN_ELEMENTS or norms.ndim != 3:
            return super().dequantise(packed, codec, dtype)
        batch, heads, rows = norms.shape
        kernel = specs.dequantise(part, FLOATS[dtype])
        if self._unknown(kernel.name) and rows > SAMPLE:
            self.dequantise(Packed(words[:, :, :SAMPLE], norms[:, :, :SAMPLE]), codec, dtype)
        dims = constants.integers(0, 0, rows, rows, 0, 0, 0, rows, 0, heads, heads, 0)

        def run() -> mx.array:
            how = specs.dequantise_launch(part, FLOATS[dtype], batch * heads, rows)
            (out,) = self._call(kernel, how, [words, norms, dims, constants.decoding_array(codec)])
            return out.reshape(batch, heads, rows, codec.dim)

        def reference() -> mx.array:
            return self._reference.dequantise(packed, codec, dtype)

        return self._checked(kernel.name, run, reference, _error, ATTEND_ERROR)

    def _laid_out_size(self, kv: Stretches, dtype: mx.Dtype) -> int:
        packed = [b for b in (kv.body_keys, kv.body_values) if isinstance(b, PackedBuffer)]
        by_kernels = kv.key_bias is None and dtype in FLOATS and all(_supports(b.codec) for b in packed)
        return dtype.size if by_kernels else super()._laid_out_size(kv, dtype)

    def _rotated(self, kv: Stretches, part: Part, heads: slice, begin: int, end: int, dtype: mx.Dtype) -> mx.array:
        """As the reference's, in one dispatch and without a copy of what is packed."""
        first, body, tail = stretches_of(kv, part)
        assert isinstance(body, PackedBuffer)
        raw = [b.array for b in (first, tail) if b.array is not None]
        usable = _supports(body.codec) and dtype in FLOATS and raw and alike(raw)
        keys = part == "keys"
        calibration = calibration_of(kv.offsets, kv.channel_scale) if keys else 0
        halves = kv.offsets is None or kv.offsets.dtype == mx.float16
        if not usable or calibration is None or not halves:
            return super()._rotated(kv, part, heads, begin, end, dtype)
        words, norms = body.words.array, body.norms.array
        assert words is not None
        assert norms is not None
        codec, count = body.codec, heads.stop - heads.start
        batch, held = norms.shape[:2]
        spec = constants.part(codec)
        kernel = specs.dequantise(spec, FLOATS[dtype], FLOATS[raw[0].dtype], calibration)
        if self._unknown(kernel.name) and end - begin > SAMPLE:
            self._rotated(kv, part, heads, end - SAMPLE, end, dtype)
        capacities = [b.array.shape[2] if b.array is not None else 0 for b in (first, tail)]
        dims = constants.integers(
            *(first.count, capacities[0], body.count, norms.shape[2], tail.count, capacities[1]),
            *(begin, end - begin, heads.start, count, held, len(kv.segment_starts)),
        )
        inputs = [words, norms, dims, constants.decoding_array(codec), raw[0], raw[-1]]
        if calibration:
            assert kv.offsets is not None
            lifted = self._rotate(codec, kv.offsets, 1, kv.channel_scale, kv.channel_order, mx.float32)
            inputs += [lifted, constants.starts(kv.segment_starts)]
        if calibration > 1:
            assert kv.channel_scale is not None
            inputs.append(kv.channel_scale)
        if spec.split:
            assert kv.channel_order is not None
            inputs.append(kv.channel_order)

        def run() -> mx.array:
            how = specs.dequantise_launch(spec, FLOATS[dtype], batch * count, end - begin)
            (out,) = self._call(kernel, how, inputs)
            rows = out.reshape(batch, count, end - begin, codec.dim)
            return self._with_bias(rows, kv, codec, heads, begin, end) if keys and kv.key_bias is not None else rows

        def reference() -> mx.array:
            return self._reference._rotated(kv, part, heads, begin, end, dtype)

        return self._checked(kernel.name, run, reference, _error, ATTEND_ERROR)

    def _with_bias(
        self, rows: mx.array, kv: Stretches, codec: AnyCodec, heads: slice, begin: int, end: int
    ) -> mx.array:
        """Rotated keys begin..end, those of the body with the layer's key bias."""
        assert kv.key_bias is not None
        first, body = kv.first_keys.count, kv.body_keys.count
        low, high = max(begin, first), min(end, first + body)
        if low >= high:
            return rows
        start = kv.position - first
        bias = kv.key_bias.rows(start + low, start + high, kv.tail_keys.view().shape[1])[:, heads]
        bias = mx.broadcast_to(bias, (rows.shape[0], *bias.shape[1:]))
        scale, order = (None if a is None else a[:, heads] for a in (kv.channel_scale, kv.channel_order))
        turned = self._rotate(codec, bias, 1, scale, order, mx.float32)
        within = slice(low - begin, high - begin)
        sums = rows[:, :, within] + turned
        rows[:, :, within] = mx.clip(sums, -MAX_NORM, MAX_NORM) if rows.dtype == mx.float16 else sums
        return rows

    def _rotated_queries(self, queries: mx.array, kv: Stretches, heads: slice) -> mx.array:
        assert isinstance(kv.body_keys, PackedBuffer)
        scale, order = (None if a is None else a[:, heads] for a in (kv.channel_scale, kv.channel_order))
        return self._rotate(kv.body_keys.codec, queries, 2, scale, order, queries.dtype)

    def _unrotated(self, out: mx.array, codec: Codec) -> mx.array:
        return self._rotate(codec, out, 0, None, None, out.dtype, back=True)

    def _rotate(
        self,
        codec: AnyCodec,
        x: mx.array,
        scaled: int,
        scale: mx.array | None,
        order: mx.array | None,
        dtype: mx.Dtype,
        back: bool = False,
    ) -> mx.array:
        """x (B, heads of whole groups, T, dim) in the space of packed rows, or `back`; `scaled` as in specs.rotate."""
        part = constants.part(codec)
        scaled = scaled if scale is not None else 0

        def reference() -> mx.array:
            if back:
                assert isinstance(codec, Codec)
                return codec.rotation.inverse(x).astype(dtype)
            factor = None if scale is None else 1 / scale.astype(mx.float32) if scaled == 2 else scale
            group = x.shape[1] // (scale if scale is not None else order if order is not None else x).shape[1]
            return codec.rotate(x, *(None if a is None else mx.repeat(a, group, 1) for a in (factor, order))).astype(
                dtype
            )

        if not _supports(codec) or x.dtype not in FLOATS or dtype not in FLOATS:
            return reference()
        kernel = specs.rotate(part, FLOATS[x.dtype], scaled, back, FLOATS[dtype])
        given = [a for a in (scale if scaled else None, order if part.split else None) if a is not None]
        rows = x.size // codec.dim
        per_head = rows // (given[0].size // codec.dim) if given else rows
        inputs = [x, constants.integers(rows, per_head), constants.decoding_array(codec), *given]

        def run() -> mx.array:
            (out,) = self._call(kernel, specs.rotate_launch(part, FLOATS[dtype], rows), inputs)
            return out.reshape(x.shape)

        return self._checked(kernel.name, run, reference, _error, ATTEND_ERROR)

    # ------------------------------------------------------------------ attend

    def attend(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        mask: mx.array | str | None,
        sinks: mx.array | None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        """As ReferenceBackend.attend; up to MAX_ROWS of the newest tokens go to the decode kernel."""
        causal = isinstance(mask, str) or (mask is None and queries.shape[2] == 1)
        prepared = self._decoder.prepare(queries, kv, scale, sinks, soft_cap=soft_cap) if causal else None
        if prepared is None:
            return super().attend(queries, kv, scale, mask, sinks, soft_cap)
        call, inputs = prepared
        if call.name in self._verified:
            return _stored(kv, call.function(*inputs))
        if self._unknown(call.name) and kv.body_values.count > SAMPLE and not kv.hidden:
            self.attend(queries, shortened(kv, SAMPLE), scale, mask, sinks, soft_cap)

        def reference() -> list[mx.array]:
            tail = [a for a in (kv.tail_keys.array, kv.tail_values.array) if a is not None and call.spec.store]
            return [self._reference.attend(queries, kv, scale, mask, sinks, soft_cap), *tail]

        def error(result: list[mx.array], expected: list[mx.array]) -> float:
            return max(map(_error, result, expected))

        results = self._checked(call.name, lambda: call.function(*inputs), reference, error, ATTEND_ERROR)
        return _stored(kv, results)

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
        return _stored(kv, call.function(*inputs))

    def _call(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]:
        """One dispatch. Calls are kept: MLX reads a kernel's whole text at each call that it hasn't traced."""
        kind = kernel.name, launch
        call = self._calls.get(kind)
        if call is None:
            if len(self._calls) >= CALLS:
                self._calls.clear()

            def run(*given: mx.array) -> list[mx.array]:
                return self._runs(kernel, launch, given)

            call = self._calls[kind] = self._runs.fuse(run)
        return call(*inputs)

    # ------------------------------------------------------------------ trust

    def _unknown(self, name: str) -> bool:
        """Whether this kernel is still to be checked."""
        return name not in self._verified and name not in self._refused

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
            why = f"{found:.2g} > {limit:.2g}"
        self._refused.add(name)
        self.notice = Reason(
            "The GPU kernel {0} doesn't serve here ({1}). The slower reference runs in its place.", name, why
        )
        return expected


def _stored(kv: Stretches, results: list[mx.array]) -> mx.array:
    """A call's output; the tail that it may have stored takes its place."""
    if len(results) > 1:
        kv.tail_keys.array, kv.tail_values.array = results[1:]
    return results[0]


def _supports(codec: AnyCodec) -> bool:
    return (specs.supports_split if constants.part(codec).split else specs.supports)(codec.dim)


def _encodes(x: mx.array, codec: AnyCodec) -> bool:
    return _supports(codec) and x.ndim == 4 and x.dtype in FLOATS and x.size > 0


def _packed(words: mx.array, norms: mx.array, x: mx.array) -> Packed:
    return Packed(words.reshape(*x.shape[:3], -1), norms.reshape(x.shape[:3]))


def _error(result: mx.array, expected: mx.array) -> float:
    """Norm of the difference over the norm of what is expected; NaN counts as infinite."""
    expected = expected.astype(mx.float32)
    difference = mx.linalg.norm((result.astype(mx.float32) - expected).reshape(-1))
    found = float(difference / mx.maximum(mx.linalg.norm(expected.reshape(-1)), 1e-20))
    return found if found == found else float("inf")


def _encode_error(codec: AnyCodec, result: Packed, expected: Packed) -> float:
    return _error(codec.decode_rotated(result), codec.decode_rotated(expected))
