"""What a compressed cache really holds and answers, told from outside, beside what it was given.

A `Watch` notes the keys and values that one layer's cache receives, exactly, and its last answer. Then it reads every
token back through attention alone: with one token visible the answer is that token's value; with a sink of 0 beside it
the answer's length tells the score, and one query for each channel tells the key. So nothing depends on how a cache
stores, orders or hides its rows, and a token that is lost, stale, moved or doubled shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from turboquant import plan
from turboquant.backends.reference import ReferenceBackend
from turboquant.cache import TurboQuantCache
from turboquant.segments import Stretches

# Errors by bits, of a vector's length: the root mean square of all vectors, and the largest of one. Another token's
# vector is off by 1.4. Raw tokens are rounded to 16 bits; split keys spend their bits where the queries look.
TYPICAL_KEY = {0: 0.002, 2: 0.6, 3: 0.32, 4: 0.18, 8: 0.01}
TYPICAL_VALUE = {2: 0.36, 3: 0.2, 4: 0.1, 8: 0.01}
LARGEST_KEY = {0: 0.005, 2: 1.6, 3: 0.8, 4: 0.5, 8: 0.15}
LARGEST_VALUE = {2: 1.1, 3: 0.6, 4: 0.35, 8: 0.15}
KEYS, VALUES = (TYPICAL_KEY, LARGEST_KEY), (TYPICAL_VALUE, LARGEST_VALUE)
OUTLIER = {
    2: 4.5,
    3: 4.5,
    4: 4.5,
    8: 15.0,
}  # of the upper quartile of errors (a token that a model repeats has small ones): the largest that quantisation makes
_reader = ReferenceBackend()


@dataclass
class Answer:
    """One call of attention: queries (Hq, L, D), sinks or None, the answer (Hq, L, Dv), both types.

    `parts`: what each row was answered from, with how many rows; several where a step's later rows find a block packed.
    """

    queries: np.ndarray
    scale: float
    soft_cap: float
    sinks: np.ndarray | None
    out: np.ndarray
    dtypes: tuple[mx.Dtype, mx.Dtype]
    parts: list[tuple[Stretches, int]]


class Watch:
    """Beside one layer's cache, batch 1. `keys`, `values` (H, n, dim): every token of the sequence, as received.

    `asked`: for caches with a window, the window that the model asks masks of several rows for (plamo3: one more).
    """

    def __init__(self, cache: TurboQuantCache, asked: dict[int, int]) -> None:
        self.cache = cache
        self.window = cache.window
        self.asked = asked
        self.keys: np.ndarray | None = None
        self.values: np.ndarray | None = None
        self.answers: list[Answer] = []
        self.parts: list[tuple[Stretches, int]] = []
        self.read: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}

    def receive(self, keys: mx.array, values: mx.array) -> None:
        new = _float(keys), _float(values)
        self.keys = new[0] if self.keys is None else np.concatenate([self.keys, new[0]], axis=1)
        self.values = new[1] if self.values is None else np.concatenate([self.values, new[1]], axis=1)
        self.answers = []

    def forget(self, n: int) -> None:
        assert self.keys is not None
        assert self.values is not None
        left = self.keys.shape[1] - n
        self.keys, self.values, self.answers = self.keys[:, :left], self.values[:, :left], []

    def check(self) -> None:
        """The tokens that must be seen are held once each, as exactly as the codec can; the last answers follow."""
        self.read = {}
        self.check_held(self.cache.stretches(), max((a.queries.shape[1] for a in self.answers), default=1))
        for answer in self.answers:
            begin, length = 0, answer.queries.shape[1]
            for kv, rows in answer.parts:
                keys, values, oldest = self.check_held(kv, rows)
                window = self.asked.get(self.window, self.window) if length > 1 else self.window
                expected = _attend(answer, slice(begin, begin + rows), keys, values, oldest, window)
                off = np.abs(answer.out[:, begin : begin + rows] - expected).max() / np.abs(expected).max()
                assert off < (2e-2 if answer.dtypes[0] == mx.bfloat16 else 3e-3), f"attention is off by {off:.4f}"
                begin += rows
            assert begin == length
            assert answer.dtypes[0] == answer.dtypes[1], "attention changed the type"

    def check_held(self, kv: Stretches, rows: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Keys and values in `kv` that its newest `rows` tokens must see, from the token returned on."""
        assert self.keys is not None
        assert self.values is not None
        tokens = kv.tokens + kv.dropped
        assert tokens == self.keys.shape[1] or kv.tail_keys is not self.cache.tail_keys, "not all tokens are held"
        oldest = max(tokens - (self.window - 1) - rows, 0) if self.window else 0
        state = (kv.hidden, *((id(buffer), buffer.count) for buffer in (kv.body_keys, kv.body_values, kv.tail_keys)))
        if state not in self.read:  # else it's as an answer of this check was made from
            self.read[state] = read_back(kv, self.keys.shape, np.abs(self.keys).max())
        keys, values = self.read[state]
        assert keys.shape[1] >= tokens - oldest, f"{tokens - oldest} tokens must be seen, {keys.shape[1]} are held"
        newest = slice(keys.shape[1] - (tokens - oldest), None)  # in order of time
        keys, values = keys[:, newest], values[:, newest]
        sent_keys, sent_values = self.keys[:, oldest:tokens], self.values[:, oldest:tokens]
        scheme = self.cache.scheme
        _check("keys", scheme.key_bits, _off(keys, sent_keys, sent_keys.mean(axis=1, keepdims=True)), *KEYS)
        _check("values", scheme.value_bits, _off(values, sent_values, 0), *VALUES)
        return keys, values, oldest


def _check(what: str, bits: int, error: np.ndarray, typical: dict[int, float], largest: dict[int, float]) -> None:
    bound, packed = largest[bits], error[error > 1e-3]
    if bits and packed.size > 16:  # where offsets make most tokens small, another's isn't far either
        bound = min(bound, OUTLIER[bits] * float(np.quantile(packed, 0.75)))
    assert error.max() < bound, f"one of the {what} is off by {error.max():.3f} of its length"
    mean = np.sqrt(np.square(error).mean())
    assert mean < typical[bits], f"the {what} are off by {mean:.3f} of their length"


def _attend(answer: Answer, rows: slice, keys: np.ndarray, values: np.ndarray, oldest: int, window: int) -> np.ndarray:
    """Of some rows, the newest tokens, over what they must see and no more: by position, not by any mask."""
    queries = answer.queries[:, rows]
    tokens, group = oldest + keys.shape[1], queries.shape[0] // keys.shape[0]
    scores = answer.scale * queries @ np.repeat(keys, group, axis=0).swapaxes(-1, -2)
    if answer.soft_cap:
        scores = answer.soft_cap * np.tanh(scores / answer.soft_cap)
    at, seen = np.arange(tokens - queries.shape[1], tokens)[:, None], np.arange(oldest, tokens)
    scores[:, (seen > at) | (seen <= at - window if window else False)] = -np.inf
    top = scores.max(-1, keepdims=True)
    sinks = None if answer.sinks is None else answer.sinks[:, None, None]
    top = top if sinks is None else np.maximum(top, sinks)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top))
    return weights / total @ np.repeat(values, group, axis=0)


class Recorder:
    """A cache's backend, beside which a Watch notes what each answer was made from."""

    def __init__(self, backend: Any, watching: Watch) -> None:
        self.backend, self.watching = backend, watching

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def attend(self, queries: mx.array, kv: Stretches, *arguments: Any) -> mx.array:
        self.watching.parts.append((kv, queries.shape[2]))
        return self.backend.attend(queries, kv, *arguments)


class Watched(TurboQuantCache):
    """A cache with a Watch beside it; `watch` puts it there."""

    watching: Watch

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> Any:
        if self.window and window_size:
            self.watching.asked[self.window] = window_size
        return super().make_mask(N, return_array=return_array, window_size=window_size)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        self.watching.receive(keys, values)
        return super().update_and_fetch(keys, values)

    def trim(self, n: int) -> int:
        trimmed = super().trim(n)
        self.watching.forget(trimmed)
        return trimmed

    def attend(
        self,
        queries: mx.array,
        scale: float,
        mask: mx.array | str | None = None,
        sinks: mx.array | None = None,
        soft_cap: float = 0.0,
    ) -> mx.array:
        self.watching.parts = []
        out = super().attend(queries, scale, mask, sinks, soft_cap)
        self.watching.answers.append(
            Answer(
                _float(queries),
                scale,
                soft_cap,
                None if sinks is None else np.array(sinks.astype(mx.float32), np.float64),
                _float(out),
                (queries.dtype, out.dtype),
                self.watching.parts,
            )
        )
        return out


def watch(caches: list[Any], before: list[Watch] | None = None) -> list[Watch]:
    """Watch this library's caches among these: from the beginning, or on from `before` (the same caches, reloaded)."""
    watches: list[Watch] = []
    asked: dict[int, int] = {}
    for i, cache in enumerate(plan.packable(caches)):
        cache.__class__ = Watched
        assert isinstance(cache, Watched)
        cache.watching = before[i] if before else Watch(cache, asked)
        cache.watching.cache = cache
        cache.backend = Recorder(cache.backend, cache.watching)
        watches.append(cache.watching)
    return watches


def read_back(kv: Stretches, shape: tuple[int, ...], largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Keys (H, T, Dk) and values (H, T, Dv) that attention finds in `kv`; `shape` (H, _, Dk): the keys'."""
    heads, _, dim = shape
    tokens = kv.visible
    one = mx.eye(tokens).astype(mx.bool_)
    nothing = mx.zeros((1, heads, tokens, dim))
    values = _float(_reader.attend(nothing, kv, 1.0, one, None))
    unit = 3 / max(largest, 1e-6)
    queries = mx.broadcast_to(unit * mx.eye(dim)[None, None, :, None], (1, heads, dim, tokens, dim))
    masks = mx.broadcast_to(one[None], (dim, tokens, tokens)).reshape(-1, tokens)
    sunk = _float(_reader.attend(queries.reshape(1, heads, -1, dim), kv, 1.0, masks, mx.zeros((heads,))))
    sunk = sunk.reshape(heads, dim, tokens, -1)
    share = (sunk * values[:, None]).sum(-1) / np.maximum(np.square(values).sum(-1)[:, None], 1e-12)
    share = np.clip(share, 1e-6, 1 - 1e-6)
    return np.moveaxis(np.log(share / (1 - share)) / unit, 1, 2), values


def _off(got: np.ndarray, sent: np.ndarray, middle: np.ndarray | float) -> np.ndarray:
    """Distance of each vector from what was sent, in lengths from the `middle` that the codec measures from."""
    length = np.linalg.norm(sent - middle, axis=-1)
    usual = np.sqrt(np.square(length).mean(axis=-1, keepdims=True))
    return np.linalg.norm(got - sent, axis=-1) / np.maximum(np.maximum(length, usual), 1e-6)


def _float(x: mx.array) -> np.ndarray:
    return np.array(x[0].astype(mx.float32), np.float64)
