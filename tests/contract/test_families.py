"""Every model module of mlx-lm under every scheme: a conversation of two turns, a rewind, a file, all within the
error that the scheme's codec explains.

What a cache holds and answers is checked layer by layer (watching.py): there a wrong position, a dropped sink or a lost
token can't hide behind the noise of quantisation. What comes out of the model is compared with the same model on
mlx-lm's own caches; how much a model amplifies an error of its cache is measured, not guessed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache, trim_prompt_cache

from tests.contract import families, test_routing
from tests.contract.watching import TYPICAL_KEY, TYPICAL_VALUE, watch
from turboquant import plan, report, snapshot
from turboquant.schemes import SCHEMES, Scheme, parse
from turboquant.segments import Policy

POLICY = Policy(first=2, tail=4, block=8)  # so that short conversations and windows of 32 tokens are packed
CHUNKS = (20, 30)  # of the first prompt
DECODED, REWOUND = 40, 10
NAMES = [name for name in families.modules() if name not in families.CANNOT]
COMPRESSING = [scheme.name for scheme in SCHEMES if scheme.compresses]
LOSSY = [name for name in COMPRESSING if name != "turbo8"]
STEPWISE = {"plamo3"}  # its masks of several rows are a token wider than those of one: only the same steps agree
# Modules that keep every layer raw are the same under every scheme, and much alike for the same reasons.
RAW = {name: tuple(reasons) for name, reasons in test_routing.RAW.items() if all(reasons)}
LIKE_ANOTHER = RAW.keys() - {reasons: name for name, reasons in reversed(RAW.items())}.values()
PACKED = [name for name in NAMES if name not in RAW]
# turbo8 leaves the least room for a fault to hide in; the others take turns over the modules
PLAIN = [name for name in PACKED if name not in families.NEEDS]  # shaped like Llama, but for a few
OFTEN = {"cohere", "gemma2", "gpt_oss", "iquestloopcoder", "mixtral", "phi3", "qwen2", "qwen3", "starcoder2"}
ALWAYS = [(name, "turbo8") for name in NAMES if name not in LIKE_ANOTHER and (name not in PLAIN or name in OFTEN)]
ALSO = [(name, LOSSY[i % len(LOSSY)]) for i, name in enumerate(PACKED)]
SLOW = [*ALSO, *((name, "turbo8") for name in NAMES if (name, "turbo8") not in ALWAYS)]
MORE = [(name, scheme) for name in PACKED for scheme in LOSSY if (name, scheme) not in ALSO]


@pytest.mark.parametrize(("name", "scheme"), [*ALWAYS, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SLOW)])
def test_a_conversation_is_as_exact_as_the_codec(name: str, scheme: str, tmp_path: Path) -> None:
    Conversation(name, parse(scheme)).run(tmp_path / "cache")


@pytest.mark.long
@pytest.mark.parametrize(("name", "scheme"), MORE)
def test_a_conversation_is_as_exact_as_the_codec_under_every_scheme(name: str, scheme: str, tmp_path: Path) -> None:
    Conversation(name, parse(scheme)).run(tmp_path / "cache")


class Conversation:
    """One sequence in a compressed cache. `tokens`: those fed; `logits`: what came out at each, (n, vocabulary)."""

    def __init__(self, name: str, scheme: Scheme, **changes: Any) -> None:
        self.name, self.model = name, families.tiny(name, **changes)
        self.scheme = scheme
        self.random = np.random.RandomState(5)
        self.tokens: list[int] = []
        self.steps: list[int] = []
        self.logits = np.zeros((0, families.VOCABULARY))
        self.caches = plan.make_cache(self.model, scheme, policy=POLICY)
        self.watches = watch(self.caches)

    def run(self, file: Path) -> None:
        for rows in CHUNKS:
            self.say(rows)
        self.answer(1)  # here the second phase begins
        self.check()
        self.answer(DECODED - 1)
        self.shrinks()
        self.rewind()
        self.say(1, times=REWOUND)
        self.check()
        self.reload(file)
        self.say(70)
        self.check()
        self.answer(2)
        self.say(5)  # as many at once as a draft proposes
        self.check()
        self.compare()

    def feed(self, tokens: list[int]) -> None:
        out = self.model(mx.array([tokens]), cache=self.caches)
        self.tokens += tokens
        self.steps.append(len(tokens))
        self.logits = np.concatenate([self.logits, np.array(out[0].astype(mx.float32))])

    def say(self, rows: int, times: int = 1) -> None:
        for _ in range(times):
            self.feed(self.random.randint(0, families.VOCABULARY, rows).tolist())

    def answer(self, count: int) -> None:
        """Greedily."""
        for _ in range(count):
            self.feed([int(self.logits[-1].argmax())])

    def check(self) -> None:
        assert np.isfinite(self.logits).all()
        for watching in self.watches:
            watching.check()

    def shrinks(self) -> None:
        """Bytes fall where a layer is packed, every other layer says why not."""
        for cache, verdict in zip(self.caches, plan.describe(self.caches), strict=True):
            assert bool(verdict.scheme) != bool(verdict.reason)
            if verdict.scheme:
                (ours,) = plan.packable([cache])
                assert ours.packing
                assert ours.shape is not None
                rows = min(ours.offset, ours.window or ours.offset)
                assert ours.used_bytes < 2 * rows * ours.shape[1] * (ours.shape[2] + ours.shape[3])

    def rewind(self) -> None:
        """Forget the newest tokens; where the caches can't, nothing has changed, and they are built anew."""
        held = [cache.offset for cache in plan.packable(self.caches)]
        del self.tokens[-REWOUND:], self.steps[-REWOUND:]  # steps of one token
        self.logits = self.logits[:-REWOUND]
        if trim_prompt_cache(self.caches, REWOUND) == REWOUND:
            assert [cache.offset for cache in plan.packable(self.caches)] == [n - REWOUND for n in held]
            return
        assert [cache.offset for cache in plan.packable(self.caches)] == held
        tokens, self.tokens, self.steps = self.tokens, [], []
        self.logits = self.logits[:0]
        self.caches = plan.make_cache(self.model, self.scheme, policy=POLICY)
        self.watches = watch(self.caches)
        self.feed(tokens)

    def reload(self, file: Path) -> None:
        """A file brings back the very same: the next step's logits don't differ in a bit."""
        snapshot.save(file, self.caches, self.tokens, "fingerprint")
        loaded = snapshot.load(file, self.model, "fingerprint").caches
        ours, theirs = report.measure(self.caches), report.measure(loaded)
        assert replace(ours, allocated_bytes=0) == replace(theirs, allocated_bytes=0)
        again = self.model(mx.array([[7]]), cache=loaded)
        self.feed([7])
        assert np.array_equal(np.array(again[0].astype(mx.float32)), self.logits[-1:])
        self.caches = loaded
        self.watches = watch(loaded, self.watches)

    def compare(self) -> None:
        """With the same model on mlx-lm's caches, and with what rounding the cache to 16 bits does to it.

        Half as much again is allowed, because an expert that is chosen otherwise isn't a linear error.
        """
        exact, rounded = (
            self._logits(caches)
            for caches in (make_prompt_cache(self.model), plan.make_cache(self.model, "none", policy=POLICY))
        )
        spread = np.linalg.norm(exact - exact.mean(-1, keepdims=True), axis=-1).mean()
        error = np.linalg.norm(self.logits - exact, axis=-1) / spread
        rounding = np.linalg.norm(rounded - exact, axis=-1) / spread
        amplified = rounding.mean() / 2.1e-4  # float16's own error, of a vector's length
        explained = 1.5 * amplified * np.hypot(TYPICAL_KEY[self.scheme.key_bits], TYPICAL_VALUE[self.scheme.value_bits])
        assert error.mean() < max(explained, 1e-4)

    def _logits(self, caches: list[Any]) -> np.ndarray:
        rows, start = [], 0
        for step in self.steps if self.name in STEPWISE else [60] * (len(self.tokens) // 60 + 1):
            if part := self.tokens[start : start + step]:
                out = self.model(mx.array([part]), cache=caches)
                rows.append(np.array(out[0].astype(mx.float32)))
            start += step
        return np.concatenate(rows)
