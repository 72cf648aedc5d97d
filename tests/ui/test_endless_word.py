"""A word without a break, as long as a book: looking for a place to break it froze the window for many seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QTextOption
from pytestqt.qtbot import QtBot

from app.ui.composer.composer import Composer
from app.ui.text.text_pane import LONGEST_WORD, PlainPane
from app.ui.transcript.user_bubble import UserBubble

WORD = "x" * (LONGEST_WORD + 1)
Mode = QTextOption.WrapMode


def insert(composer: Composer, text: str) -> None:
    composer.edit.insert(text)


@pytest.mark.parametrize("put", [insert, Composer.give_back, lambda composer, text: composer.edit.setPlainText(text)])
def test_the_composer_breaks_it_anywhere(qtbot: QtBot, put: Callable[[Composer, str], None]) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    put(composer, "some words")
    assert composer.edit.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere
    put(composer, WORD)
    assert composer.edit.wordWrapMode() == Mode.WrapAnywhere
    composer.clear()
    assert composer.edit.wordWrapMode() == Mode.WrapAtWordBoundaryOrAnywhere


def test_a_bubble_breaks_it_anywhere(qtbot: QtBot) -> None:
    for text, mode in ((WORD, Mode.WrapAnywhere), ("word " * 9000, Mode.WrapAtWordBoundaryOrAnywhere)):
        bubble = UserBubble(text)
        qtbot.addWidget(bubble)
        pane = bubble.findChild(PlainPane)
        assert isinstance(pane, PlainPane)
        assert pane.wordWrapMode() == mode
