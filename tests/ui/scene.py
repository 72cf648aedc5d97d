"""A window with the scripted engine and hub, to be photographed: what the scripts of the pictures share."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["TURBOQUANT_HOME"] = tempfile.mkdtemp(prefix="turboquant-screenshots-")
os.environ["HF_HUB_CACHE"] = os.path.join(os.environ["TURBOQUANT_HOME"], "hub")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.library.conversations import Library
from app.settings import Settings
from app.ui.shared import theme
from app.ui.window.main_window import MainWindow
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
        self.home, self.hub = Path(os.environ["TURBOQUANT_HOME"]), FakeHub()
        self.window = MainWindow(self.library, self.engine, self.hub, Settings(), lambda: None, lambda progress: Path())

    def wait(self) -> None:
        detail = self.window.models_page.browser.detail
        if detail.looking.isActive():  # it asks when the eye rests
            detail.looking.stop()
            detail.on_looked()
        while self.hub.busy or (self.engine.busy and not self.engine.hold):
            self.hub.answer()
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

    def shoot(self, name: str, widget: QWidget | None = None) -> None:
        """The window, or another one."""
        for dark in (False, True):
            theme.theme().force(dark)
            QTest.qWait(40)
            (widget or self.window).grab().save(str(self.folder / f"{name}-{'dark' if dark else 'light'}.png"))
        theme.theme().force(False)
