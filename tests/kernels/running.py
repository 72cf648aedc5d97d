"""Calls of the kernels in the emulator on cases of numpy_reference: what the tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import mlx.core as mx
import numpy as np

from tests.kernels import emulator
from tests.kernels.numpy_reference import (
    Array,
    Case,
    attend,
    check_encoded,
    check_split_encoded,
    from_bits,
    rotated,
    rotation,
    to_bits,
)
from turboquant.codec import Codec, codec
from turboquant.kernels import constants, specs
from turboquant.kernels.loader import header, source
from turboquant.kernels.specs import Kernel, Target
from turboquant.split import SplitCodec, split_key_codec

KEY_SEED, VALUE_SEED = 42, 43
Edit = Callable[[str], str] | None  # a seeded mistake: changes a kernel's text


def label(case: Any) -> str:
    """What differs from the usual, for a test's name."""
    if isinstance(case, tuple):
        return "+".join(map(label, case))
    differing = [(f.name, getattr(case, f.name)) for f in fields(case) if getattr(case, f.name) != f.default]
    return "-".join(f"{name}={value}".replace(" ", "") for name, value in differing) or "usual"


def key_codec(dim: int, bits: int, trials: int = 1) -> Codec:
    return codec(dim, bits, KEY_SEED, "matched", trials)


def value_codec(dim: int, bits: int, trials: int = 1) -> Codec:
    return codec(dim, bits, VALUE_SEED, "unbiased", trials)


def launch(
    kernel: Kernel,
    how: specs.Launch,
    inputs: Sequence[Array],
    target: Target,
    schedules: Sequence[int],
    edit: Edit = None,
) -> list[Array]:
    if edit is None:
        return emulator.run(kernel, how, inputs, target, schedules)
    text, head = source(kernel, target), header(kernel, target)
    changed = edit(head + "\0" + text)
    assert changed != head + "\0" + text, "the mistake isn't in this text"
    head, _, text = changed.partition("\0")
    return emulator.run(kernel, how, inputs, target, schedules, text, head)


@dataclass(frozen=True)
class Encode:
    dim: int = 128
    bits: int = 4
    dtype: str = "float16"
    calibration: int = 0
    matched: bool = True
    trials: int = 1
    heads: int = 2
    rows: int = 5  # of a head
    outlier: bool = True  # one coordinate above all others: rotated, all are alike, and so are the trial scales
    split: bool = False

    def codec(self) -> Codec | SplitCodec:
        if self.split:
            return split_key_codec(self.dim, self.bits)
        return (key_codec if self.matched else value_codec)(self.dim, self.bits, self.trials)

    def problem(self) -> tuple[dict[str, Any], Array]:
        """The kernel's buffers by name, and the vectors that it is to encode, shifted and scaled."""
        random = np.random.default_rng(7)
        n = self.heads * self.rows
        x = random.standard_normal((n, self.dim)) * np.exp(random.standard_normal((n, 1)))
        x[-1] = 0.0
        x[0, 3] = 2000.0 if self.outlier else x[0, 3]
        offset, channel = calibration_of(random, self.heads, self.dim)
        order = order_of(self.heads, self.dim)
        held = to_bits(x, self.dtype)
        named = {
            **{"x": held, "dims": dims(n, self.rows), "consts": constants.encoding(self.codec())},
            **{"offset": offset, "channel": channel, "order": order},
        }
        return named, shifted(from_bits(held, self.dtype), offset, channel, order, self)

    def check(self, target: Target, schedules: Sequence[int] = emulator.SCHEDULES, edit: Edit = None) -> None:
        named, x = self.problem()
        part = constants.part(self.codec())
        kernel = specs.encode(part, self.dtype, self.calibration)
        inputs = [named[name] for name in kernel.inputs]
        words, norms = launch(kernel, specs.encode_launch(part, len(x)), inputs, target, schedules, edit)
        check_any(words, norms, x, self.codec())


def check_any(words: Array, norms: Array, x: Array, codec: Codec | SplitCodec) -> None:
    if isinstance(codec, SplitCodec):
        check_split_encoded(words, norms, x, codec)
    else:
        check_encoded(words, norms, x, codec)


def shifted(x: Array, offset: Array, channel: Array, order: Array, case: Encode) -> Array:
    y = x.reshape(case.heads, case.rows, case.dim)
    if case.calibration:
        y = y - offset.astype(np.float64)[:, None]
    if case.calibration > 1:
        y = y * channel.astype(np.float64)[:, None]
    if case.split:
        y = np.take_along_axis(y, order.astype(np.int64)[:, None].repeat(case.rows, 1), axis=-1)
    return y.reshape(x.shape)


def order_of(heads: int, dim: int) -> Array:
    random = np.random.default_rng(9)
    return np.stack([random.permutation(dim) for _ in range(heads)]).astype(np.uint16)


def calibration_of(random: np.random.Generator, heads: int, dim: int) -> tuple[Array, Array]:
    return (
        random.standard_normal((heads, dim)).astype(np.float16),
        np.exp(random.standard_normal((heads, dim)) / 2).astype(np.float16),
    )


def dims(*values: int) -> Array:
    found = np.zeros(specs.DIMS, np.int32)
    found[: len(values)] = values
    return found


def check_pair(
    keys: Encode, values: Encode, target: Target, schedules: Sequence[int] = emulator.SCHEDULES, edit: Edit = None
) -> None:
    random = np.random.default_rng(8)
    n = keys.heads * keys.rows
    k, v = (to_bits(random.standard_normal((n, part.dim)) * 3, part.dtype) for part in (keys, values))
    offset, channel = calibration_of(random, keys.heads, keys.dim)
    order = order_of(keys.heads, keys.dim)
    parts = constants.part(keys.codec()), constants.part(values.codec())
    inputs = [k, v, dims(n, keys.rows), constants.encoding(keys.codec()), constants.encoding(values.codec())]
    kwords, knorms, vwords, vnorms = launch(
        specs.encode_pair(*parts, keys.dtype, keys.calibration),
        specs.encode_pair_launch(*parts, n),
        [*inputs, *(offset, channel)[: keys.calibration], *([order] if keys.split else [])],
        target,
        schedules,
        edit,
    )
    check_any(kwords, knorms, shifted(from_bits(k, keys.dtype), offset, channel, order, keys), keys.codec())
    check_any(vwords, vnorms, from_bits(v, values.dtype), values.codec())


@dataclass(frozen=True)
class Attend:
    key_dim: int = 128
    value_dim: int = 0  # 0: the keys'
    key_bits: int = 4
    value_bits: int = 4
    batch: int = 1
    kv_heads: int = 1
    group: int = 4
    length: int = 1
    body: int = 77
    capacity: int = 96
    first: int = 4
    tail: int = 37
    splits: int = 2  # of the body
    dtype: str = "float16"
    raw_dtype: str = "float16"
    calibration: int = 0
    starts: tuple[int, ...] = (0,)
    window: int = 0
    soft_cap: float = 0.0
    sinks: bool = False
    single: bool = False
    sharp: bool = False  # scores that grow with position, so that the running maximum is renewed
    geometry: specs.Geometry | None = None
    tail_capacity: int = 128
    split: bool = False
    bias: bool = False
    hidden: int = 0  # rows of body and tail out of sight
    store: bool = False  # the newest rows come beside the tail

    def spec(self, target: Target) -> specs.Attend:
        heads = self.kv_heads * self.group
        return specs.Attend(
            self.key_dim, self.value_dim or self.key_dim, self.key_bits, self.value_bits, self.kv_heads, self.group,
            self.length, self.dtype, self.raw_dtype, self.calibration,
            2 if self.hidden else int(self.window > 0), self.soft_cap > 0,
            (1 if heads < specs.MIN_ELEMENTS else 2) if self.sinks else 0, self.single, target, self.geometry,
            self.split, self.bias, self.store,
        )  # fmt: skip

    def problem(self) -> tuple[dict[str, Any], Array]:
        """The kernels' buffers by name, but for what passes between the two, and the result (B, heads, L, Dv)."""
        values = value_codec(self.value_dim or self.key_dim, self.value_bits)
        keys: Codec | SplitCodec | int = key_codec(self.key_dim, self.key_bits) if self.key_bits else self.key_dim
        if self.split:
            keys = split_key_codec(self.key_dim, self.key_bits)
        case = Case(
            self.batch, self.kv_heads, self.body, self.capacity, self.first, self.tail, keys, values,
            self.raw_dtype, self.calibration, self.starts, tail_capacity=self.tail_capacity,
        )  # fmt: skip
        random, heads = np.random.default_rng(5), self.kv_heads * self.group
        q = random.standard_normal((self.batch, heads, self.length, self.key_dim))
        by_head = case.keys.reshape(self.batch, self.kv_heads, case.tokens, self.key_dim)
        if self.sharp:  # towards a late token, away from an early one
            q = q + 40.0 * (by_head[:, :, -self.tail - 2, None] - by_head[:, :, self.first, None]).repeat(self.group, 1)
        held = to_bits(q, self.dtype)
        sinks = to_bits(random.standard_normal(heads) * 3, self.dtype)
        scale = self.key_dim**-0.5
        low = case.tokens - self.length - self.window + 1 if self.window else 0
        low = self.first + self.hidden if self.hidden else low
        spec = self.spec("metal")
        b = case.buffers
        absent = {"starts": not spec.calibration, "chan": spec.calibration < 2, "order": not spec.split}
        fixed, places = constants.fixed(
            [
                mx.array(constants.attention(keys, values, scale, self.soft_cap)),
                *(None if absent.get(name) else mx.array(b[name]) for name in ("starts", "chan", "order", "fk", "fv")),
            ]
        )
        bias = random.standard_normal((self.batch, heads, self.length, self.body)) * 4
        padded = np.zeros((self.batch, heads, self.length, case.tokens))
        padded[..., self.first : self.first + self.body] = bias
        held_dims = case.dims(1 if self.single else self.splits + 1, low)
        held_dims[10:15] = places[1:]
        named: dict[str, Any] = {
            **b,
            **{"q": held, "fixed": np.array(fixed), "dims": held_dims, "bias": bias.astype(np.float32)},
            "sinks": sinks,
            "tickets": np.zeros(specs.MIN_ELEMENTS * 4, np.int32),
        }
        newest = slice(self.tail - self.length, self.tail)
        for name in ("k", "v") if self.store else ():
            named["n" + name], named["s" + name] = b["t" + name][:, newest].copy(), b["t" + name].copy()
            b["t" + name][:, newest] = to_bits(np.array(np.nan), self.raw_dtype)  # not there yet
        want = attend(
            from_bits(held, self.dtype),
            by_head,
            case.values.reshape(self.batch, self.kv_heads, case.tokens, -1),
            scale,
            self.window,
            self.soft_cap,
            from_bits(sinks, self.dtype) if self.sinks else None,
            (self.first, low) if self.hidden else (0, 0),
            padded if self.bias else None,
        )
        return named, want

    def check(
        self,
        target: Target,
        schedules: Sequence[int] = emulator.SCHEDULES,
        edit: Edit = None,
        edit_merge: Edit = None,
    ) -> float:
        """The error relative to the largest output; asserts that it is within rounding."""
        named, want = self.problem()
        spec = self.spec(target)
        kernel, how = spec.kernel(), spec.launch(self.batch, int(named["dims"][6]), named["tk"].shape[1])
        made = launch(kernel, how, [named[name] for name in kernel.inputs], target, schedules, edit)
        for name, stored in zip(kernel.outputs, made, strict=True):
            assert name not in ("sk", "sv") or stored.tobytes() == named[name].tobytes(), f"{name} isn't the tail"
        out = made[0]
        if not (self.single or spec.joined):
            named["part"], kernel = out, spec.merge()
            how = spec.merge_launch(self.batch)
            (out,) = launch(kernel, how, [named[name] for name in kernel.inputs], target, schedules, edit_merge)
        got = from_bits(out, self.dtype).reshape(want.shape)
        error = float(np.abs(got - want).max() / np.abs(want).max())
        limit = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}[self.dtype]
        assert error < limit, f"error {error:.1e} of the largest output, limit {limit}"
        return error

    def with_(self, **changes: Any) -> Attend:
        return replace(self, **changes)


@dataclass(frozen=True)
class Dequantise:
    """A head slice of a whole sequence (`raw`), or packed rows alone, in rotated space."""

    dim: int = 128
    bits: int = 4
    dtype: str = "float16"
    raw: bool = True
    calibration: int = 0
    batch: int = 2
    kv_heads: int = 3
    heads: tuple[int, int] = (1, 3)
    body: int = 21
    starts: tuple[int, ...] = (0,)
    first_row: int = 0
    split: bool = False

    def check(self, target: Target, schedules: Sequence[int] = emulator.SCHEDULES, edit: Edit = None) -> None:
        first, tail = (4, 9) if self.raw else (0, 0)
        mine = split_key_codec(self.dim, self.bits) if self.split else key_codec(self.dim, self.bits)
        case = Case(
            self.batch, self.kv_heads, self.body, 32, first, tail, mine, value_codec(self.dim, 2),
            "float16", self.calibration, self.starts,
        )  # fmt: skip
        b = case.buffers
        scale = b["chan"].astype(np.float64) if self.calibration > 1 else np.ones((1, self.dim))
        rows, count = case.tokens - self.first_row, self.heads[1] - self.heads[0]
        part = constants.part(mine)
        named = {
            **{"words": b["kpack"], "norms": b["knorm"], "consts": constants.decoding(mine)},
            **{"first": b["fk"], "tail": b["tk"], "starts": b["starts"], "channel": b["chan"], "order": b["order"]},
            "dims": dims(
                *(first, b["fk"].shape[1], self.body, case.capacity, tail, b["tk"].shape[1]),
                *(self.first_row, rows, self.heads[0], count, self.kv_heads, len(self.starts)),
            ),
            "lift": rotated(b["offs"].astype(np.float64) * scale[:, None], mine, b["order"]).astype(np.float32),
        }
        kernel = specs.dequantise(part, self.dtype, "float16" if self.raw else None, self.calibration)
        how = specs.dequantise_launch(part, self.dtype, self.batch * count, rows)
        (out,) = launch(kernel, how, [named[name] for name in kernel.inputs], target, schedules, edit)
        want = rotated(case.keys * scale[:, None], mine, b["order"]).reshape(self.batch, self.kv_heads, -1, self.dim)
        want = want[:, slice(*self.heads), self.first_row :].reshape(out.shape)
        error = np.abs(from_bits(out, self.dtype) - want).max() / np.abs(want).max()
        limit = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[self.dtype]
        assert error < limit, f"error {error:.1e} of the largest value, limit {limit}"


@dataclass(frozen=True)
class Rotate:
    """Rows into the space of packed ones, and back."""

    dim: int = 128
    dtype: str = "float16"
    scaled: int = 0
    back: bool = False
    out: str = ""
    split: bool = False
    heads: int = 3
    rows: int = 5  # of a head

    def check(self, target: Target, schedules: Sequence[int] = emulator.SCHEDULES, edit: Edit = None) -> None:
        random = np.random.default_rng(4)
        mine = split_key_codec(self.dim, 3) if self.split else value_codec(self.dim, 3)
        held = to_bits(random.standard_normal((self.heads * self.rows, self.dim)), self.dtype)
        x = from_bits(held, self.dtype).reshape(self.heads, self.rows, self.dim)
        channel, order = calibration_of(random, self.heads, self.dim)[1], order_of(self.heads, self.dim)
        scale = channel.astype(np.float64)[:, None]
        if self.back:
            assert isinstance(mine, Codec)
            want = x @ rotation(mine)
        else:
            want = rotated(x * scale if self.scaled == 1 else x / scale if self.scaled else x, mine, order)
        named = {
            **{"x": held, "dims": dims(len(held), self.rows), "consts": constants.decoding(mine)},
            **{"channel": channel, "order": order},
        }
        part, out = constants.part(mine), self.out or self.dtype
        kernel = specs.rotate(part, self.dtype, self.scaled, self.back, self.out)
        inputs = [named[name] for name in kernel.inputs]
        (got,) = launch(kernel, specs.rotate_launch(part, out, len(held)), inputs, target, schedules, edit)
        error = np.abs(from_bits(got, out).reshape(want.shape) - want).max() / np.abs(want).max()
        limit = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[out]
        assert error < limit, f"error {error:.1e} of the largest value, limit {limit}"
