"""What must get into the library, whatever the disk says: in order, kept until it is written."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Hashable
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer

from app.library.conversations import Library
from app.ui.shared.notice_bar import NoticeBar
from app.words import why

log = logging.getLogger(__name__)

RETRY_MS = 1000
T = TypeVar("T")
NOT_NOW = (sqlite3.OperationalError, OSError)


class Writing(QObject):
    """`put` writes what the engine said, later if it can't be now; `now` what the user wants, at once or not at all."""

    def __init__(self, library: Library, notices: NoticeBar, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._notices = library, notices
        self._left: dict[Hashable, Callable[[], object]] = {}
        self._told = ""  # the notice that stands for what is left
        self._timer = QTimer(self, interval=RETRY_MS)
        self._timer.timeout.connect(self.flush)

    def put(self, subject: Hashable, write: Callable[[], object]) -> None:
        """Write this, behind what is left. It takes the place of what is left of the same subject."""
        self._left[subject] = write
        self.flush()

    def now(self, write: Callable[[], T]) -> T | None:
        """All of `write` in one transaction; None, and the reason told, where nothing could be written."""
        try:
            self._drain()
            with self._library.transaction():
                return write()
        except NOT_NOW as error:
            log.warning("refused: %s", error)
            words = self.tr("This can't be saved, so it was not done ({0}). Make room on the disk and try again.")
            self._notices.show_notice(words.format(why(error)), trouble=True)
            return None

    def done(self, write: Callable[[], object]) -> bool:
        """As `now`, for what has no result: whether it is written."""

        def written() -> bool:
            write()
            return True

        return bool(self.now(written))

    def flush(self) -> None:
        try:
            self._drain()
        except NOT_NOW as error:
            self._timer.start()
            if not self._told:
                log.warning("not written yet: %s", error)
                words = self.tr("The disk can't be written ({0}). What is new is kept and written when it can be.")
                self._told = words.format(why(error))
                self._notices.show_notice(self._told, trouble=True)
        else:
            self._timer.stop()
            self._notices.dismiss(self._told)
            self._told = ""

    def _drain(self) -> None:
        """Write what is left; what can't be written for now stays. Raises NOT_NOW."""
        while self._left:
            subject, write = next(iter(self._left.items()))
            del self._left[subject]
            try:
                write()
            except NOT_NOW:
                self._left = {subject: write, **self._left}
                raise
