"""Decode attention on a GPU: which kernel a layer takes, and what it is given at each step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from typing import Protocol
from weakref import WeakKeyDictionary

import mlx.core as mx

from turboquant.codec import Codec
from turboquant.kernels import constants, specs
from turboquant.kernels.specs import Kernel, Launch, Target
from turboquant.segments import Buffer, PackedBuffer, Stretches
from turboquant.split import SplitCodec

FLOATS = {mx.float16: "float16", mx.bfloat16: "bfloat16", mx.float32: "float32"}
RAW = (mx.float16, mx.bfloat16)
RING = 256  # more launches than MLX puts into one graph: none of them can still be at the ticket that comes round again


class Runs(Protocol):
    """What runs kernels: a loader.Launcher; in tests an emulator."""

    target: Target

    def __call__(self, kernel: Kernel, launch: Launch, inputs: Sequence[mx.array]) -> list[mx.array]: ...

    def fuse(self, function: Callable[..., mx.array]) -> Callable[..., mx.array]: ...


@dataclass(frozen=True, eq=False)
class Call:
    """Decode attention for one kind of layer, batch and number of splits: one dispatch, or two fused ones."""

    name: str
    spec: specs.Attend
    inputs: tuple[str, ...]
    function: Callable[..., mx.array]


@dataclass(frozen=True, eq=False)
class _Fixed:
    """A layer's small buffers in one, see constants.fixed; `parts` are what it was made of."""

    parts: list[mx.array | None]
    array: mx.array
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Known:
    """What a layer's steps share until tokens are packed again; `facts` are what it was found from."""

    facts: tuple[object, ...]
    call: Call
    inputs: list[mx.array | None]  # those that change from step to step are None
    counts: tuple[int, int, int, int]  # body rows, their keys' capacity, first tokens, their capacity
    fixed: _Fixed
    splits: int
    segments: int
    value_capacity: int
    tail_at: int  # the tail's keys' place among the inputs
    tickets: int  # taken at each step, the last of the inputs; 0: none


class Tickets:
    """Counters for kernels that join their splits, zero whenever no kernel is at them.

    Launches of one stream that don't depend on each other may overlap, so each takes counters of its own.
    """

    def __init__(self) -> None:
        self._rings: dict[int, Iterator[mx.array]] = {}

    def take(self, count: int) -> mx.array:
        """At least `count` of them."""
        size = 1 << max(count - 1, 15).bit_length()
        if size not in self._rings:
            rows = list(mx.zeros((RING, size), mx.int32))
            mx.eval(rows)
            self._rings[size] = cycle(rows)
        return next(self._rings[size])


class Decoder:
    """Holds the calls that were built, and for each layer (as long as it lives) what is known of it."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._calls: dict[tuple[specs.Attend, int, int], Call] = {}
        self._layers: WeakKeyDictionary[PackedBuffer, _Known] = WeakKeyDictionary()
        self._tickets = Tickets()
        self._single_rows = specs.SINGLE_ROWS[runs.target]

    def prepare(
        self,
        queries: mx.array,
        kv: Stretches,
        scale: float,
        sinks: mx.array | None,
        window: int = 0,
        soft_cap: float = 0.0,
    ) -> tuple[Call, list[mx.array | None]] | None:
        """The call for this layer and its inputs; None where the kernels don't take it.

        Asked for by every layer at every step, while the GPU waits: what can be kept is kept.
        """
        values, keys, tail, first = kv.body_values, kv.body_keys, kv.tail_keys, kv.first_keys
        shape = queries.shape
        length = shape[2]
        if not isinstance(values, PackedBuffer) or tail.count < length or tail.array is None or values.count == 0:
            return None
        rows = values.count
        single = first.count + rows + tail.count <= self._single_rows and len(kv.segment_starts) <= specs.SEGMENTS
        facts = (
            *(shape, queries.dtype, scale, window, soft_cap, single, rows),
            *(first.count, id(first.array), id(kv.first_values.array), tail.array.dtype),
            *(id(keys), id(keys.words.array if isinstance(keys, PackedBuffer) else keys.array), id(values.words.array)),
            *(id(kv.offsets), id(kv.channel_scale), id(kv.segment_starts), id(sinks), kv.hidden > 0, id(kv.key_bias)),
        )
        known = self._layers.get(values)
        if known is None or known.facts != facts:
            known = self._find(queries, kv, values, scale, sinks, window, soft_cap, single, facts, known)
            if known is None:
                return None
            self._layers[values] = known
        low = first.count + kv.hidden if kv.hidden else kv.tokens - length - window + 1 if window else 0
        dims = constants.integers(
            *(*known.counts, tail.count, tail.array.shape[2], known.splits, known.segments, low, known.value_capacity),
            *known.fixed.places,
        )
        inputs, tk = known.inputs.copy(), known.tail_at
        inputs[0], inputs[tk], inputs[tk + 1], inputs[tk + 3] = queries, tail.array, kv.tail_values.array, dims
        if kv.key_bias is not None:
            end = kv.position + rows
            inputs[known.call.inputs.index("bias")] = kv.key_bias.scores(
                queries, kv.position, end, known.call.spec.kv_heads
            )
        if known.tickets:
            inputs[-1] = self._tickets.take(known.tickets)
        return known.call, inputs

    def _find(
        self,
        queries: mx.array,
        kv: Stretches,
        values: PackedBuffer,
        scale: float,
        sinks: mx.array | None,
        window: int,
        soft_cap: float,
        single: bool,
        facts: tuple[object, ...],
        before: _Known | None,
    ) -> _Known | None:
        batch, query_heads, length, key_dim = queries.shape
        keys = kv.body_keys
        key_words, key_norms = _held(keys)
        value_words, value_norms = _held(values)
        tail = [kv.tail_keys.array, kv.tail_values.array]
        first = [kv.first_keys.array, kv.first_values.array] if kv.first_keys.count else [None, None]
        if any(array is None for array in (key_words, value_words, value_norms, *tail)):
            return None
        codec = keys.codec if isinstance(keys, PackedBuffer) else None
        split = isinstance(codec, SplitCodec)
        calibration = calibration_of(kv.offsets, kv.channel_scale) if codec else 0
        raw = [a for a in (*tail, *first, *([] if codec else [key_words])) if a is not None]
        fits = (
            length <= specs.MAX_ROWS
            and calibration is not None
            and (specs.supports_split if split else specs.supports)(key_dim)
            and specs.supports(values.codec.dim)
            and queries.dtype in FLOATS
            and alike(raw)
            and (kv.offsets is None or kv.offsets.dtype == mx.float16)
            and (sinks is None or sinks.dtype == queries.dtype)
            and not (window and kv.hidden)
        )
        if not fits or key_words is None or calibration is None:
            return None
        kv_heads = key_words.shape[1]
        spec = specs.Attend(
            key_dim,
            values.codec.dim,
            codec.bits if codec else 0,
            values.codec.bits,
            kv_heads,
            query_heads // kv_heads,
            length,
            FLOATS[queries.dtype],
            FLOATS[raw[0].dtype],
            calibration,
            2 if kv.hidden else int(window > 0),
            soft_cap > 0,
            0 if sinks is None else 1 if sinks.size < specs.MIN_ELEMENTS else 2,
            single,
            self._runs.target,
            split=split,
            bias=kv.key_bias is not None,
        )
        key_capacity, value_capacity = _rows(key_words), _rows(value_words)
        splits = spec.splits(batch, values.count)
        if key_capacity % spec.geometry.tile or value_capacity % spec.geometry.tile:
            return None
        if calibration and not _segments_fit(kv.segment_starts, values.count, splits, spec.geometry.tile):
            return None
        assert isinstance(values.codec, Codec)
        fixed = _fixed(
            None if before is None else before.fixed,
            [
                constants.attention_array(codec or key_dim, values.codec, scale, soft_cap),
                constants.starts(kv.segment_starts) if calibration else None,
                kv.channel_scale if calibration > 1 else None,
                kv.channel_order if split else None,
                *first,
            ],
        )
        named: dict[str, mx.array | None] = {
            **{"kpack": key_words, "knorm": key_norms, "vpack": value_words, "vnorm": value_norms},
            **{"fixed": fixed.array, "offs": kv.offsets, "sinks": sinks},
        }
        call = self.call(spec, batch, splits)
        return _Known(
            facts,
            call,
            [named.get(name) for name in call.inputs],
            (values.count, key_capacity, kv.first_keys.count, _rows(first[0])),
            fixed,
            splits,
            len(kv.segment_starts),
            value_capacity,
            call.inputs.index("tk"),
            spec.tickets(batch) if spec.joined else 0,
        )

    def call(self, spec: specs.Attend, batch: int, splits: int) -> Call:
        """The call for `spec`, built once."""
        found = self._calls.get((spec, batch, splits))
        if found is None:
            found = self._calls[spec, batch, splits] = self._build(spec, batch, splits)
        return found

    def _build(self, spec: specs.Attend, batch: int, splits: int) -> Call:
        kernel, how, names = spec.kernel(), spec.launch(batch, splits), spec.inputs()
        merge, merge_how = spec.merge(), spec.merge_launch(batch)
        runs, two = self._runs, not (spec.single or spec.joined)

        def attend(*inputs: mx.array) -> mx.array:
            named = dict(zip(names, inputs, strict=True))
            out = runs(kernel, how, [named[name] for name in kernel.inputs])[0]
            if two:
                named["part"] = out
                (out,) = runs(merge, merge_how, [named[name] for name in merge.inputs])
            return out

        name = kernel.name if not two else f"{kernel.name}+{merge.name}"
        return Call(name, spec, names, runs.fuse(attend))


def _fixed(before: _Fixed | None, parts: list[mx.array | None]) -> _Fixed:
    """`before` where it was made of the same arrays: a flush changes none of them, but for a new segment's start."""
    if before is not None and all(a is b for a, b in zip(before.parts, parts, strict=True)):
        return before
    array, places = constants.fixed(parts)
    return _Fixed(parts, array, places[1:])


def calibration_of(offset: mx.array | None, channel_scale: mx.array | None) -> int | None:
    """The kernels' switch: 0, 1 (offset), 2 (offset and scale); None for what they don't know."""
    if offset is None:
        return 0 if channel_scale is None else None
    if channel_scale is None:
        return 1
    return 2 if channel_scale.dtype == offset.dtype else None


def alike(raw: Sequence[mx.array]) -> bool:
    """Whether these are raw tokens of one 16-bit type."""
    return raw[0].dtype in RAW and all(a.dtype == raw[0].dtype for a in raw)


def shortened(kv: Stretches, rows: int) -> Stretches:
    """The same with the first `rows` of the body alone: what a kernel is checked on."""

    def cut(buffer: Buffer) -> Buffer:
        found = Buffer(buffer.step)
        found.array, found.count = buffer.array, min(buffer.count, rows)
        return found

    def cut_body(body: Buffer | PackedBuffer) -> Buffer | PackedBuffer:
        if isinstance(body, Buffer):
            return cut(body)
        found = PackedBuffer(body.codec)
        found.words, found.norms = cut(body.words), cut(body.norms)
        return found

    starts = tuple(start for start in kv.segment_starts if start < rows)
    offsets = None if kv.offsets is None else kv.offsets[:, :, : len(starts)]
    keys, values = cut_body(kv.body_keys), cut_body(kv.body_values)
    return replace(kv, body_keys=keys, body_values=values, offsets=offsets, segment_starts=starts)


def _held(buffer: Buffer | PackedBuffer) -> tuple[mx.array | None, mx.array | None]:
    """(words, norms), or (rows, None) of a raw buffer, with their capacity."""
    if isinstance(buffer, PackedBuffer):
        return buffer.words.array, buffer.norms.array
    return buffer.array, None


def _rows(array: mx.array | None) -> int:
    return 0 if array is None else array.shape[2]


def _segments_fit(starts: tuple[int, ...], rows: int, splits: int, tile: int) -> bool:
    """Whether no split meets more segments than its table holds."""
    if len(starts) <= specs.SEGMENTS:
        return True
    parts = max(splits - 1, 1)
    edges = [rows * i // parts for i in range(parts + 1)]
    met = (
        bisect_left(starts, high + tile) - bisect_right(starts, max(low - tile, 0)) + 1 for low, high in pairwise(edges)
    )
    return max(met) <= specs.SEGMENTS
