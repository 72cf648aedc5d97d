"""Importing a GGUF file in the background: one at a time, with progress, to be cancelled."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, SignalInstance

from app import paths
from app.engine.gguf import import_gguf
from app.errors import AppError, Interrupted
from app.work.tasks import Task, Tasks


class GgufImport(QObject):
    """`source` is what is being imported, None between imports. `changed` when that is another; `progressed(share)`;
    `finished(source, folder)`, `failed(source, AppError)`.
    """

    changed = Signal()
    progressed = Signal(float)
    finished = Signal(object, object)
    failed = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks = Tasks(self)
        self._task: Task | None = None
        self._stop = threading.Event()
        self.source: Path | None = None

    def start(self, source: Path) -> None:
        if self.source is None:
            self.source, self._stop = source, threading.Event()
            work = partial(_work, source, self._stop, self.progressed)
            self._task = self._tasks.run(work, self.on_done, self.on_failed)
            self.changed.emit()

    def cancel(self) -> None:
        """Stop it; nothing of it is kept."""
        if self._task is not None:
            self._stop.set()
            self._task.cancel()
            self._end()

    def _end(self) -> Path | None:
        source, self.source, self._task = self.source, None, None
        self.changed.emit()
        return source

    def on_done(self, folder: Path) -> None:
        self.finished.emit(self._end(), folder)

    def on_failed(self, error: AppError) -> None:
        self.failed.emit(self._end(), error)


def _work(source: Path, stop: threading.Event, progressed: SignalInstance) -> Path:
    def report(done: float) -> None:
        if stop.is_set():
            raise Interrupted
        progressed.emit(done)

    return import_gguf(source, paths.models_dir() / source.stem, progress=report)
