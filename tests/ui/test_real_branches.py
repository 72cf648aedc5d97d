"""Branches in the window with the real engine thread: what the figures say, and what the cache holds in the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.message_tools import MessageTools
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.engine_kit import make_model
from tests.ui.test_real_engine import CHOSEN, Running

QUESTION = "hello the hello in the inn " * 12


def reused(view: ReplyView) -> int:
    return int(view.figures.split("reused ")[1].split(" ")[0].replace(",", ""))


def tools(item: UserBubble | ReplyView) -> MessageTools:
    assert item.tools is not None
    return item.tools


class Branching(Running):
    def answered(self) -> ReplyView:
        assert self.window.chat.generating
        self.until(lambda: not self.window.chat.generating)
        return self.replies()[-1]

    def again(self, place: int) -> ReplyView:
        tools(self.replies()[place]).again.click()
        return self.answered()

    def edit(self, place: int, text: str) -> ReplyView:
        bubbles = [item for item in self.window.transcript.items() if isinstance(item, UserBubble)]
        tools(bubbles[place]).edit.click()
        (editor,) = (item for item in self.window.transcript.items() if isinstance(item, MessageEditor))
        editor.edit.setPlainText(text)
        editor.save.click()
        return self.answered()

    def texts(self) -> list[str]:
        return [
            item.text if isinstance(item, UserBubble) else item.source()
            for item in self.window.transcript.items()
            if isinstance(item, UserBubble | ReplyView)
        ]


def play(qtbot: QtBot, model: Path) -> None:
    running = Branching(qtbot, model)
    running.window.chat.generation.apply({**CHOSEN, "temperature": 1.5, "max_tokens": 16})
    running.say(QUESTION)
    running.say("two?")
    old = running.texts()
    assert reused(running.edit(1, "three?")) >= 64, "the cache was cut back, not made anew"
    assert running.texts()[:3] == [*old[:2], "three?"]
    second = running.again(0)
    assert reused(second) >= 64
    assert second.source() != old[1]
    new = running.texts()
    assert len(new) == 2
    running.quit()

    again = Branching(qtbot, model)
    again.window.chat.open(again.window.chat.newest())
    assert again.texts() == new
    tools(again.replies()[0]).previous.click()
    assert again.texts()[:3] == [*old[:2], "three?"]
    bubbles = [item for item in again.window.transcript.items() if isinstance(item, UserBubble)]
    tools(bubbles[1]).previous.click()
    assert again.texts() == old
    assert again.say("and now?").source()
    again.quit()


def go_on(running: Branching) -> ReplyView:
    view = running.replies()[-1]
    before = view.source()
    assert view.go_on.isVisible()
    view.go_on.click()
    view = running.answered()
    assert view.source().startswith(before)
    assert len(view.source()) > len(before)
    total = int(view.figures.split(" prompt tokens")[0].split(" ")[-1].replace(",", ""))
    assert reused(view) == total - 1, "nothing is read again"
    return view


def cut(qtbot: QtBot, model: Path) -> None:
    running = Branching(qtbot, model)
    running.window.chat.generation.apply({**CHOSEN, "max_tokens": 8})
    running.say(QUESTION)
    said = go_on(running).source()
    running.quit()

    again = Branching(qtbot, model)
    again.window.chat.open(again.window.chat.newest())
    assert again.texts() == [QUESTION.strip(), said]
    view = go_on(again)
    assert len(again.window.chat._library.messages(again.window.chat.current)) == 2
    assert "ended at its length limit" in view.figures
    again.quit()


def test_a_cut_reply_goes_on_with_a_tiny_model(qtbot: QtBot, turboquant_home: Path, tmp_path: Path) -> None:
    cut(qtbot, make_model(tmp_path / "tiny"))


def test_with_a_tiny_model(qtbot: QtBot, turboquant_home: Path, tmp_path: Path) -> None:
    play(qtbot, make_model(tmp_path / "tiny"))


@pytest.mark.slow
def test_with_the_starter(qtbot: QtBot, turboquant_home: Path, starter_model_path: Path) -> None:
    play(qtbot, starter_model_path)
