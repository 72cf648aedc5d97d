"""Statistics of a conversation's own keys and queries that make its packed keys more exact at the same size.

Keys carry a large constant in each channel; subtracting a mean per segment and adding q . mean to the scores is exact.
Scaling channel j by sqrt(rms q_j / rms k_j) spends the rounding error where queries don't look; ranking channels by
rms q_j * rms k_j says which of them deserve more bits (split.py).
"""

from __future__ import annotations

import mlx.core as mx

from turboquant.codec import MAX_NORM
from turboquant.segments import FEW

SEGMENT = 512  # tokens that share an offset when many are packed at once
SEGMENT_MIN = 256  # a shorter segment is extended before another one opens
ENOUGH = 512  # query tokens, beyond which more of them change little
PLENTY = 32  # query tokens, beyond which decoded ones aren't looked at: each costs some operations a layer
SAMPLE_MIN = 16  # keys, below which nothing is said of a channel's power
STILL = 1e-5  # of a head's power: less than 16-bit keys that vary have around their mean
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-14, 2.0**15  # normal float16 numbers
# The upper half's share of the sum of rms q * rms k, from which splitting pays at every width: with u the share, the
# error of a score goes from D(b) to 2 (u^2 D(b + 1) + (1 - u)^2 D(b - 1)), D the codebook's mean_squared_error.
WORTH_SPLITTING = 0.68
ARRAYS = ("query_power", "channel_scale", "channel_order", "offsets")


class Calibration:
    """Per layer: running query power until the scale and the order are fixed; both; one key offset a segment.

    Offsets and scale are kept in float16 and used as stored, so that encoder and attention agree exactly.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self.query_power: mx.array | None = None  # (B, H, D) float32, sum of squares
        self.observed = 0  # query tokens in it
        self.channel_scale: mx.array | None = None  # (B, H, D) float16
        self.channel_order: mx.array | None = None  # (B, H, D) uint16, see split.py
        self.offsets: mx.array | None = None  # (B, H, G, D) float16
        self.segment_starts: tuple[int, ...] = ()

    def observe(self, queries: mx.array, kv_heads: int) -> None:
        """Add queries (B, Hq, L, D), after RoPE, to the statistics, unless the scale is fixed or enough are known."""
        batch, _, length, dim = queries.shape
        few = length <= FEW
        if self.observed >= (PLENTY if few else ENOUGH) or not self.enabled or self.channel_scale is not None:
            return
        grouped = queries.reshape(batch, kv_heads, -1, dim).astype(mx.float32)
        power = mx.square(grouped).sum(axis=2)
        self.query_power = power if self.query_power is None else self.query_power + power
        self.observed += length
        if few and self.observed >= PLENTY:
            mx.async_eval(self.query_power)  # until then the queries are held

    def offset_for(self, start: int, rows: int, keys: mx.array) -> tuple[int, mx.array | None]:
        """How many of the next `rows` keys, bound for body row `start`, share an offset; and that offset (B, H, D).

        `keys` (B, H, n >= rows, D) are those keys and what newer ones are known. A segment opens where the last one is
        long enough; the body's first also fixes the channel scale, where enough keys are known.
        """
        if not self.enabled:
            return rows, None
        if self.offsets is not None and start - self.segment_starts[-1] < SEGMENT_MIN:
            return min(rows, SEGMENT_MIN - (start - self.segment_starts[-1])), self.offsets[:, :, -1]
        share = rows if self.offsets is None else min(rows, SEGMENT)
        sample = keys[:, :, : share if share >= SEGMENT_MIN else SEGMENT].astype(mx.float32)
        mean = mx.clip(sample.mean(axis=2), -MAX_NORM, MAX_NORM).astype(mx.float16)
        first = self.channel_scale is None and self.offsets is None
        if first and self.query_power is not None and sample.shape[2] >= SAMPLE_MIN:
            key_power = _power_around(mean.astype(mx.float32), sample)
            self.channel_scale, order, share_of_upper = _scale_and_order(self.query_power, key_power)
            self.channel_order = order if float(share_of_upper) >= WORTH_SPLITTING else None
        added = mean[:, :, None]
        self.offsets = added if self.offsets is None else mx.concatenate([self.offsets, added], axis=2)
        self.segment_starts += (start,)
        return share, mean

    def truncate(self, rows: int) -> None:
        """Forget the segments that begin at or behind body row `rows`."""
        kept = sum(start < rows for start in self.segment_starts)
        if kept == len(self.segment_starts):
            return
        self.segment_starts = self.segment_starts[:kept]
        if kept and self.offsets is not None:
            self.offsets = self.offsets[:, :, :kept]
        else:
            self.offsets = self.channel_scale = self.channel_order = None

    def drop_first(self, rows: int, held: int) -> None:
        """The body, of `held` rows, loses its oldest `rows`. The scale stays, also where nothing else does."""
        if self.offsets is None:
            return
        if rows >= held:
            self.offsets, self.segment_starts = None, ()
            return
        gone = sum(start <= rows for start in self.segment_starts) - 1
        self.offsets = self.offsets[:, :, gone:]
        self.segment_starts = tuple(max(start - rows, 0) for start in self.segment_starts[gone:])

    def named_arrays(self) -> dict[str, mx.array]:
        named = {name: getattr(self, name) for name in ARRAYS}
        return {name: array for name, array in named.items() if array is not None}

    def arrays(self) -> list[mx.array]:
        return list(self.named_arrays().values())

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.arrays())


def _power_around(mean: mx.array, keys: mx.array) -> mx.array:
    """Mean squares (B, H, D) of keys (B, H, n, D) around their mean (B, H, D).

    Of a head whose keys are all alike, as of one token repeated, those around zero: later keys won't be alike.
    """
    centred = mx.square(keys - mean[:, :, None]).mean(axis=2)
    whole = mx.square(keys).mean(axis=(2, 3))[..., None]
    still = centred.mean(axis=-1, keepdims=True) <= STILL * whole
    return mx.where(still, mx.where(whole > 0, whole, 1.0), centred)


def _scale_and_order(query_power: mx.array, key_power: mx.array) -> tuple[mx.array, mx.array, mx.array]:
    """sqrt(rms q / rms k) per channel, with a factor that makes the mean square norm of scaled keys 1; the order; and
    the upper half's share of the sum of rms q * rms k, weighted over heads by the square of that sum, as errors are.

    `query_power`, `key_power` (B, H, D): sums or means of squares; the keys' must be means. The order (B, H, D) uint16
    alternates channels of the upper and of the lower half by rms q * rms k, each half ascending.
    """
    query_power, key_power = (
        mx.maximum(power, 1e-6 * power.mean(axis=-1, keepdims=True) + 1e-30) for power in (query_power, key_power)
    )  # a channel that never moves isn't worth a bit
    log = mx.log(query_power) - mx.log(key_power)
    log = (log - log.mean(axis=-1, keepdims=True)) / 4
    scale = mx.exp(mx.clip(log, -4.0, 4.0))
    scale = scale * mx.rsqrt((key_power * mx.square(scale)).sum(axis=-1, keepdims=True))
    ranked = mx.argsort(-(mx.log(query_power) + mx.log(key_power)), axis=-1)
    half = ranked.shape[-1] // 2
    halves = [mx.sort(ranked[..., :half], axis=-1), mx.sort(ranked[..., half : 2 * half], axis=-1)]
    order = mx.stack(halves, axis=-1).reshape(*ranked.shape[:-1], -1)
    weight = mx.sqrt(query_power * key_power)
    upper = mx.take_along_axis(weight, halves[0], axis=-1).sum(axis=-1)
    total = weight.sum(axis=-1)
    share = (upper * total).sum() / mx.maximum(mx.square(total).sum(), 1e-30)
    return mx.clip(scale, SMALLEST_SCALE, LARGEST_SCALE).astype(mx.float16), order.astype(mx.uint16), share
