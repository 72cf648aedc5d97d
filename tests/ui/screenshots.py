"""`python -m tests.ui.screenshots DIR`: the window in its states, light and dark, with the scripted engine."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["TURBOQUANT_HOME"] = tempfile.mkdtemp(prefix="turboquant-screenshots-")

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.errors import AppError
from app.library.conversations import Library
from app.settings import Settings
from app.ui import theme
from app.ui.main_window import MainWindow
from tests.ui.fake_engine import FakeEngine
from tests.ui.fake_hub import FakeHub

REPLIES = {
    "module": (
        "`read_header` both **parses** and **validates**. Split it where the meaning changes:\n\n"
        '```python\ndef parse_header(data: bytes) -> Header:\n    length, kind = struct.unpack_from("<IH", data)\n'
        "    return Header(length, kind)  # nothing is checked here\n```\n\n"
        "Then `validate` takes a `Header` and:\n\n1. refuses a length of zero,\n2. refuses an unknown kind,\n"
        "3. returns the header unchanged.\n\n> A function that *answers* should not also *judge*.\n"
    ),
    "tests": (
        "Two small ones: a header cut short raises `HeaderError`, and a known header round-trips. "
        "The second needs no fixture.\n\n"
        "| input | result |\n|---|--:|\n| 3 bytes | `HeaderError` |\n| 6 bytes | 1 header |\n"
    ),
    "hebrew": "שלום! זו תשובה קצרה מימין לשמאל, עם `code` באמצע.",
}
FILLER = " ".join(f"line{n} does one thing and says so in its name" for n in range(160))


def reply(prompt: str) -> str:
    return next((text for key, text in REPLIES.items() if key in prompt), "A short answer.")


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = FakeEngine(reply)
        self.library = Library()
        self.hub = FakeHub()
        self.window = MainWindow(self.library, self.engine, self.hub, Settings(), lambda: None, lambda progress: Path())

    def wait(self) -> None:
        self.hub.answer()
        while self.engine.busy and not self.engine.hold:
            QApplication.processEvents()
        QTest.qWait(60)

    def say(self, text: str) -> None:
        self.window.composer.edit.setPlainText(text)
        QTest.keyClick(self.window.composer.edit, Qt.Key.Key_Return)
        self.wait()

    def pick(self, scheme: str) -> None:
        picker = self.window.panel.picker
        picker.activated.emit(picker.findText(scheme))
        self.wait()

    def shoot(self, name: str) -> None:
        for dark in (False, True):
            theme.theme().force(dark)
            QTest.qWait(40)
            self.window.grab().save(str(self.folder / f"{name}-{'dark' if dark else 'light'}.png"))
        theme.theme().force(False)


def play(folder: Path) -> None:
    scene = Scene(folder)
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.start()
    scene.shoot("welcome")
    window.welcome.show_progress("Fetching the model (93 MB)", 0.42)
    scene.shoot("welcome-progress")
    window.welcome.show_error(AppError("The model couldn't be fetched.", "Check the network and try again."))
    scene.shoot("welcome-error")
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    window.chat.on_scheme_picked("turbo0v4")
    scene.shoot("empty")
    scene.say("Here is the module. Which function does two things?\n\n" + FILLER)
    scene.pick("turbo2")
    scene.say("And the tests?")
    scene.shoot("chat")
    chart = window.panel.chart
    place = QPointF(chart.width() * 0.45, chart.height() * 0.5)
    chart.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, place, chart.mapToGlobal(place), Qt.MouseButton.NoButton,
                                     Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier))  # fmt: skip
    scene.shoot("hover")
    chart.leaveEvent(QEvent(QEvent.Type.Leave))
    window.transcript.verticalScrollBar().setValue(0)
    scene.shoot("scrolled-up")
    window.transcript.follow()
    window.panel.picker.showPopup()
    QTest.qWait(50)
    for dark in (False, True):
        theme.theme().force(dark)
        QTest.qWait(40)
        window.panel.picker.view().window().grab().save(str(folder / f"dropdown-{'dark' if dark else 'light'}.png"))
    window.panel.picker.hidePopup()
    scene.engine.hold = True
    scene.say("One more about the module, please.")
    scene.engine.hold = False
    for _ in range(14):
        scene.engine.on_step()
    scene.engine.hold = True
    QTest.qWait(80)
    window.chat.on_scheme_picked("turbo4")
    scene.shoot("streaming")
    scene.engine.hold = False
    scene.wait()
    scene.engine.fail_next = AppError("The reply stopped: MLX ran out of memory.", "Pick a smaller scheme.")
    scene.say("What now?")
    window.notices.show_notice("The saved cache of this conversation can't be used. The text is whole.")
    scene.shoot("failed")
    window.resize(900, 600)
    scene.shoot("small")
    window.resize(640, 480)
    scene.shoot("tiny")
    window.resize(1280, 800)
    scene.engine.hold = True
    window.chat.on_scheme_picked("turbo8v4")
    scene.engine.hold = False
    for _ in range(4):
        scene.engine.on_step()
    scene.engine.hold = True
    scene.shoot("rebuilding")
    scene.engine.hold = False
    scene.wait()
    scene.engine.context = 2000
    scene.say("And all of it once more: " + FILLER)
    scene.shoot("context-full")
    window.chat.on_take_back()
    window.composer.edit.clear()
    scene.engine.context = 8192
    for days, title in (
        (0, "A second one today"),
        (1, "SQL window functions"),
        (1, "Letter to the landlord"),
        (9, "Tea"),
    ):
        window.chat.new()
        scene.say(title)
        stamp = time.time() - days * 86_400
        scene.library._db.execute("UPDATE conversations SET updated = ? WHERE id = ?", (stamp, window.chat.current))
    window.chat.delete(window.chat.newest())
    window.chat.open(window.chat.newest())
    scene.wait()
    scene.shoot("list")
    window._menu_button.menu().popup(window.mapToGlobal(QPoint(900, 60)))
    QTest.qWait(60)
    for dark in (False, True):
        theme.theme().force(dark)
        window._menu_button.menu().grab().save(str(folder / f"menu-{'dark' if dark else 'light'}.png"))
    theme.theme().force(False)
    window._menu_button.menu().close()
    window.chat.new()
    scene.say("Say something in hebrew, please: שלום")
    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    scene.shoot("right-to-left")
    QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def main() -> None:
    from tests.ui import screenshots_models

    app = QApplication(sys.argv)
    theme.theme()
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) < 3:
        play(folder)
    screenshots_models.play(Scene(folder))
    app.quit()


if __name__ == "__main__":
    main()
