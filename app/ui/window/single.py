"""One window per data folder: a second start brings the first window forward, hands it its files and ends."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLockFile, QObject, Qt, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QWidget

ANSWER_MS = 1000
PATIENCE_S, AGAIN_S = 8.0, 0.1  # for a program that is only starting, or ending
MOST_BYTES = 1 << 16  # of what a second start says


class SingleInstance(QObject):
    """Holds `folder` for this process, as long as the object lives, if no other program does: then `first`.

    `file_asked(Path)` for each file that a second start was given.
    """

    file_asked = Signal(object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # Names of sockets are short, and a user's folders aren't.
        self._name = "turboquant-chat-" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        self._lock = QLockFile(str(folder / "running.lock"))
        self._lock.setStaleLockTime(0)  # only a process that has ended leaves a stale one
        self.first = self._take()
        self._server = QLocalServer(self)
        self._window: QWidget | None = None

    def _take(self) -> bool:
        # A folder that can't be written to is no other program's.
        return self._lock.tryLock(0) or self._lock.error() != QLockFile.LockError.LockFailedError

    def show_on_call(self, window: QWidget) -> None:
        """Bring `window` forward whenever another start calls, until the application quits."""
        self._window = window
        QLocalServer.removeServer(self._name)  # a killed program's
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self.on_called)
        self._server.listen(self._name)
        app = QCoreApplication.instance()
        assert app is not None
        app.aboutToQuit.connect(self._server.close)  # who calls while caches are saved shall not be heard by nobody

    def call_first(self, files: Sequence[Path] = ()) -> bool:
        """Ask the program that holds the folder to show its window and to open these; whether it heard.

        Waits for one that is only starting. Where it ends instead this one becomes the `first`, and nobody is asked.
        """
        until = time.monotonic() + PATIENCE_S
        while not self._call(files):
            self.first = self._take()
            if self.first or time.monotonic() > until:
                return False
            time.sleep(AGAIN_S)
        return True

    def _call(self, files: Sequence[Path]) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(ANSWER_MS):
            return False
        socket.write(json.dumps([str(file.absolute()) for file in files]).encode()[:MOST_BYTES])
        while socket.bytesToWrite():
            if not socket.waitForBytesWritten(ANSWER_MS):
                return False
        socket.disconnectFromServer()
        return True

    def on_called(self) -> None:
        while self._server.hasPendingConnections():
            caller = self._server.nextPendingConnection()
            caller.disconnected.connect(self.on_said)
            if caller.state() == QLocalSocket.LocalSocketState.UnconnectedState:
                self._hear(caller)
        if self._window is not None:
            self._window.setWindowState(self._window.windowState() & ~Qt.WindowState.WindowMinimized)
            self._window.show()
            self._window.raise_()
            self._window.activateWindow()

    def on_said(self) -> None:
        caller = self.sender()
        if isinstance(caller, QLocalSocket):
            self._hear(caller)

    def _hear(self, caller: QLocalSocket) -> None:
        """All has been said."""
        said = bytes(caller.read(MOST_BYTES).data())
        caller.deleteLater()
        try:
            files = json.loads(said or b"[]")
        except (ValueError, RecursionError):
            files = []
        for file in files if isinstance(files, list) else []:
            if isinstance(file, str):
                self.file_asked.emit(Path(file))
