"""A window with the scripted engine, in a home of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTranslator
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.library.conversations import Library
from app.settings import Settings
from app.ui.shared import language, theme
from app.ui.shared.cards import Divider
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from app.ui.window.main_window import MainWindow
from tests.ui.fake_engine import MODEL, FakeEngine
from tests.ui.fake_hub import FakeHub


class Bench:
    """Drives one window as a person would, and reads what it shows."""

    def __init__(self, engine: FakeEngine, folder: Path) -> None:
        self.closed = False
        self.engine = engine
        self.library = Library(folder / "library.db")
        self.settings = Settings(folder / "settings.json")
        self.hub = FakeHub()
        self.window = MainWindow(self.library, engine, self.hub, self.settings, lambda: None, lambda progress: folder)
        self.chat = self.window.chat
        self.transcript = self.window.transcript
        self.composer = self.window.composer
        self.panel = self.window.panel
        self.window.resize(1280, 800)
        self.window.show()

    def load(self) -> None:
        self.window.load_model(MODEL)
        self.rest()

    def rest(self) -> None:
        """Until the engine has nothing more to say and the widgets are laid out."""
        if self.window.models_page.browser.detail.looking.isActive():
            self.window.models_page.browser.detail.looking.stop()
            self.window.models_page.browser.detail.on_looked()
        while self.hub.busy or (self.engine.busy and (not self.engine.hold or self.engine.stopping)):
            self.hub.answer()
            self.engine.on_step()
        for _ in range(3):
            QApplication.processEvents()
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        for view in self.items(ReplyView):
            view.on_flush()

    def step(self, count: int = 1) -> None:
        """Let the engine send some events although it is held."""
        held, self.engine.hold = self.engine.hold, False
        for _ in range(count):
            self.engine.on_step()
        self.engine.hold = held
        for view in self.items(ReplyView):
            view.on_flush()
        QApplication.processEvents()

    def type(self, text: str) -> None:
        self.composer.edit.setPlainText(text)

    def say(self, text: str) -> None:
        self.type(text)
        QTest.keyClick(self.composer.edit, Qt.Key.Key_Return)
        self.rest()

    def pick(self, scheme: str) -> None:
        picker = self.panel.picker
        picker.setCurrentIndex(picker.findText(scheme))
        picker.activated.emit(picker.findText(scheme))
        self.rest()

    def items(self, kind: type) -> list:
        return [item for item in self.transcript.items() if isinstance(item, kind)]

    def replies(self) -> list[str]:
        return [view.source() for view in self.items(ReplyView)]

    def said(self) -> list[str]:
        return [bubble.text for bubble in self.items(UserBubble)]

    def dividers(self) -> list[str]:
        return [divider.label.text().replace("\u00a0", " ") for divider in self.items(Divider)]

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        edit = self.composer.edit
        QApplication.sendEvent(edit, QKeyEvent(QEvent.Type.KeyPress, key, modifiers, "\r"))
        self.rest()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.window.close()
        self.engine.shutdown()
        self.window.close_library()
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def start(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """`start()` opens a window on this test's folder; `start(engine)` with an engine of one's own."""
    theme.theme().force(False)
    opened: list[Bench] = []

    def make(engine: FakeEngine | None = None, load: bool = True) -> Bench:
        bench = Bench(engine or FakeEngine(), tmp_path)
        opened.append(bench)
        if load:
            bench.load()
        return bench

    yield make
    for bench in opened:
        bench.close()


@pytest.fixture
def bench(start: Callable[..., Bench]) -> Bench:
    """A window with a model loaded."""
    return start()


@pytest.fixture(scope="session", autouse=True)
def english(qapp: QCoreApplication) -> None:
    """As the program does: English has its plurals from a translation too."""
    language.install(qapp, "en")


@pytest.fixture
def german(qapp: QCoreApplication) -> Iterator[None]:
    _forget_languages(qapp)
    language.install(qapp, "de")
    yield
    _forget_languages(qapp)
    language.install(qapp, "en")


def _forget_languages(app: QCoreApplication) -> None:
    for translator in app.findChildren(QTranslator):
        app.removeTranslator(translator)
        translator.deleteLater()
