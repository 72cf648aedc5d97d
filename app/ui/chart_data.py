"""What the memory chart draws, and where: history, nice ticks, and labels that keep clear of each other. No widgets."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.events import MemorySample

BASELINE = "none"
# The schemes whose what-if lines are drawn first; the others follow while there is room.
FAMILIAR = ("turbo4", "turbo2", "turbo0v4", "turbo3")
WHAT_IF_POINTS = 12


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

    def add(self, point: Point) -> bool:
        """False when nothing was new: the newest point is then only told what is predicted."""
        last = self.points[-1] if self.points else None
        if last and (last.tokens, last.used_bytes, last.scheme) == (point.tokens, point.used_bytes, point.scheme):
            self.points[-1] = point
            return False
        if self.points and point.tokens < self.points[-1].tokens:
            self.points = [p for p in self.points if p.tokens <= point.tokens]
            self.markers = [m for m in self.markers if m.tokens <= point.tokens]
        self.points.append(point)
        return True

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

    def what_if(self, scheme: str) -> float:
        """Bytes a token that `scheme` would take, 0 where that isn't known.

        From the newest predictions together: single ones go up and down as tokens wait to be packed.
        """
        latest = [p for p in self.points[-WHAT_IF_POINTS:] if p.predicted and p.tokens >= 0.8 * self.last_tokens()]
        values = [(p.tokens, dict(p.predicted).get(scheme)) for p in latest]
        known = [(tokens, size) for tokens, size in values if size is not None and tokens]
        return sum(size for _, size in known) / sum(tokens for tokens, _ in known) if known else 0.0


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


def distinct(values: Iterable[tuple[str, float]], taken: Iterable[float], apart: float, most: int) -> list[str]:
    """Names whose values stand at least `apart` from those taken and from each other, in order, at most `most`."""
    used: list[float] = list(taken)
    names: list[str] = []
    for name, value in values:
        if len(names) < most and all(abs(value - other) >= apart for other in used):
            names.append(name)
            used.append(value)
    return names
