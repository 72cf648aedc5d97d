"""What the user does to a conversation while the disk can't be written: it is said, and nothing has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from tests.ui.conftest import Bench


def refusing(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def row(bench: Bench) -> tuple[str, bool]:
    (conversation,) = bench.library.conversations()
    return conversation.title, conversation.pinned


@pytest.mark.parametrize(
    ("step", "act"),
    [
        ("rename", lambda bench: bench.window.sidebar.rename_requested.emit(bench.chat.current, "Another")),
        ("pin", lambda bench: bench.window.actions_.pin.trigger()),
        ("delete", lambda bench: bench.window.actions_.delete.trigger()),
    ],
)
def test_it_is_said_and_nothing_has_changed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[Bench], None]
) -> None:
    bench.say("hello")
    conversation, before = bench.chat.current, row(bench)
    monkeypatch.setattr(bench.library, step, refusing)
    act(bench)
    bench.rest()
    assert "was not done" in bench.window.notices.texts()[-1]
    assert (bench.chat.current, row(bench)) == (conversation, before)
    assert not bench.window.actions_.undo.isEnabled()
    monkeypatch.undo()
    act(bench)
    bench.rest()
    assert not bench.library.conversations() or row(bench) != before


def test_a_deleted_one_can_be_brought_back_when_there_is_room_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.say("hello")
    conversation = bench.chat.current
    bench.window.actions_.delete.trigger()
    monkeypatch.setattr(bench.library, "restore", refusing)
    bench.window.actions_.undo.trigger()
    assert bench.library.conversations() == []
    assert bench.window.actions_.undo.isEnabled()
    monkeypatch.undo()
    bench.window.actions_.undo.trigger()
    assert bench.chat.current == conversation
    assert bench.said() == ["hello"]
