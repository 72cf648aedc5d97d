"""What comes over the transcript leaves the text where the reader has it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication

from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench


def places(bench: Bench) -> dict[str, int]:
    """Where each message stands on screen, of those that are seen."""
    height = bench.transcript.viewport().height()
    tops = {
        item.text if isinstance(item, UserBubble) else item.source(): item.mapTo(bench.window, QPoint(0, 0)).y()
        for item in [*bench.items(UserBubble), *bench.items(ReplyView)]
    }
    top = bench.transcript.mapTo(bench.window, QPoint(0, 0)).y()
    return {text: y for text, y in tops.items() if top <= y < top + height}


def settle() -> None:
    for _ in range(4):
        QApplication.processEvents()


@pytest.mark.parametrize("turns", [1, 12], ids=["short", "long"])
@pytest.mark.parametrize("place", ["end", "middle"])
def test_notices_and_the_find_bar_move_nothing(bench: Bench, turns: int, place: str) -> None:
    bench.engine.reply = lambda prompt: f"Reply to {prompt}.\n\nMore.\n\nMore."
    for number in range(turns):
        bench.say(f"message {number}")
    if place == "middle":
        bar = bench.transcript.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
    settle()
    before = places(bench)
    assert before
    bench.window.notices.show_notice("Something has happened.", "Undo", lambda: None)
    settle()
    assert places(bench) == before
    bench.window.notices.show_notice("And something else.")
    settle()
    assert places(bench) == before
    bench.window.find_bar.open_bar()
    settle()
    assert places(bench) == before
    notices, found = bench.window.notices.geometry(), bench.window.find_bar.geometry()
    assert not notices.intersects(found)
    assert notices.left() >= 0
    bench.window.find_bar.close_bar()
    for text in bench.window.notices.texts():
        bench.window.notices.dismiss(text)
        settle()
        assert places(bench) == before


def test_what_a_notice_covers_can_be_scrolled_to_and_is_shown_below_it_anew(bench: Bench) -> None:
    bench.say("Hello")
    conversation = bench.chat.current
    bench.window.notices.show_notice("Something has happened.")
    settle()
    covered = bench.window.notices.geometry().bottom()
    bubble = bench.items(UserBubble)[0]
    assert bubble.mapTo(bench.transcript, QPoint(0, 0)).y() < covered
    bench.transcript.verticalScrollBar().setValue(0)
    settle()
    assert bubble.mapTo(bench.transcript, QPoint(0, 0)).y() > covered
    bench.chat.new()
    bench.chat.open(conversation)
    settle()
    assert bench.items(UserBubble)[0].mapTo(bench.transcript, QPoint(0, 0)).y() > covered
    before = places(bench)
    bench.window.notices.dismiss("Something has happened.")
    settle()
    assert places(bench) == before, "it doesn't jump up either"
    bench.say("More")
    assert bench.items(UserBubble)[0].mapTo(bench.transcript, QPoint(0, 0)).y() < covered


def test_a_hit_is_shown_below_what_lies_over_the_text(bench: Bench) -> None:
    for number in range(12):
        bench.say(f"message {number}")
    for number in range(4):
        bench.window.notices.show_notice(f"Notice {number}.")
    bench.window.find_bar.open_bar()
    settle()
    bench.window.find_bar.field.setText("message 3")
    bench.window.find_bar.on_edited("message 3")
    for _ in range(40):
        settle()
    bubble = bench.items(UserBubble)[[b.text for b in bench.items(UserBubble)].index("message 3")]
    assert bubble.mapTo(bench.transcript, QPoint(0, 0)).y() >= bench.window.notices.geometry().bottom() - 20
