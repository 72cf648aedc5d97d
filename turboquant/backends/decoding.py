"""Decode attention on a GPU: which kernel a layer takes, and what it is given at each step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, pairwise
from operator import is_
from typing import Protocol
from weakref import ref

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

    def fuse(self, function: Callable[..., list[mx.array]]) -> Callable[..., list[mx.array]]: ...


@dataclass(frozen=True, eq=False)
class Call:
    """Decode attention for one kind of layer, batch and number of splits: one dispatch, or two fused ones.

    `function` gives the output and, where `spec.store`, the tail's keys and values with the newest rows in them.
    """

    name: str
    spec: specs.Attend
    inputs: tuple[str, ...]
    function: Callable[..., list[mx.array]]


@dataclass(frozen=True, eq=False)
class _Fixed:
    """A layer's small buffers in one, see constants.fixed; `parts` are what it was made of."""

    parts: list[mx.array | None]
    array: mx.array
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Known:
    """What a layer's steps share until tokens are packed again; `facts` and `objects` are what it was found from."""

    layer: ref[PackedBuffer]
    facts: tuple[object, ...]
    objects: tuple[object, ...]
    call: Call
    inputs: list[mx.array | None]  # those that change from step to step are None
    counts: tuple[int, int, int, int]  # body rows, their keys' capacity, first tokens, their capacity
    fixed: _Fixed
    splits: int
    segments: int
    value_capacity: int
    tail_at: int  # the tail's keys' place among the inputs, and that of `dims`
    dims_at: int
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
        self._calls: dict[tuple[specs.Attend, int, int, int], Call] = {}
        self._layers: dict[int, _Known] = {}  # by the id of the layer's values, as long as they live
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
        length, rows, pending = shape[2], values.count, tail.count
        if not isinstance(values, PackedBuffer) or length > specs.MAX_ROWS or pending < length or rows == 0:
            return None
        given = _tail(kv, length)
        if given is None:
            return None
        capacity, starts = given[0].shape[2], kv.segment_starts
        tokens = first.count + rows + pending
        single = tokens <= self._single_rows and len(starts) <= specs.SEGMENTS
        facts = (
            *(shape, queries.dtype, scale, window, soft_cap, single, rows, len(given), capacity, given[0].dtype),
            *(first.count, kv.hidden > 0),
        )
        objects = (
            *(first.held, kv.first_values.held, keys, values.words.held),
            keys.words.held if isinstance(keys, PackedBuffer) else keys.held,
            *(kv.offsets, kv.channel_scale, starts, sinks, kv.key_bias),
        )
        known = self._layers.get(id(values))
        if known is None or known.facts != facts or not all(map(is_, known.objects, objects)):
            known = self._find(
                queries, kv, values, given, scale, sinks, window, soft_cap, single, facts, objects, known
            )
            if known is None:
                return None
            self._layers[id(values)] = known
        low = first.count + kv.hidden if kv.hidden else tokens - length - window + 1 if window else 0
        dims = constants.integers(
            *(*known.counts, pending, capacity, known.splits, known.segments, low, known.value_capacity),
            *known.fixed.places,
        )
        inputs, at = known.inputs.copy(), known.tail_at
        inputs[0], inputs[known.dims_at] = queries, dims
        inputs[at : at + len(given)] = given
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
        given: list[mx.array],
        scale: float,
        sinks: mx.array | None,
        window: int,
        soft_cap: float,
        single: bool,
        facts: tuple[object, ...],
        objects: tuple[object, ...],
        before: _Known | None,
    ) -> _Known | None:
        batch, query_heads, length, key_dim = queries.shape
        keys = kv.body_keys
        key_words, key_norms = _held(keys)
        value_words, value_norms = _held(values)
        first = [kv.first_keys.array, kv.first_values.array] if kv.first_keys.count else [None, None]
        if any(array is None for array in (key_words, value_words, value_norms)):
            return None
        codec = keys.codec if isinstance(keys, PackedBuffer) else None
        split = isinstance(codec, SplitCodec)
        calibration = calibration_of(kv.offsets, kv.channel_scale) if codec else 0
        raw = [a for a in (*given, *first, *([] if codec else [key_words])) if a is not None]
        fits = (
            calibration is not None
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
            store=len(given) == 4,
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
        call = self.call(spec, batch, splits, given[0].shape[2])
        return _Known(
            before.layer if before else ref(values, partial(_forget, self._layers, id(values))),
            facts,
            objects,
            call,
            [named.get(name) for name in call.inputs],
            (values.count, key_capacity, kv.first_keys.count, _rows(first[0])),
            fixed,
            splits,
            len(kv.segment_starts),
            value_capacity,
            call.inputs.index("tk"),
            call.inputs.index("dims"),
            spec.tickets(batch) if spec.joined else 0,
        )

    def call(self, spec: specs.Attend, batch: int, splits: int, tail_capacity: int = 0) -> Call:
        """The call for `spec`, built once; a tail that isn't stored may have any capacity."""
        kind = spec, batch, splits, tail_capacity if spec.store else 0
        found = self._calls.get(kind)
        if found is None:
            found = self._calls[kind] = self._build(*kind)
        return found

    def _build(self, spec: specs.Attend, batch: int, splits: int, tail_capacity: int) -> Call:
        kernel, how, names = spec.kernel(), spec.launch(batch, splits, tail_capacity), spec.inputs()
        merge, merge_how = spec.merge(), spec.merge_launch(batch)
        runs, two = self._runs, not (spec.single or spec.joined)

        def attend(*inputs: mx.array) -> list[mx.array]:
            named = dict(zip(names, inputs, strict=True))
            made = dict(zip(kernel.outputs, runs(kernel, how, [named[name] for name in kernel.inputs]), strict=True))
            if two:
                named["part"] = made["part"]
                (made["out"],) = runs(merge, merge_how, [named[name] for name in merge.inputs])
            return [made["out"], *([made["sk"], made["sv"]] if spec.store else [])]

        name = kernel.name if not two else f"{kernel.name}+{merge.name}"
        return Call(name, spec, names, runs.fuse(attend))


def _tail(kv: Stretches, length: int) -> list[mx.array] | None:
    """The tail's keys and values, and the newest `length` rows of each where both lack exactly those."""
    keys, values = kv.tail_keys, kv.tail_values
    new_keys, new_values = keys.newest, values.newest
    if (
        new_keys is not None
        and new_values is not None
        and new_keys.shape[2] == new_values.shape[2] == length == keys.count - keys.begin
    ):
        found = [keys.held, values.held, new_keys, new_values]
    else:
        found = [keys.array, values.array]
    return None if found[0] is None or found[1] is None else [a for a in found if a is not None]


def _forget(layers: dict[int, _Known], number: int, _: object) -> None:
    layers.pop(number, None)


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
