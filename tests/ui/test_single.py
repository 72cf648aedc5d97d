"""A second start over the same data brings the first window forward and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt, QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app import crashes
from app.ui.window import single
from app.ui.window.opening import Opening
from app.ui.window.single import SingleInstance


def test_the_second_calls_the_first(qtbot: QtBot, tmp_path: Path) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    first = SingleInstance(tmp_path)
    assert first.first
    first.show_on_call(window)
    window.showMinimized()
    second = SingleInstance(tmp_path)
    assert not second.first
    assert second.call_first()
    qtbot.waitUntil(lambda: not window.windowState() & Qt.WindowState.WindowMinimized)
    assert window.isVisible()
    asked: list[Path] = []
    first.file_asked.connect(asked.append)
    assert second.call_first([tmp_path / "ä chat.turbochat", Path("model.gguf")])
    qtbot.waitUntil(lambda: len(asked) == 2)
    assert asked == [tmp_path / "ä chat.turbochat", Path("model.gguf").absolute()]
    other = tmp_path / "other"
    other.mkdir()
    assert SingleInstance(other).first


@pytest.mark.parametrize("said", [b"{", b"7", b"[1, null]", b"\xff", b"[" * 70_000, b""])
def test_nonsense_from_a_caller_opens_nothing(qtbot: QtBot, tmp_path: Path, said: bytes) -> None:
    first = SingleInstance(tmp_path)
    window = QWidget()
    qtbot.addWidget(window)
    first.show_on_call(window)
    asked: list[Path] = []
    first.file_asked.connect(asked.append)
    caller = QLocalSocket()
    caller.connectToServer(first._name)
    assert caller.waitForConnected(1000)
    caller.write(said)
    caller.disconnectFromServer()
    qtbot.waitUntil(window.isVisible)
    assert SingleInstance(tmp_path).call_first([Path("/a")])
    qtbot.waitUntil(lambda: asked == [Path("/a")])


def test_a_killed_program_holds_nothing(tmp_path: Path) -> None:
    hold = (
        "import os, sys; from pathlib import Path; from app.ui.window.single import SingleInstance;"
        "held = SingleInstance(Path(sys.argv[1])); print(held.first, flush=True); os._exit(9)"
    )
    run = subprocess.run([sys.executable, "-c", hold, str(tmp_path)], capture_output=True, text=True)
    assert run.stdout.strip() == "True"
    assert (tmp_path / "running.lock").exists()
    assert SingleInstance(tmp_path).first


@pytest.mark.parametrize("number", range(2))
def test_one_that_is_starting_is_waited_for(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Its files aren't lost: whoever begins to listen meanwhile hears them."""
    window = QWidget()
    qtbot.addWidget(window)
    first, asked = SingleInstance(tmp_path), []
    first.file_asked.connect(asked.append)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1 + number:
            first.show_on_call(window)

    monkeypatch.setattr(single.time, "sleep", sleep)
    second = SingleInstance(tmp_path)
    assert second.call_first([tmp_path / "a.turbochat"])
    assert (second.first, len(waits)) == (False, 1 + number)
    qtbot.waitUntil(lambda: asked == [tmp_path / "a.turbochat"])


def test_one_that_is_ending_is_followed(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quit and started again while caches are still saved: a window comes, and it is the new program's."""
    window, app = QWidget(), QCoreApplication.instance()
    qtbot.addWidget(window)
    assert app is not None
    first = SingleInstance(tmp_path)
    first.show_on_call(window)
    app.aboutToQuit.emit()
    second = SingleInstance(tmp_path)
    assert not second.first
    monkeypatch.setattr(single.time, "sleep", lambda _seconds: first._lock.unlock())
    assert not second.call_first([Path("/a")])
    assert second.first


def test_one_that_answers_nobody_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = SingleInstance(tmp_path)
    times = iter(range(100))
    monkeypatch.setattr(single.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(single.time, "sleep", lambda _seconds: None)
    second = SingleInstance(tmp_path)
    assert not second.call_first()
    assert held.first
    assert not second.first


def test_a_second_start_says_so_and_ends(qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    held = SingleInstance(folder)
    held.show_on_call(window := QWidget())
    qtbot.addWidget(window)
    environment = {**os.environ, "TURBOQUANT_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    run = subprocess.run([sys.executable, "-m", "app"], capture_output=True, text=True, env=environment, timeout=60)
    assert held.first
    assert run.returncode == 0
    assert "is running already" in run.stderr


_UNHEARD = """
import sys
from app import __main__ as program
from app.ui.window import single
single.PATIENCE_S = 0
program.Question.exec = lambda box: print("shown:", box.details)
sys.exit(program.main([]))
"""


def test_a_second_start_that_nobody_hears_tells_its_user(tmp_path: Path) -> None:
    """Who double-clicked it sees no stderr; the first one's mark against crashes stays."""
    folder, log = tmp_path / "data", tmp_path / "logs"
    folder.mkdir()
    log.mkdir()
    held = SingleInstance(folder)
    environment = {**os.environ, "TURBOQUANT_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen", "LANG": "C"}
    assert crashes.begin(log) is None
    run = subprocess.run([sys.executable, "-c", _UNHEARD], capture_output=True, text=True, env=environment, timeout=60,
                         cwd=Path(__file__).parents[2])  # fmt: skip
    assert held.first
    assert run.returncode == 1, run.stderr
    assert "doesn't answer" in run.stdout, run.stdout
    assert (log / crashes.RUNNING).is_file()


def test_files_that_the_system_hands_over_wait_for_the_window(qtbot: QtBot, tmp_path: Path) -> None:
    opening, taken = Opening(), []
    assert opening.hear(QFileOpenEvent(str(tmp_path / "early")))
    opening.listen(taken.append)
    assert taken == [tmp_path / "early"]
    assert opening.hear(QFileOpenEvent(str(tmp_path / "later")))
    assert taken == [tmp_path / "early", tmp_path / "later"]
    assert not opening.hear(QFileOpenEvent(QUrl("https://example.org/x"))), "an address is no file"
    assert not opening.hear(QEvent(QEvent.Type.ApplicationActivate))


_OPENED = """
import sys
from PySide6.QtGui import QFileOpenEvent
from app.ui.window.startup import make_application
app = make_application()
app.opening.listen(print)
app.sendEvent(app, QFileOpenEvent(sys.argv[1]))
"""


def test_the_application_hears_them(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", _OPENED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(tmp_path)
