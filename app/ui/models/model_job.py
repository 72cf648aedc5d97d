"""Work on one model's files in the background: importing a GGUF file, or looking at every byte of a model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance

from app.errors import AppError, Interrupted
from app.work.tasks import Task, Tasks

Work = Callable[[Callable[[float], None]], Any]  # it reports from 0 to 1, and ends when the report raises


class ModelJob(QObject):
    """One at a time. `path` is of what is worked on, None between jobs. `changed` when that is another;
    `progressed(share)`; `finished(path, result)`, `failed(path, AppError)`.
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
        self.path: Path | None = None

    def start(self, path: Path, work: Work) -> None:
        if self.path is None:
            self.path, self._stop = path, threading.Event()
            job = partial(_perform, work, self._stop, self.progressed)
            self._task = self._tasks.run(job, self.on_done, self.on_failed)
            self.changed.emit()

    def cancel(self) -> None:
        """Stop it; nothing of it is kept."""
        if self._task is not None:
            self._stop.set()
            self._task.cancel()
            self._end()

    def _end(self) -> Path | None:
        path, self.path, self._task = self.path, None, None
        self.changed.emit()
        return path

    def on_done(self, result: object) -> None:
        self.finished.emit(self._end(), result)

    def on_failed(self, error: AppError) -> None:
        self.failed.emit(self._end(), error)


def _perform(work: Work, stop: threading.Event, progressed: SignalInstance) -> object:
    def report(done: float) -> None:
        if stop.is_set():
            raise Interrupted
        progressed.emit(done)

    return work(report)
