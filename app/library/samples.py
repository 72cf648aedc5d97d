"""Which of many measured points a curve needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from app.events import MemorySample

REPLY_SAMPLES = 60  # about so many of one reply

Sample = tuple[MemorySample, str | None]  # and the last message of the branch that it was measured in


def thinned(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Of each branch the first, where the cache was cut back to; the last of each stretch of tokens; and those behind
    which the cache got smaller or changed its scheme.
    """
    for _, run in groupby(samples, lambda sample: (sample[0].conversation_id, sample[1])):
        one = list(run)
        tokens = [sample.tokens for sample, _ in one]
        width = (max(tokens) - min(tokens)) // REPLY_SAMPLES + 1
        for kept, (after, _) in pairwise(one):
            sample = kept[0]
            bends = sample.used_bytes > after.used_bytes or sample.scheme != after.scheme
            if kept is one[0] or bends or sample.tokens // width != after.tokens // width:
                yield kept
        yield one[-1]
