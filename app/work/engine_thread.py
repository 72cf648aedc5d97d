"""The engine in its thread: the only one that imports and touches MLX.

The window submits commands and hears events through one signal. MLX's streams belong to threads and lazy arrays carry
their maker's stream, so one thread lives as long as the program and does everything: load, generate, compress, save.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Signal

from app import paths
from app.engine.marker import WorkMarker
from app.errors import AppError
from app.events import (
    AdoptCache,
    CacheAdopted,
    CachePacked,
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
    PackCache,
    SaveSnapshots,
    SnapshotsRemoved,
    SwitchScheme,
    TokensCounted,
    UnloadModel,
)
from app.library.snapshots import SnapshotStore
from app.words import say
from app.work.collector import Collector

if TYPE_CHECKING:
    from app.engine.engine import Engine

log = logging.getLogger(__name__)

# What Stop can stop. The others are short.
_STOPPABLE = (LoadModel, Generate, SwitchScheme)
# Questions: answered between another command's events.
_ASIDES = (JudgeFit, CountTokens)
# What doesn't count as using the model.
_HOUSEKEEPING = (
    SaveSnapshots, LimitSnapshots, DiscardCache, DiscardAllCaches, PackCache, AdoptCache, UnloadModel, JudgeFit,
)  # fmt: skip
# Of the time for an orderly end, what stays for the end itself.
_END_S = 0.5


@dataclass(frozen=True)
class _Job:
    command: Command
    stop: threading.Event = field(default_factory=threading.Event)


class EngineThread(QObject):
    """Runs the engine in a thread of its own, one command after another; JudgeFit and CountTokens are answered between
    another's events.

    `event_emitted(object)` carries each of app.events' events. Connect it to a bound method of a QObject of the GUI's
    thread: it is then called there.
    """

    event_emitted = Signal(object)

    def __init__(self, snapshots: Path | None = None, parent: QObject | None = None) -> None:
        """`snapshots` is the folder of cache files; the user's own by default."""
        super().__init__(parent)
        self._snapshots = snapshots or paths.snapshots_dir()
        self._jobs: deque[_Job] = deque()  # the first one is running, or next
        self._asides: deque[JudgeFit | CountTokens] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._save_until = 0.0  # when closing: until then (monotonic) caches are saved
        self._loading = False
        self._idle_unload_s = 0.0
        self._used_at: float | None = None  # None: nothing to unload
        # A daemon: a native call that never returns mustn't keep the process alive.
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._collector = Collector(self)

    def start(self) -> None:
        """Start the thread. Call it when the window is on screen: importing MLX takes about a second."""
        self._collector.start()
        self._thread.start()

    def submit(self, command: Command) -> None:
        """Queue a command. Returns at once; its events follow, in order."""
        with self._changed:
            if isinstance(command, _ASIDES):
                self._asides.append(command)
            else:
                if not isinstance(command, _HOUSEKEEPING):  # a large cache is saved another time
                    self._give_up_saving()
                self._jobs.append(_Job(command))
            self._changed.notify()

    def _give_up_saving(self) -> None:
        for job in self._jobs:
            if isinstance(job.command, SaveSnapshots):
                job.stop.set()

    def stop(self, conversation_id: str | None) -> None:
        """Stop this conversation's replies and rebuilds, running or queued; None stops the loads, also one that a reply
        waits for. The rest goes on.
        """
        with self._changed:
            for job in self._jobs:
                command = job.command
                loads = isinstance(command, LoadModel) or (self._loading and job is self._jobs[0])
                mine = loads if conversation_id is None else getattr(command, "conversation_id", "") == conversation_id
                if isinstance(command, _STOPPABLE) and mine:
                    job.stop.set()

    @property
    def idle_unload_s(self) -> float:
        """After so many seconds without use the model's memory is given back; 0: never."""
        return self._idle_unload_s

    @idle_unload_s.setter
    def idle_unload_s(self, seconds: float) -> None:
        with self._changed:
            self._idle_unload_s = seconds
            self._changed.notify()

    @property
    def busy(self) -> bool:
        """Whether a command runs or waits."""
        return bool(self._jobs)

    def shutdown(self, timeout_s: float = 3.0) -> bool:
        """Stop what runs, drop what waits, save changed caches and end the thread, within `timeout_s` seconds.

        All events sent until then have been delivered when this returns. False means that the thread is stuck in a
        native call: the process should then end with os._exit, since MLX can't be torn down under a running thread.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._closing, self._save_until = True, deadline - _END_S
            for job in self._jobs:
                job.stop.set()
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
            self._collector.stop()
        if QCoreApplication.instance() is not None:
            QCoreApplication.sendPostedEvents(None, QEvent.Type.MetaCall)
        if self._thread.is_alive():
            WorkMarker(self._snapshots).clear()  # stuck is no crash: the user wanted the end
            return False
        return True

    # ------------------------------------------------------------ in the engine's thread

    def _run(self) -> None:
        try:
            # Imported here: the window must be on screen before MLX is loaded.
            from app.engine.engine import Engine
        except (ImportError, OSError) as error:
            log.exception("the engine can't be imported")
            self._refuse(
                AppError(
                    say("MLX can't be loaded: {0}.", error), say("Run the set-up again: it repairs this."), repr(error)
                )
            )
            return
        engine = Engine(self._snapshots, collect=lambda: self._collector.collect(lambda: self._closing))
        while self._wait():
            self._answer_asides(engine)
            if self._jobs:
                job = self._jobs[0]
                self._perform(engine, job)
                if not isinstance(job.command, _HOUSEKEEPING):
                    self._used_at = time.monotonic()
                self._done()
        for event in engine.close(self._save_until - time.monotonic()):
            self.event_emitted.emit(event)

    def _refuse(self, error: AppError) -> None:
        """Answer every load with the reason why there is no engine; without a model the window sends nothing else."""
        while self._wait():
            while self._asides:
                match self._asides.popleft():
                    case JudgeFit(model=model):
                        self.event_emitted.emit(FitJudged(model, None, str(error)))
                    case CountTokens(request=request):
                        self.event_emitted.emit(TokensCounted(request, None))
            if self._jobs:
                match self._jobs[0].command:
                    case LoadModel(path=path):
                        self.event_emitted.emit(ModelFailed(path, error))
                    case DiscardCache(conversation_id=conversation):
                        self._remove(conversation)
                    case DiscardAllCaches():
                        self._remove(None)
                    case PackCache(conversation_id=conversation):
                        self.event_emitted.emit(CachePacked(conversation))
                    case AdoptCache(conversation_id=conversation, path=path):
                        Path(path).unlink(missing_ok=True)
                        self.event_emitted.emit(CacheAdopted(conversation, str(error)))
                self._done()

    def _remove(self, conversation_id: str | None) -> None:
        store = SnapshotStore(self._snapshots)
        self.event_emitted.emit(SnapshotsRemoved(tuple(store.remove(store.files(conversation_id)))))

    def _done(self) -> None:
        with self._changed:
            self._jobs.popleft()

    def _wait(self) -> bool:
        """Until there is something to do, or the model has been idle for long enough; False when closing."""
        with self._changed:
            while not (self._closing or self._jobs or self._asides):
                left = self._idle_left()
                if left is not None and left <= 0:
                    self._used_at = None
                    self._jobs.append(_Job(UnloadModel(idle=True)))
                else:
                    self._changed.wait(left)
            return not self._closing

    def _idle_left(self) -> float | None:
        if self._used_at is None or self._idle_unload_s <= 0:
            return None
        return self._used_at + self._idle_unload_s - time.monotonic()

    def _perform(self, engine: Engine, job: _Job) -> None:
        for event in self._events(engine, job):
            self._tell(event)
            self._answer_asides(engine)

    def _answer_asides(self, engine: Engine) -> None:
        while self._asides and not self._closing:
            for event in self._events(engine, _Job(self._asides.popleft())):
                self._tell(event)

    def _events(self, engine: Engine, job: _Job) -> Iterator[Event]:
        try:
            yield from engine.run(job.command, job.stop)
        except Exception:
            # Engine.run answers failures with events; what comes here is a fault of the program. The thread lives on.
            log.exception("%s failed", type(job.command).__name__)

    def _tell(self, event: Event) -> None:
        if isinstance(event, ModelLoading | ModelLoaded | ModelFailed):
            self._loading = isinstance(event, ModelLoading)
        self.event_emitted.emit(event)
