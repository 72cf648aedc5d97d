"""The engine: commands in, events out. Holds the loaded model and the caches of the last few conversations.

Lives in one thread, the only one that touches MLX. Knows nothing of Qt, so that anything can drive it:
`for event in engine.run(command, stop): ...`
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

from turboquant import backends, schemes  # before MLX: it loads a BLAS that makes prefill several times faster

# isort: split
import mlx.core as mx

from app.engine import fit, guard, loader, model_folder, prompt, turn
from app.engine.guard import LoadMarker, TooLarge
from app.engine.loader import LoadedModel
from app.engine.options import scheme_options
from app.engine.session import Session
from app.errors import AppError, Interrupted
from app.events import (
    BackendNotice,
    Command,
    CountTokens,
    DiscardCache,
    Event,
    FitJudged,
    Generate,
    JudgeFit,
    LoadModel,
    ModelFailed,
    ModelLoaded,
    ModelLoading,
    ModelUnloaded,
    OpenConversation,
    SaveSnapshots,
    SnapshotLoaded,
    SnapshotNotSaved,
    SnapshotRejected,
    SnapshotSaved,
    SwitchFailed,
    SwitchScheme,
    TokensCounted,
    TurnFailed,
    UnloadModel,
)
from app.library.snapshots import SnapshotStore
from turboquant.errors import SnapshotDamaged, SnapshotError, TurboQuantError

log = logging.getLogger(__name__)

KEPT_SESSIONS = 4
KEPT_BYTES = 1 << 30  # of caches that aren't the current conversation's


class Engine:
    """Runs one command at a time. `snapshots` is the folder of cache files."""

    def __init__(self, snapshots: Path, kept_sessions: int = KEPT_SESSIONS, kept_bytes: int = KEPT_BYTES) -> None:
        self._store = SnapshotStore(snapshots)
        self._marker = LoadMarker(snapshots / "loading.json")
        self._kept_sessions, self._kept_bytes = kept_sessions, kept_bytes
        self._loaded: LoadedModel | None = None
        self._command: LoadModel | None = None  # what loaded the model; an unloaded one is loaded again when needed
        self._sessions: OrderedDict[str, Session] = OrderedDict()  # the last one is the current one
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
        deadline = time.monotonic() + seconds
        for session in reversed(self._sessions.values()):
            if time.monotonic() < deadline:
                yield from self._save(session)
        self._sessions.clear()
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
                session = yield from self._session(command.conversation_id, command.scheme)
                yield session.planned()
                yield session.sample()
            case Generate():
                yield from self._wake(stop)
                session = yield from self._session(command.conversation_id, command.scheme)
                if session.scheme != command.scheme:
                    change = SwitchScheme(command.conversation_id, command.scheme, command.messages, command.params)
                    yield from session.switch(change, stop)
                yield from turn.answer(session, command, stop)
            case SwitchScheme():
                yield from self._wake(stop)
                held = self._sessions.get(command.conversation_id)
                session = yield from self._session(command.conversation_id, held.scheme if held else None)
                if stop.is_set():  # taken back before its turn came
                    yield SwitchFailed(command.conversation_id, session.scheme, command.scheme, None)
                else:
                    yield from session.switch(command, stop)
            case DiscardCache():
                self._sessions.pop(command.conversation_id, None)
                self._store.remove(command.conversation_id)
                mx.clear_cache()
            case SaveSnapshots():
                yield from self._save_all()

    # ------------------------------------------------------------ the model

    def _load(self, command: LoadModel, stop: threading.Event) -> Iterator[Event]:
        folder = Path(command.path)
        yield ModelLoading(str(folder), model_folder.display_name(folder))
        if command.at_start:
            self._marker.check(command.path)
        found = model_folder.require(folder)  # a folder that can't be loaded mustn't cost the model at hand
        if not command.anyway:
            guard.check_memory(found, model_folder.read_config(folder), command, fit.Machine.now())
        if stop.is_set():  # taken back in time: the model at hand stays
            raise Interrupted
        yield from self._let_go()
        self._command = None
        started = time.perf_counter()
        self._marker.set(command.path)
        try:
            loaded = yield from loader.load(folder, stop)
        finally:
            self._marker.clear()
        if command.context_tokens:
            shortest = min(command.context_tokens, loaded.info.context_tokens)
            loaded = replace(loaded, info=replace(loaded.info, context_tokens=shortest))
        self._loaded, self._command, self._noticed = loaded, command, loaded.notice
        head_dim = loaded.info.head_dim
        options = scheme_options(head_dim)
        yield ModelLoaded(loaded.info, options, time.perf_counter() - started, loaded.notice)

    def _unload(self, idle: bool) -> Iterator[Event]:
        """Nothing happens where no model is loaded."""
        if self._loaded is not None:
            path, name = self._loaded.info.path, self._loaded.info.name
            yield from self._let_go()
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

    def _let_go(self) -> Iterator[Event]:
        """Save the caches and give back the memory of model and caches."""
        yield from self._save_all()
        self._sessions.clear()
        self._loaded = None
        loader.free_memory()

    def _save_all(self) -> Iterator[Event]:
        """On its own: a session that a caller still names keeps its model."""
        for session in list(self._sessions.values()):
            yield from self._save(session)

    # ------------------------------------------------------------ conversations

    def _session(self, conversation_id: str, scheme: str | None) -> Generator[Event, None, Session]:
        """The conversation's session, made current: from memory, else from its file, else empty.

        `scheme` is what a file must hold, None whatever it holds.
        """
        if self._loaded is None:
            raise AppError("No model is loaded. Your message is kept.", "Choose a model first.")
        session = self._sessions.get(conversation_id)
        if session is None:
            session = yield from self._read(self._loaded, conversation_id, scheme)
            self._sessions[conversation_id] = session
        self._sessions.move_to_end(conversation_id)
        yield from self._make_room()
        return session

    def _read(self, loaded: LoadedModel, conversation_id: str, scheme: str | None) -> Generator[Event, None, Session]:
        path = self._store.path(conversation_id)
        if path.exists():
            started = time.perf_counter()
            try:
                session = Session.read(loaded, conversation_id, scheme, path)
            except SnapshotError as error:
                log.warning(
                    "%s: %s", path, str(error)
                )  # the text: a kept record mustn't keep the frames, and so a model
                if isinstance(error, SnapshotDamaged):
                    self._store.remove(conversation_id)
                yield SnapshotRejected(conversation_id, str(error))
            else:
                yield SnapshotLoaded(
                    conversation_id,
                    snapshot_bytes=self._store.size(conversation_id),
                    seconds=time.perf_counter() - started,
                    tokens=len(session.tokens),
                    scheme=session.scheme,
                )
                return session
        return Session(loaded, conversation_id, scheme or schemes.NONE.name)

    def _make_room(self) -> Iterator[Event]:
        """Save and let go of the caches used longest ago, beyond what may be kept beside the current one."""
        others = list(self._sessions.items())[:-1]
        held = sum(session.allocated_bytes for _, session in others)
        for left, (conversation_id, session) in zip(range(len(others), 0, -1), others, strict=True):
            if left < self._kept_sessions and held <= self._kept_bytes:
                break
            yield from self._save(session)
            held -= session.allocated_bytes
            del self._sessions[conversation_id]
            mx.clear_cache()

    def _save(self, session: Session) -> Iterator[Event]:
        if not session.dirty:
            return
        conversation_id, started = session.conversation_id, time.perf_counter()
        try:
            if session.tokens:
                size = session.write(self._store.path(conversation_id))
                yield SnapshotSaved(conversation_id, size, time.perf_counter() - started, len(session.tokens))
            else:
                self._store.remove(conversation_id)
                session.dirty = False
        except OSError as error:
            log.warning("the cache of %s can't be saved: %s", conversation_id, error)
            yield SnapshotNotSaved(conversation_id, error.strerror or str(error))

    def _news(self) -> Iterator[Event]:
        """What the backend says since it was asked last: kernels are compiled, and checked, at their first use."""
        if self._loaded and (notice := backends.choose().notice) != self._noticed:
            self._noticed = notice
            yield BackendNotice(notice)

    # ------------------------------------------------------------ failures

    def _failed(self, command: Command, error: AppError) -> Iterator[Event]:
        match command:
            case LoadModel():
                loader.free_memory()  # of what was read before it failed
                yield ModelFailed(command.path, error, error.fit if isinstance(error, TooLarge) else None)
            case JudgeFit():
                yield FitJudged(command.model, None, str(error))
            case CountTokens():
                yield TokensCounted(command.request, None)
            case Generate():
                yield TurnFailed(command.conversation_id, command.reply_id, error)
            case SwitchScheme():
                session = self._sessions.get(command.conversation_id)
                yield SwitchFailed(command.conversation_id, session.scheme if session else "", command.scheme, error)
            case OpenConversation():
                yield SnapshotRejected(command.conversation_id, str(error))
            case DiscardCache() | SaveSnapshots() | UnloadModel():
                log.error("%s: %s", type(command).__name__, error)


def _explained(error: BaseException) -> AppError:
    """What the window is told. It may keep that for long, so no frame hangs on it, and with a frame a model."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    if isinstance(error, AppError):
        return error
    if isinstance(error, Interrupted):
        return AppError("Stopped.")
    if isinstance(error, TurboQuantError):
        return AppError(str(error), detail=repr(error))
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return AppError(
        f"The engine met an error: {first}. What was said so far is kept.",
        "Try again. If memory ran out, choose a smaller model or start a new conversation.",
        repr(error),
    )
