"""One conversation's cache: which tokens it holds, how it is prefilled, cut back, stored, held in another scheme.

`tokens` are at every moment exactly those whose keys and values the caches hold. Runs in the engine thread; events
carry plain numbers.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import psutil
from mlx_lm.generate import generation_stream
from mlx_lm.models.cache import can_trim_prompt_cache, trim_prompt_cache

from app.engine.loader import LoadedModel
from app.errors import Interrupted
from app.events import (
    CachePlanned,
    Event,
    LayerVerdict,
    MemorySample,
    SchemeSwitched,
    SwitchFailed,
    SwitchProgress,
    SwitchScheme,
)
from app.words import retold
from turboquant import TurboQuantCache, make_cache, plan, report, schemes, snapshot
from turboquant.errors import SnapshotDamaged
from turboquant.segments import Policy

# A stop acts between two steps of prefill: small enough for a second on a laptop's CPU.
CPU_PREFILL_STEP = 128
GPU_PREFILL_STEP = 512
# A packed cache that is cut back to less than this isn't worth its old statistics: begin afresh.
MIN_KEPT_TOKENS = 64

_process = psutil.Process()
Curves = tuple[tuple[str, tuple[tuple[int, int], ...]], ...]


def least_kept(scheme: str) -> int:
    """How many tokens a cache under this scheme must keep to be cut back; what isn't packed may be cut anywhere."""
    return 1 if scheme == schemes.NONE.name else MIN_KEPT_TOKENS


class Session:
    """The cache of one conversation under one model. `dirty`: it changed since it was last saved or loaded.

    `tip` is the last message of the branch that it holds, and `branch` all messages of that.
    """

    def __init__(self, loaded: LoadedModel, conversation_id: str, scheme: str) -> None:
        """Raises UnknownScheme."""
        self.conversation_id = conversation_id
        self.scheme = schemes.parse(scheme).name
        self.caches: list[Any] = make_cache(loaded.model, self.scheme)
        self.tokens: list[int] = []
        self.dirty = False
        self.tip = ""
        self.branch: frozenset[str] = frozenset()
        self.loaded = loaded
        self._exact = True  # nothing was cut back: the same tokens, in the same steps, give the same cache
        self._start: tuple[list[int], list[Any]] | None = None  # tokens and caches before the last turn, if it's seeded
        self._curves: tuple[tuple[str, ...], Curves] | None = None  # for which reasons of the layers, and the curves
        self._step = CPU_PREFILL_STEP if mx.default_device() == mx.cpu else GPU_PREFILL_STEP

    # ------------------------------------------------------------ storing

    @classmethod
    def read(cls, loaded: LoadedModel, conversation_id: str, scheme: str | None, path: Path) -> Session:
        """A session from a cache file. Raises SnapshotDamaged, SnapshotMismatch; UnknownScheme for the one wanted."""
        wanted = None if scheme is None else schemes.parse(scheme)
        try:
            stored = snapshot.load(path, loaded.model, loaded.info.fingerprint, wanted)
            session = cls(loaded, conversation_id, stored.scheme)
            session.caches, session.tokens = stored.caches, [int(token) for token in stored.tokens]
            held = _held_tokens(session.caches, len(session.tokens))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The checksum is right and the content isn't: another program wrote it.
            raise SnapshotDamaged("The cache file isn't laid out as this program does it.") from error
        if held != len(session.tokens):
            raise SnapshotDamaged(f"The cache file names {len(session.tokens)} tokens and holds {held}.")
        return session

    def write(self, path: Path, cancelled: Callable[[], bool] = lambda: False) -> int:
        """Save the cache; returns the file's bytes. Raises OSError and, once `cancelled` says so, SaveCancelled."""
        size = snapshot.save(path, self.caches, self.tokens, self.loaded.info.fingerprint, cancelled)
        self.dirty = False
        return size

    def copy(self, conversation_id: str) -> Session:
        """The same cache for another conversation. Buffers are shared until one of the two writes."""
        twin = Session(self.loaded, conversation_id, self.scheme)
        twin.caches, twin.tokens = copy.deepcopy(self.caches), list(self.tokens)
        twin._exact = False
        return twin

    def reset(self) -> None:
        """Hold nothing."""
        self.caches = make_cache(self.loaded.model, self.scheme)
        self.tokens = []
        self._curves = None
        self._exact, self._start = True, None
        mx.clear_cache()

    @property
    def can_trim(self) -> bool:
        """Whether any number of tokens can be cut off: not where states or moved windows hold what came before."""
        return bool(can_trim_prompt_cache(self.caches))

    @property
    def allocated_bytes(self) -> int:
        return report.measure(self.caches).allocated_bytes

    # ------------------------------------------------------------ one turn

    def prefill(self, tokens: list[int], caches: list[Any], stop: threading.Event) -> Iterator[int]:
        """Compute `tokens` into `caches`; yields the count done after each step. Raises Interrupted between steps."""
        for start in range(0, len(tokens), self._step):
            if stop.is_set():
                raise Interrupted
            part = tokens[start : start + self._step]
            with mx.stream(generation_stream):
                self.loaded.model(mx.array(part)[None], cache=caches)
                mx.eval([_arrays(cache) for cache in caches])
            mx.clear_cache()
            yield start + len(part)
        if stop.is_set():
            raise Interrupted

    def rewind(self, keep: int) -> None:
        """Hold the first `keep` tokens only, or none where the caches can't be cut back that far."""
        drop = len(self.tokens) - keep
        if drop == 0:
            return
        if self._start is not None and len(self._start[0]) <= keep:
            self.tokens, self.caches = list(self._start[0]), copy.deepcopy(self._start[1])
        elif keep >= least_kept(self.scheme) and trim_prompt_cache(self.caches, drop) == drop:
            del self.tokens[keep:]
            self._exact, self._start = False, None
        else:
            self.reset()

    def repeatable(self, wanted: bool) -> None:
        """Before a turn whose seed shall give the same reply again. A packed token differs a little from a raw one: a
        cache that was cut back, or taken over, begins afresh, and what is held now is kept for the turn's repetition.
        """
        if wanted and not self._exact:
            self.reset()
        self._start = (list(self.tokens), copy.deepcopy(self.caches)) if wanted else None

    def settle(self, fed: list[int], keep: int) -> None:
        """After generating: the caches hold `fed`; forget what lies behind its first `keep` tokens if they can."""
        held = _held_tokens(self.caches, len(fed))
        if held != len(fed):
            raise RuntimeError(f"the cache holds {held} tokens instead of {len(fed)}")
        self.tokens = fed
        if keep < len(fed) and trim_prompt_cache(self.caches, len(fed) - keep):
            del self.tokens[keep:]

    # ------------------------------------------------------------ another scheme

    def switch(self, command: SwitchScheme, stop: threading.Event) -> Iterator[Event]:
        """Hold the same tokens under another scheme; from exact data where there is some, else by a new prefill.

        A stopped rebuild ends with SwitchFailed and the old cache in place. Raises UnknownScheme and whatever MLX
        raises, with the old cache in place.
        """
        wanted = schemes.parse(command.scheme).name
        before, started, old = report.measure(self.caches), time.perf_counter(), self.scheme
        method: str = plan.switch_method(self.caches, wanted)
        if method == "rebuild":
            fresh = make_cache(self.loaded.model, wanted)
            try:
                yield SwitchProgress(self.conversation_id, 0, len(self.tokens))
                for done in self.prefill(self.tokens, fresh, stop):
                    yield SwitchProgress(self.conversation_id, done, len(self.tokens))
            except Interrupted:
                del fresh
                mx.clear_cache()
                yield SwitchFailed(self.conversation_id, old, wanted, None)
                return
            plan.compress(fresh)
            self.caches, method = fresh, "rebuilt"
        else:
            plan.switch(self.caches, wanted)
        self.scheme = wanted
        self.dirty = self.dirty or method != "unchanged"
        mx.clear_cache()
        yield SchemeSwitched(
            self.conversation_id,
            from_scheme=old,
            to_scheme=wanted,
            tokens=len(self.tokens),
            bytes_before=before.used_bytes,
            bytes_after=report.measure(self.caches).used_bytes,
            method=method,  # type: ignore[arg-type]  # plan's methods, with rebuild done
            seconds=time.perf_counter() - started,
        )
        yield self.planned()
        yield self.sample()

    # ------------------------------------------------------------ reports

    def planned(self) -> CachePlanned:
        layers = plan.describe(self.caches)
        return CachePlanned(
            self.conversation_id,
            tuple(LayerVerdict(at.index, at.kind, at.scheme, retold(at.reason), retold(at.note)) for at in layers),
        )

    def sample(self) -> MemorySample:
        measured = report.measure(self.caches)
        return MemorySample(
            self.conversation_id,
            scheme=self.scheme,
            tokens=measured.tokens,
            used_bytes=measured.used_bytes,
            allocated_bytes=measured.allocated_bytes,
            # Under none the cache itself is what it takes uncompressed, with the statistics that a switch would need.
            fp16_bytes=measured.used_bytes if self.scheme == schemes.NONE.name else measured.fp16_bytes,
            raw_tokens=measured.raw_tokens,
            layers_compressed=measured.layers_compressed,
            layers_total=measured.layers_total,
            active_bytes=mx.get_active_memory(),
            peak_bytes=mx.get_peak_memory(),
            resident_bytes=_process.memory_info().rss,
            predicted=tuple((s.name, report.predict(self.caches, s, measured.tokens)) for s in schemes.SCHEMES),
            curves=self._predicted_curves() if measured.tokens else (),
        )

    def _predicted_curves(self) -> Curves:
        """What each scheme takes by tokens: raw up to where packing begins, then block by block, drawn through the
        middle of a block's raw and packed state. Computed again only when a layer has found a reason to stay raw.
        """
        layers = plan.packable(self.caches)
        reasons = tuple(cache.reason for cache in layers)
        if self._curves is None or self._curves[0] != reasons:
            policy = next((cache.policy for cache in layers if not cache.window), Policy())
            bend = policy.first + policy.tail + policy.block // 2
            windows = {cache.window for cache in layers if cache.window}  # where a layer stops growing
            counts = sorted({0, bend, *windows, max(bend, *windows, 0) + 64 * policy.block})
            curves = tuple(
                (s.name, tuple((n, report.predict(self.caches, s, n)) for n in counts)) for s in schemes.SCHEMES
            )
            self._curves = reasons, curves
        return self._curves[1]


def _arrays(cache: Any) -> Any:
    """What a step of prefill has to compute. The logits aren't in it; neither are copies cut to the tokens held."""
    return cache.all_arrays() if isinstance(cache, TurboQuantCache) else cache.state


def _held_tokens(caches: list[Any], otherwise: int) -> int:
    """How many tokens the caches say they hold; `otherwise` where none of them counts (recurrent states)."""
    return max((int(cache.offset) for cache in caches if hasattr(cache, "offset")), default=otherwise)
