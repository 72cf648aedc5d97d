"""One window per data folder: a second start brings the first window forward and ends."""

from __future__ import annotations

import hashlib
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Qt
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QWidget

ANSWER_MS = 1000


class SingleInstance(QObject):
    """Holds `folder` for this process, as long as the object lives, if no other program does: then `first`."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # Names of sockets are short, and a user's folders aren't.
        self._name = "turboquant-chat-" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        self._lock = QLockFile(str(folder / "running.lock"))
        self._lock.setStaleLockTime(0)  # only a process that has ended leaves a stale one
        # A folder that can't be written to is no other program's.
        self.first = self._lock.tryLock(0) or self._lock.error() != QLockFile.LockError.LockFailedError
        self._server = QLocalServer(self)
        self._window: QWidget | None = None

    def show_on_call(self, window: QWidget) -> None:
        """Bring `window` forward whenever another start calls."""
        self._window = window
        QLocalServer.removeServer(self._name)  # a killed program's
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self.on_called)
        self._server.listen(self._name)

    def call_first(self) -> bool:
        """Ask the program that holds the folder to show its window; whether it heard."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        return socket.waitForConnected(ANSWER_MS)

    def on_called(self) -> None:
        while self._server.hasPendingConnections():
            self._server.nextPendingConnection().deleteLater()
        if self._window is not None:
            self._window.setWindowState(self._window.windowState() & ~Qt.WindowState.WindowMinimized)
            self._window.show()
            self._window.raise_()
            self._window.activateWindow()
