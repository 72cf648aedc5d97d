"""The engine: commands in, events out. Holds the loaded model and the caches of the last few conversations.

Lives in one thread, the only one that touches MLX. Knows nothing of Qt, so that anything can drive it:
`for event in engine.run(command, stop): ...`
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from turboquant import backends  # before MLX: it loads a BLAS that makes prefill several times faster

# isort: split
from app.engine import fit, guard, loader, model_folder, prompt, turn
from app.engine.guard import TooLarge
from app.engine.loader import LoadedModel
from app.engine.marker import Doing, Unfinished, WorkMarker
from app.engine.options import scheme_options
from app.engine.session import Session
from app.engine.sessions import Sessions
from app.errors import AppError, Interrupted
from app.events import (
    AdoptCache,
    BackendNotice,
    CacheAdopted,
    CachePacked,
    CachePlanned,
    Command,
    CountTokens,
    DiscardAllCaches,
    DiscardCache,
    Event,
    FitJudged,
    Generate,
    JudgeFit,
    LimitSnapshots,
    LoadModel,
    ModelFailed,
    ModelLoaded,
    ModelLoading,
    ModelUnloaded,
    OpenConversation,
    PackCache,
    PrefillStarted,
    SaveSnapshots,
    SnapshotRejected,
    SwitchFailed,
    SwitchScheme,
    TokensCounted,
    TurnFailed,
    TurnFinished,
    UnloadModel,
)
from app.words import retold, say
from turboquant.errors import TurboQuantError

log = logging.getLogger(__name__)

KEPT_SESSIONS = 4
KEPT_BYTES = 1 << 30  # of caches that aren't the current conversation's


class Engine:
    """Runs one command at a time. `snapshots` is the folder of cache files; `collect` ends objects in cycles."""

    def __init__(
        self,
        snapshots: Path,
        kept_sessions: int = KEPT_SESSIONS,
        kept_bytes: int = KEPT_BYTES,
        collect: Callable[[], object] = gc.collect,
    ) -> None:
        self._collect = collect
        self._marker = WorkMarker(snapshots)
        self.sessions = Sessions(snapshots, self._marker, kept_sessions, kept_bytes)
        self._loaded: LoadedModel | None = None
        self._command: LoadModel | None = None  # what loaded the model; an unloaded one is loaded again when needed
        self._noticed = ""  # what the backend said last

    def run(self, command: Command, stop: threading.Event) -> Iterator[Event]:
        """Every failure ends in an event of its command; none is raised."""
        try:
            for event in self._perform(command, stop):
                yield event
                yield from self._news()
        except GeneratorExit:
            raise
        except BaseException as error:  # a panic in Rust, as tokenizers may have, is no Exception: the thread must live
            if not isinstance(error, AppError | Interrupted):
                log.exception("%s failed", type(command).__name__)
            yield from self._failed(command, _explained(error))
        yield from self._news()

    def close(self, seconds: float = 2.0) -> Iterator[Event]:
        """Save changed caches, the latest first, for at most about this long; then let everything go."""
        yield from self.sessions.save_until(time.monotonic() + seconds)
        self.sessions.held.clear()
        self._loaded = None

    def _perform(self, command: Command, stop: threading.Event) -> Iterator[Event]:
        match command:
            case LoadModel():
                yield from self._load(command, stop)
            case UnloadModel():
                yield from self._unload(command.idle)
            case JudgeFit():
                yield FitJudged(command.model, fit.judge(command.config, command.weights_bytes))
            case CountTokens():
                loaded = self._loaded
                yield TokensCounted(
                    command.request, len(prompt.encode(loaded.tokenizer, command.text)) if loaded else None
                )
            case OpenConversation():
                if self._asleep:  # looking at a conversation wakes no model
                    return
                session = yield from self.sessions.take(self._ready(), command)
                yield session.planned()
                yield session.sample()
            case Generate():
                yield from self._wake(stop)
                session = yield from self.sessions.take(self._ready(), command)
                yield from self._answer(session, command, stop)
            case SwitchScheme():
                yield from self._wake(stop)
                session = yield from self.sessions.take(self._ready(), command)
                if stop.is_set():  # taken back before its turn came
                    yield SwitchFailed(command.conversation_id, session.scheme, command.scheme, None)
                else:
                    yield from self._switch(session, command, stop)
            case DiscardCache():
                yield from self.sessions.discard(command.conversation_id)
            case DiscardAllCaches():
                yield from self.sessions.discard_all()
            case SaveSnapshots():
                yield from self.sessions.save_all(stop.is_set)
            case LimitSnapshots():
                yield from self.sessions.limit(command.quota_bytes)
            case PackCache():
                yield from self.sessions.pack(command.conversation_id)
            case AdoptCache():
                yield from self._wake(stop)
                yield from self.sessions.adopt(self._loaded, command)

    def _answer(self, session: Session, command: Generate, stop: threading.Event) -> Iterator[Event]:
        if session.scheme != command.scheme:
            change = SwitchScheme(command.conversation_id, command.scheme, command.messages, command.params)
            yield from self._switch(session, change, stop)
        try:
            for event in turn.answer(session, command, stop):
                if isinstance(event, PrefillStarted):
                    self.sessions.begun(session, command)
                    self._mark("prefill", command.conversation_id)
                elif isinstance(event, CachePlanned):
                    self._mark("generate", command.conversation_id)
                elif isinstance(event, TurnFinished):
                    self.sessions.note(session, event)
                yield event
        finally:
            self._marker.clear()

    def _switch(self, session: Session, command: SwitchScheme, stop: threading.Event) -> Iterator[Event]:
        self._mark("switch", command.conversation_id)
        try:
            yield from session.switch(command, stop)
        finally:
            self._marker.clear()

    def _mark(self, doing: Doing, conversation_id: str) -> None:
        self._marker.set(Unfinished(doing, self._ready().info.path, conversation_id))

    # ------------------------------------------------------------ the model

    def _load(self, command: LoadModel, stop: threading.Event) -> Iterator[Event]:
        folder = Path(command.path)
        yield ModelLoading(str(folder), model_folder.display_name(folder))
        found = model_folder.require(folder)  # a folder that can't be loaded mustn't cost the model at hand
        if not command.anyway:
            guard.check_memory(found, model_folder.read_config(folder), command, fit.Machine.now())
        if stop.is_set():  # taken back in time: the model at hand stays
            raise Interrupted
        if self._loaded is not None:
            yield from self._let_go(stop)
        self._command = None
        started = time.perf_counter()
        with self._marker.over(Unfinished("load", command.path)):
            loaded = yield from loader.load(folder, stop)
        if command.context_tokens:
            shortest = min(command.context_tokens, loaded.info.context_tokens)
            loaded = replace(loaded, info=replace(loaded.info, context_tokens=shortest))
        self._loaded, self._command, self._noticed = loaded, command, loaded.notice
        head_dim = loaded.info.head_dim
        options = scheme_options(head_dim)
        yield ModelLoaded(loaded.info, options, time.perf_counter() - started, retold(loaded.notice))

    def _unload(self, idle: bool) -> Iterator[Event]:
        """Nothing happens where no model is loaded."""
        if self._loaded is not None:
            path, name = self._loaded.info.path, self._loaded.info.name
            yield from self._let_go(threading.Event())
            yield ModelUnloaded(path, name, idle)

    @property
    def _asleep(self) -> bool:
        return self._loaded is None and self._command is not None

    def _wake(self, stop: threading.Event) -> Iterator[Event]:
        """Load again what was unloaded. Raises what loading raises; the window hears of it as of any load."""
        if self._asleep:
            command = self._command
            assert command is not None
            try:
                yield from self._load(command, stop)
            except Exception as error:
                self._command = command
                yield from self._failed(command, _explained(error))
                raise

    def _let_go(self, stop: threading.Event) -> Iterator[Event]:
        """Save the caches and give back the memory of model and caches. Raises Interrupted with all still there."""
        yield from self.sessions.save_all(stop.is_set)
        if stop.is_set():
            raise Interrupted
        self.sessions.held.clear()
        self._loaded = None
        loader.free_memory(self._collect)

    def _ready(self) -> LoadedModel:
        """Raises AppError."""
        if self._loaded is None:
            raise AppError(say("No model is loaded. Your message is kept."), say("Choose a model first."))
        return self._loaded

    def _news(self) -> Iterator[Event]:
        """What the backend says since it was asked last: kernels are compiled, and checked, at their first use."""
        if self._loaded and (notice := backends.choose().notice) != self._noticed:
            self._noticed = notice
            yield BackendNotice(retold(notice))

    # ------------------------------------------------------------ failures

    def _failed(self, command: Command, error: AppError) -> Iterator[Event]:
        match command:
            case LoadModel():
                loader.free_memory(self._collect)  # of what was read before it failed
                yield ModelFailed(command.path, error, error.fit if isinstance(error, TooLarge) else None)
            case JudgeFit():
                yield FitJudged(command.model, None, str(error))
            case CountTokens():
                yield TokensCounted(command.request, None)
            case Generate():
                yield TurnFailed(command.conversation_id, command.reply_id, error)
            case SwitchScheme():
                session = self.sessions.held.get(command.conversation_id)
                yield SwitchFailed(command.conversation_id, session.scheme if session else "", command.scheme, error)
            case OpenConversation():
                yield SnapshotRejected(command.conversation_id, str(error), "failed")
            case PackCache():
                yield CachePacked(command.conversation_id)
            case AdoptCache():
                yield CacheAdopted(command.conversation_id, str(error))
            case DiscardCache() | DiscardAllCaches() | SaveSnapshots() | LimitSnapshots() | UnloadModel():
                log.error("%s: %s", type(command).__name__, error)


def _explained(error: BaseException) -> AppError:
    """What the window is told. It may keep that for long, so no frame hangs on it, and with a frame a model."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    if isinstance(error, AppError):
        return error
    if isinstance(error, Interrupted):
        return AppError(say("Stopped."))
    if isinstance(error, TurboQuantError):
        return AppError(str(error), detail=repr(error))
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return AppError(
        say("The engine met an error: {0}. What was said so far is kept.", first),
        say("Try again. If memory ran out, choose a smaller model or start a new conversation."),
        repr(error),
    )
