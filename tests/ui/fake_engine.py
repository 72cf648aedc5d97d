"""A scripted engine with the real one's interface: no model, no thread, time only where a test asks for it.

Its caches are counted, not computed: a token is a word, its bytes are a fixed number per scheme.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app import events as ev
from app.errors import AppError

FP16_PER_TOKEN = 23_040
BITS = {
    "none": (0, 0), "turbo4": (4, 4), "turbo3": (3, 3), "turbo2": (2, 2), "turbo4v2": (4, 2), "turbo4v3": (4, 3),
    "turbo0v4": (0, 4), "turbo0v2": (0, 2), "turbo8v4": (8, 4), "turbo8": (8, 8),
}  # fmt: skip
RATIO = {
    "none": 1.0, "turbo4": 3.76, "turbo3": 4.92, "turbo2": 7.11, "turbo4v2": 4.92, "turbo4v3": 4.27, "turbo0v4": 1.58,
    "turbo0v2": 1.75, "turbo8v4": 2.6, "turbo8": 1.94,
}  # fmt: skip
MODEL = "/models/Tiny-1B"
LAYERS = 30
RAW = 40
CONTEXT = 8192
FINGERPRINT = "f" * 16
PREFILL_RATE = 100.0
KLD = {
    "none": 0.0, "turbo4": 0.0024, "turbo3": 0.0098, "turbo2": 0.042, "turbo4v2": 0.0135, "turbo4v3": 0.0045,
    "turbo0v4": 0.0005, "turbo0v2": 0.0125, "turbo8v4": 0.0004,
}  # fmt: skip
BETTER = {"turbo0v4": "turbo8v4", "turbo0v2": "turbo4", "turbo4v2": "turbo3"}


def _fidelity(name: str) -> ev.SchemeFidelity | None:
    if name not in KLD:
        return None  # turbo8
    return ev.SchemeFidelity(KLD[name], 1 - KLD[name], 1536, 6, "Small-1B", "0.1.0", BETTER.get(name, ""))


OPTIONS = tuple(ev.SchemeOption(name, *BITS[name], RATIO[name], _fidelity(name)) for name in BITS)


def cache_bytes(scheme: str, tokens: int) -> int:
    raw = min(tokens, RAW)
    return int(FP16_PER_TOKEN * (raw + (tokens - raw) / RATIO[scheme]))


def fit(weights: int, free: int = int(9.3e9), total: int = int(17.2e9), context: int = 131_072) -> ev.ModelFit:
    """What a model of so many bytes of weights takes, at 100 kB a token."""
    lengths = (4096, 8192, 32_768, context)
    usable, work = int(0.75 * total), int(3e8)
    schemes = []
    for name, ratio in RATIO.items():
        per_token = 100_000 / ratio
        longest = min(context, max(0, int((free - weights - work) / per_token)))
        caches = tuple(int(per_token * length) for length in lengths)
        schemes.append(ev.SchemeFit(name, caches, longest, 0 if name == "none" else LAYERS))
    verdict = "fits" if weights < 0.7 * free else "tight" if weights < usable else "too large"
    sentence = {
        "fits": "It fits: with turbo4 the whole context has room beside what else is open.",
        "tight": "Tight: close other programs first, or keep the context short.",
        "too large": "Too large for this computer: its weights alone exceed what models may take.",
    }[verdict]
    return ev.ModelFit(weights, work, total, usable, free, context, lengths, tuple(schemes), LAYERS, verdict, sentence)


def cache_file(conversation_id: str) -> str:
    return f"{conversation_id}..{'0' * 32}.tqcache"


def words(text: str) -> int:
    return len(text.split())


@dataclass
class _Job:
    command: ev.Command
    events: Iterator[ev.Event]
    stopped: bool = False


class FakeEngine(QObject):
    """`reply(prompt)` gives a reply's text; `interval_ms` is the time between two events."""

    event_emitted = Signal(object)

    def __init__(self, reply: Callable[[str], str] | None = None, interval_ms: int = 0, context: int = CONTEXT) -> None:
        super().__init__()
        self.reply = reply or (lambda prompt: f"You said *{prompt}*.")
        self.context = context
        self.fail_next: AppError | None = None
        self.reject_snapshots: Literal["", "damaged", "another", "failed"] = ""
        self.refuse_caches = ""  # why an imported cache isn't taken
        self.packed: tuple[ev.PackedFile, ...] = ()  # the files of any conversation
        self.model_error: AppError | None = None
        self.model_errors: dict[str, AppError] = {}  # by path
        self.refused: set[str] = set()  # paths for which memory is short
        self.fits: dict[str, ev.ModelFit] = {}  # by model; others can't be told
        self.idle_unload_s = 0.0
        self.hold = False  # a reply doesn't go on while this is set
        self.received: list[ev.Command] = []
        self.counts: list[ev.CountTokens] = []
        self._counted = 0
        self.caches: dict[str, tuple[str, int]] = {}
        self.snapshots: dict[str, tuple[str, int]] = {}
        self._jobs: deque[_Job] = deque()
        self._timer = QTimer(self, interval=interval_ms)
        self._timer.timeout.connect(self.on_step)

    # ------------------------------------------------------------ the real one's interface

    def start(self) -> None:
        pass

    def submit(self, command: ev.Command) -> None:
        if isinstance(command, ev.CountTokens):
            self.counts.append(command)
            QTimer.singleShot(0, self, self.on_count)
            return
        self.received.append(command)
        self._jobs.append(_Job(command, self._run(command)))
        self._timer.start()

    def stop(self, conversation_id: str | None) -> None:
        for job in self._jobs:
            loads = conversation_id is None and isinstance(job.command, ev.LoadModel)
            if loads or getattr(job.command, "conversation_id", "") == conversation_id:
                job.stopped = True

    def shutdown(self, timeout_s: float = 3.0) -> bool:
        self.hold = False
        self._jobs = deque(list(self._jobs)[:1])
        while self._jobs:
            self._jobs[0].stopped = True
            self.on_step()
        for event in self._run(ev.SaveSnapshots()):
            self.event_emitted.emit(event)
        self._timer.stop()
        return True

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    @property
    def stopping(self) -> bool:
        return bool(self._jobs) and self._jobs[0].stopped

    def on_count(self) -> None:
        command = self.counts[self._counted]
        self._counted += 1
        self.event_emitted.emit(ev.TokensCounted(command.request, words(command.text)))

    def on_step(self) -> None:
        if not self._jobs:
            self._timer.stop()
            return
        if self.hold and not self.stopping:
            return
        event = next(self._jobs[0].events, None)
        if event is None:
            self._jobs.popleft()
        else:
            self.event_emitted.emit(event)

    # ------------------------------------------------------------ scripts

    def _run(self, command: ev.Command) -> Iterator[ev.Event]:
        match command:
            case ev.LoadModel():
                yield from self._load(command)
            case ev.OpenConversation():
                yield from self._open(command)
            case ev.JudgeFit():
                found = self.fits.get(command.model)
                yield ev.FitJudged(command.model, found, "" if found else "Its config says too little.")
            case ev.UnloadModel():
                yield ev.ModelUnloaded(MODEL, MODEL.rsplit("/", 1)[-1], idle=False)
            case ev.Generate():
                yield from self._generate(command)
            case ev.SwitchScheme():
                yield from self._switch(command)
            case ev.DiscardCache():
                self.caches.pop(command.conversation_id, None)
                if self.snapshots.pop(command.conversation_id, None):
                    yield ev.SnapshotsRemoved((cache_file(command.conversation_id),))
            case ev.DiscardAllCaches():
                gone = tuple(cache_file(name) for name in self.snapshots)
                self.snapshots.clear()
                yield ev.SnapshotsRemoved(gone)
            case ev.PackCache():
                yield ev.CachePacked(command.conversation_id, self.packed)
            case ev.AdoptCache():
                yield ev.CacheAdopted(command.conversation_id, self.refuse_caches)
            case ev.SaveSnapshots():
                for name, (scheme, tokens) in self.caches.items():
                    if tokens and self.snapshots.get(name) != (scheme, tokens):
                        self.snapshots[name] = (scheme, tokens)
                        size = cache_bytes(scheme, tokens) + 4096
                        yield ev.SnapshotSaved(
                            name, size, 0.02, tokens, cache_file(name), "", scheme, FINGERPRINT, PREFILL_RATE
                        )

    def _load(self, command: ev.LoadModel) -> Iterator[ev.Event]:
        yield ev.ModelLoading(command.path, command.path.rsplit("/", 1)[-1])
        error = self.model_errors.get(command.path, self.model_error)
        if error is not None:
            yield ev.ModelFailed(command.path, error)
            return
        if command.path in self.refused and not command.anyway and not command.context_tokens:
            error = AppError("Big-70B needs 42.0 GB and 9.30 GB are free.", "Close programs, or load it smaller.")
            yield ev.ModelFailed(command.path, error, fit(int(8.9e9)))
            return
        name = command.path.rsplit("/", 1)[-1]
        for done in range(0, 500, 100):
            yield ev.ModelLoadProgress(command.path, done * 1_000_000, 500_000_000)
            if self.stopping:
                yield ev.ModelFailed(command.path, AppError("Stopped."))
                return
        model = ev.ModelInfo(name, command.path, FINGERPRINT, "numba", 538_090_000, self.context, LAYERS, 3, 64)
        yield ev.ModelLoaded(model, OPTIONS, 0.8)

    def _open(self, command: ev.OpenConversation) -> Iterator[ev.Event]:
        name = command.conversation_id
        if self.reject_snapshots:
            yield ev.SnapshotRejected(name, "a checksum", self.reject_snapshots)
        elif name not in self.caches and name in self.snapshots:
            scheme, tokens = self.caches[name] = self.snapshots[name]
            yield ev.SnapshotLoaded(name, cache_bytes(scheme, tokens) + 4096, 0.03, tokens, scheme, cache_file(name))
        yield self._planned(name, command.scheme)
        yield self._sample(name, command.scheme)

    def _generate(self, command: ev.Generate) -> Iterator[ev.Event]:
        name, scheme = command.conversation_id, command.scheme
        prompt = sum(words(m.content) + 4 for m in command.messages)
        if prompt + 16 > self.context:
            droppable = self._droppable(command.messages)
            yield ev.ContextFull(name, command.reply_id, prompt, self.context, droppable)
            return
        held = self.caches.get(name, (scheme, 0))[1]
        reused = min(held, prompt - 1)
        yield ev.PrefillStarted(name, prompt, reused)
        yield self._sample(name, self.caches.get(name, (scheme, 0))[0], reused)
        text, tokens = command.begun, prompt
        for done in range(reused, prompt, 512):
            yield ev.PrefillProgress(name, done - reused, prompt - reused)
            if self.stopping:
                yield ev.TurnFinished(name, command.reply_id, "interrupted", scheme, text, prompt, reused, 0, 0.0, 0.0)
                return
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            yield ev.TurnFailed(name, command.reply_id, error)
            return
        if not held:
            yield self._sample(name, "none", prompt, as_scheme=scheme)
        self.caches[name] = (scheme, prompt)
        yield self._planned(name, scheme)
        yield self._sample(name, scheme)
        said = [message.content for message in command.messages if message.role == "user"]
        pieces = self.reply(said[-1]).removeprefix(command.begun).split(" ")
        reason = "stop"
        for number, piece in enumerate(pieces, 1):
            if self.stopping:
                reason = "interrupted"
                break
            part = piece if number == len(pieces) else piece + " "
            text, tokens = text + part, tokens + 1
            self.caches[name] = (scheme, tokens)
            yield ev.TokenBatch(name, command.reply_id, part, number)
            if number % 8 == 0:
                yield self._sample(name, scheme)
        yield self._sample(name, scheme)
        yield ev.TurnFinished(name, command.reply_id, reason, scheme, text, prompt, reused, tokens - prompt, 81.0, 42.3)

    def _droppable(self, messages: tuple[ev.ChatMessage, ...]) -> int:
        users = [i for i, m in enumerate(messages) if m.role == "user"]
        for turns in range(1, len(users)):
            if sum(words(m.content) + 4 for m in messages[users[turns] :]) + 16 <= self.context:
                return turns
        return 0

    def _switch(self, command: ev.SwitchScheme) -> Iterator[ev.Event]:
        name, (old, tokens) = command.conversation_id, self.caches.get(command.conversation_id, ("none", 0))
        if self.stopping:
            yield ev.SwitchFailed(name, old, command.scheme, None)
            return
        before, after = cache_bytes(old, tokens), cache_bytes(command.scheme, tokens)
        method = "empty" if not tokens else "encoded" if BITS[old][0] == 0 else "requantised"
        if tokens and old == command.scheme:
            method = "unchanged"
        if after > before:
            method = "rebuilt"
            for done in range(0, tokens, 256):
                if self.stopping:
                    yield ev.SwitchFailed(name, old, command.scheme, None)
                    return
                yield ev.SwitchProgress(name, done, tokens)
        self.caches[name] = (command.scheme, tokens)
        yield ev.SchemeSwitched(name, old, command.scheme, tokens, before, after, method, 0.21)
        yield self._planned(name, command.scheme)
        yield self._sample(name, command.scheme)

    # ------------------------------------------------------------ events

    def _planned(self, name: str, scheme: str) -> ev.CachePlanned:
        compressed = None if scheme == "none" else scheme
        return ev.CachePlanned(name, tuple(ev.LayerVerdict(i, "KVCache", compressed) for i in range(LAYERS)))

    def _sample(self, name: str, scheme: str, tokens: int | None = None, as_scheme: str = "") -> ev.MemorySample:
        held_scheme, held = self.caches.get(name, (scheme, 0))
        count = held if tokens is None else tokens
        used = cache_bytes(scheme if tokens is not None else held_scheme, count)
        raw = scheme == "none" or count <= RAW
        return ev.MemorySample(
            name, as_scheme or held_scheme, count, used, used + 262_144, FP16_PER_TOKEN * count,
            count if raw else RAW, 0 if raw else LAYERS, LAYERS, 560_000_000, 572_400_000, 1_310_000_000,
            tuple((other, cache_bytes(other, count)) for other in RATIO),
            tuple((other, tuple((n, cache_bytes(other, n)) for n in (0, RAW, RAW + 4096))) for other in RATIO),
        )  # fmt: skip
