"""What the memory chart draws, and where: history, nice ticks, and labels that keep clear of each other. No widgets."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.events import MemorySample

BASELINE = "none"
# Fewer tokens than this stay raw even at rest: nothing fills a block beside the first and the newest ones.
SHORT_TOKENS = 100
# Whose what-if lines are drawn, beside the conversation's own.
COMPARED = ("turbo0v4", "turbo8", "turbo4", "turbo3", "turbo2")


@dataclass(frozen=True)
class Point:
    """Measured bytes of the cache at `tokens`. `predicted`: what each scheme would take there, where that is known."""

    tokens: int
    used_bytes: int
    scheme: str
    fp16_bytes: int = 0
    predicted: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(sample: MemorySample) -> Point:
        return Point(sample.tokens, sample.used_bytes, sample.scheme, sample.fp16_bytes, sample.predicted)


@dataclass(frozen=True)
class Marker:
    """A change of scheme, or the compression after a first prefill, with the bytes on both sides."""

    tokens: int
    from_scheme: str
    to_scheme: str
    bytes_before: int
    bytes_after: int
    method: str


@dataclass
class History:
    """One conversation's curve. A cache that was cut back (another answer, older turns left out) cuts the curve."""

    points: list[Point] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    curves: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)  # predicted: see MemorySample

    def add(self, point: Point) -> bool:
        """False when nothing was new: the newest point is then only told what is predicted."""
        last = self.points[-1] if self.points else None
        if last and (last.tokens, last.used_bytes, last.scheme) == (point.tokens, point.used_bytes, point.scheme):
            self.points[-1] = point
            return False
        if self.points and point.tokens < self.points[-1].tokens:
            self.points = [p for p in self.points if p.tokens < point.tokens]
            self.markers = [m for m in self.markers if m.tokens <= point.tokens]
        self.points.append(point)
        return True

    def add_stored(self, markers: Iterable[Marker]) -> None:
        """Those that are changes of this curve: of a cache that was read again, the earlier ones are none."""
        self.markers += [marker for marker in markers if self._shows(marker)]

    def _shows(self, marker: Marker) -> bool:
        """Whether the curve changes there from one scheme to the other; behind its end nothing speaks against it."""
        counts = [p.tokens for p in self.points]
        first, end = bisect_left(counts, marker.tokens), bisect_right(counts, marker.tokens)
        before = {p.scheme for p in self.points[max(0, first - 1) : end]}
        after = {p.scheme for p in self.points[first : end + 1]}
        return marker.from_scheme in before and (marker.to_scheme in after or end == len(self.points))

    def fp16_per_token(self) -> float:
        known = next((p for p in reversed(self.points) if p.fp16_bytes and p.tokens), None)
        return known.fp16_bytes / known.tokens if known else 0.0

    def last_tokens(self) -> int:
        return self.points[-1].tokens if self.points else 0

    def nearest(self, tokens: float) -> Point | None:
        """The measured point nearest to a position on the axis; of several at one place the last."""
        if not self.points:
            return None
        counts = [p.tokens for p in self.points]
        right = bisect_left(counts, tokens)
        around = [i for i in (right - 1, right) if 0 <= i < len(counts)]
        best = min(around, key=lambda i: abs(counts[i] - tokens))
        while best + 1 < len(counts) and counts[best + 1] == counts[best]:
            best += 1
        return self.points[best]

    def forecast(self, scheme: str, start: int, end: int) -> list[tuple[float, float]]:
        """The predicted line of `scheme` between two counts, as (tokens, bytes); empty where nothing is known."""
        knots = self.curves.get(scheme, ())
        if len(knots) < 2:
            return []
        counts = [start, *(tokens for tokens, _ in knots if start < tokens < end), end]
        return [(tokens, _on_line(knots, tokens)) for tokens in counts]

    def predicted(self, point: Point, scheme: str) -> float:
        """What `scheme` would take at a point: as predicted with it, else from the line; 0: unknown."""
        known = dict(point.predicted).get(scheme)
        if known is not None:
            return known
        line = self.forecast(scheme, point.tokens, point.tokens)
        return line[0][1] if line else 0.0

    def is_raw(self, point: Point) -> bool:
        """Whether a scheme that packs has packed nothing yet: while a prompt is read, and in a short conversation."""
        return point.scheme != BASELINE and 0 < 0.99 * self.fp16_per_token() * point.tokens <= point.used_bytes

    def marker_groups(self) -> list[list[Marker]]:
        """The changes, those at one count together."""
        return [list(group) for _, group in groupby(self.markers, key=lambda marker: marker.tokens)]


def nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 2.5, 5 × 10ⁿ that divides `span` into at most `most` steps."""
    raw = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw * (1 - 1e-9))


def ticks(top: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers from 0 to `top`, `top` included only if it is one of them."""
    step = nice_step(top, most)
    if whole:
        step = max(1.0, math.ceil(step))
    return [index * step for index in range(int(top / step + 1e-9) + 1)]


def axis_end(tokens: int) -> int:
    """Where the token axis ends: a little room, in steps coarse enough that the axis doesn't jump at each token."""
    least = max(tokens * 1.06, 128.0)
    step = 10.0 ** math.floor(math.log10(least)) / 4
    return math.ceil(least / step) * round(step) if step >= 1 else math.ceil(least)


def spread(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Positions in the order of `wanted` (ascending), at least `gap` apart and inside top…bottom where they fit."""
    placed: list[float] = []
    for value in wanted:
        placed.append(max(value, placed[-1] + gap if placed else top))
    limit = bottom
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], limit)
        limit = placed[index] - gap
    return placed


def _on_line(knots: Sequence[tuple[int, int]], tokens: int) -> float:
    """The value at `tokens` of straight lines through `knots`, which go on as they end."""
    place = min(max(bisect_left([at for at, _ in knots], tokens), 1), len(knots) - 1)
    (x0, y0), (x1, y1) = knots[place - 1], knots[place]
    return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)
