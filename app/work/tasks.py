"""Short background jobs: work in a thread of its own, its result in the window's thread.

    self._tasks = Tasks(self)
    task = self._tasks.run(partial(models.installed, folder), self.on_listed, self.on_failed)

For what takes longer than a slot may (8 ms) and doesn't touch MLX: reading folders, asking the hub.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.errors import AppError, Interrupted
from app.words import say

log = logging.getLogger(__name__)


class Task(QObject):
    """One job. `cancel` makes sure that neither answer comes any more; the work itself ends unheard."""

    done = Signal(object)
    failed = Signal(object)  # AppError
    _ended = Signal(object, object)  # result, AppError | None; from the job's thread

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._cancelled = False
        self._ended.connect(self.on_ended)

    def cancel(self) -> None:
        self._cancelled = True

    def on_ended(self, result: Any, error: AppError | None) -> None:
        if not self._cancelled:
            if error is None:
                self.done.emit(result)
            else:
                self.failed.emit(error)
        self.deleteLater()

    def perform(self, work: Callable[[], Any]) -> None:
        """In the job's thread: do it and tell."""
        result, error = None, None
        try:
            result = work()
        except Interrupted:
            self._cancelled = True
        except AppError as told:
            error = told
        except Exception as fault:
            log.exception("a background job failed")
            error = AppError(
                say("Something went wrong in the program; nothing was changed."), say("Try again."), repr(fault)
            )
        try:
            self._ended.emit(result, error)
        except RuntimeError:  # the window, and this with it, is gone
            log.info("nobody is left to hear of a background job")


class Tasks(QObject):
    """Starts jobs. Lives in the window's thread; what it starts ends with the program at the latest."""

    def run(
        self,
        work: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_failed: Callable[[AppError], None],
    ) -> Task:
        """Start `work` now. `on_done(result)` or `on_failed(AppError)` follows in this thread, unless cancelled.

        Both must be bound methods of QObjects of this thread: they are called there.
        """
        task = Task(self)
        task.done.connect(on_done)
        task.failed.connect(on_failed)
        # A daemon: a call that hangs in the network mustn't keep the process alive.
        threading.Thread(target=task.perform, args=(work,), name="task", daemon=True).start()
        return task
