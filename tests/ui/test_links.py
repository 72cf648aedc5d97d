"""Links lead outside only after their true address was shown; nothing in a text is fetched."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui.text.links import LinkQuestion, ask
from app.ui.text.markdown import MarkdownWriter
from app.ui.text.text_pane import TextPane


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr("app.ui.text.links.QDesktopServices.openUrl", lambda url: found.append(url.toString()))
    return found


@pytest.fixture
def pane(qtbot: QtBot) -> TextPane:
    made = TextPane()
    qtbot.addWidget(made)
    made.resize(500, 100)
    made.show()
    return made


def click(pane: TextPane) -> LinkQuestion | None:
    """On the first letters."""
    QTest.mouseClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(8, 10))
    return pane.findChild(LinkQuestion)


def test_a_click_shows_the_true_address_and_only_a_yes_opens_it(pane: TextPane, opened: list[str]) -> None:
    MarkdownWriter(pane.document()).complete("[https://bank.example](https://evil.example/x?y=1)")
    question = click(pane)
    assert question is not None
    assert "https://evil.example/x?y=1" in question.details
    assert "bank" not in question.details
    assert opened == []
    assert question.open_button is not None
    question.open_button.click()
    assert opened == ["https://evil.example/x?y=1"]


def test_the_address_is_in_the_tooltip(pane: TextPane) -> None:
    MarkdownWriter(pane.document()).complete("[here](https://example.org/<b>)")
    assert "https://example.org/" in pane.document().begin().begin().fragment().charFormat().toolTip()


def test_cancel_opens_nothing_and_the_address_can_be_copied(pane: TextPane, opened: list[str]) -> None:
    question = ask("https://example.org/a b", pane)
    question.copy_button.click()
    assert QGuiApplication.clipboard().text() == "https://example.org/a b"
    question = ask("https://example.org", pane)
    QTest.keyClick(question, Qt.Key.Key_Escape)
    assert opened == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "smb://host/x", "app://x", "//x", ""])
def test_other_kinds_are_never_opened(pane: TextPane, opened: list[str], address: str) -> None:
    pane.on_anchor_clicked(QUrl(address))
    question = pane.findChild(LinkQuestion)
    assert question is not None
    assert question.open_button is None


def test_letters_that_look_alike_are_written_out(pane: TextPane) -> None:
    pane.on_anchor_clicked(QUrl("https://\u0430pple.com"))  # a Cyrillic a
    question = pane.findChild(LinkQuestion)
    assert question is not None
    assert "xn--" in question.details


def test_a_bare_address_is_a_link(pane: TextPane) -> None:
    MarkdownWriter(pane.document()).complete(
        "See https://example.org/a_b?c=1. Not setup.py, me@home or `https://x.org`."
    )
    links, place = {}, pane.document().begin().begin()
    while not place.atEnd():
        piece = place.fragment()
        links[piece.text()] = piece.charFormat().anchorHref()
        place += 1
    assert {text: link for text, link in links.items() if link} == {
        "https://example.org/a_b?c=1": "https://example.org/a_b?c=1"
    }


def test_nothing_is_fetched(pane: TextPane) -> None:
    MarkdownWriter(pane.document()).complete("![a cat](https://example.org/cat.png) ![](https://example.org/dog.png)")
    assert pane.loadResource(2, QUrl("https://example.org/cat.png")) is None
    assert pane.toPlainText() == "a cat (https://example.org/cat.png) https://example.org/dog.png"
