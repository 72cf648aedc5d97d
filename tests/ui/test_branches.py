"""Editing, answering again, and going between the versions, in the window with the scripted engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from app import attachments
from app import events as ev
from app.errors import AppError
from app.ui.conversations.search_results import Result
from app.ui.shared.cards import ContextFullCard
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.message_tools import MessageTools
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_chat import button, generated

Start = Callable[..., Bench]
CTRL = Qt.KeyboardModifier.ControlModifier


def tools(item: QWidget) -> MessageTools:
    assert isinstance(item, UserBubble | ReplyView)
    assert item.tools is not None
    return item.tools


def press(tool: QToolButton, bench: Bench) -> None:
    assert tool.isVisible()
    assert tool.isEnabled()
    QTest.mouseClick(tool, Qt.MouseButton.LeftButton)
    bench.rest()


def again(bench: Bench, place: int) -> None:
    press(tools(bench.items(ReplyView)[place]).again, bench)


def editor(bench: Bench) -> MessageEditor:
    (found,) = bench.items(MessageEditor)
    return found


def edit(bench: Bench, place: int, text: str) -> None:
    """Open the editor of the user's message at `place`, write and save."""
    press(tools(bench.items(UserBubble)[place]).edit, bench)
    editor(bench).edit.setPlainText(text)
    QTest.keyClick(editor(bench).edit, Qt.Key.Key_Return, CTRL)
    bench.rest()


def places(bench: Bench) -> list[str]:
    """What stands between ‹ and ›, top to bottom."""
    rows = [tools(item) for item in bench.transcript.items() if isinstance(item, UserBubble | ReplyView)]
    return [row.place.text() for row in rows if len(row._versions) > 1]


def spoken(bench: Bench) -> list[str]:
    return [part for pair in zip(bench.said(), bench.replies(), strict=True) for part in pair]


def asked(bench: Bench) -> list[str]:
    return [message.content for message in generated(bench)[-1].messages]


@pytest.fixture
def three(bench: Bench) -> Bench:
    """Three turns, each answered by its own words in capitals and a number that counts the replies."""
    count = iter(range(1, 99))
    bench.engine.reply = lambda prompt: f"{prompt.upper()} {next(count)}"
    for text in ("a", "b", "c"):
        bench.say(text)
    return bench


# ---------------------------------------------------------------- answering again


def test_a_reply_is_answered_again_and_both_are_kept(three: Bench) -> None:
    again(three, 2)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 4"]
    assert asked(three) == ["a", "A 1", "b", "B 2", "c"]
    assert places(three) == ["2/2"]
    press(tools(three.items(ReplyView)[2]).previous, three)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]
    assert places(three) == ["1/2"]
    assert not tools(three.items(ReplyView)[2]).previous.isEnabled()
    three.say("d")
    assert asked(three) == ["a", "A 1", "b", "B 2", "c", "C 3", "d"]


def test_an_earlier_reply_too_and_its_branch_comes_back_whole(three: Bench, start: Start) -> None:
    again(three, 0)
    assert spoken(three) == ["a", "A 4"]
    assert asked(three) == ["a"]
    three.say("x")
    again(three, 0)
    assert places(three) == ["3/3"]
    press(tools(three.items(ReplyView)[0]).previous, three)
    assert spoken(three) == ["a", "A 4", "x", "X 5"]
    press(tools(three.items(ReplyView)[0]).previous, three)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]
    three.close()
    reopened = start()
    reopened.chat.open(reopened.chat.newest())
    assert spoken(reopened) == ["a", "A 1", "b", "B 2", "c", "C 3"]
    assert places(reopened) == ["1/3"]


def test_a_failed_reply_is_tried_again_and_stays_as_a_version(bench: Bench) -> None:
    bench.engine.fail_next = AppError("Out of memory.", "Pick a smaller scheme.")
    bench.say("Hello")
    button(bench.items(ReplyView)[0].card, "Retry").click()
    bench.rest()
    assert bench.replies() == ["You said *Hello*."]
    assert places(bench) == ["2/2"]
    press(tools(bench.items(ReplyView)[0]).previous, bench)
    (view,) = bench.items(ReplyView)
    assert not tools(view).again.isVisible(), "one place to answer it again: the card"
    button(view.card, "Retry").click()
    bench.rest()
    assert places(bench) == ["3/3"]
    assert bench.replies() == ["You said *Hello*."]


# ---------------------------------------------------------------- editing


def test_a_message_is_edited_in_its_place(three: Bench) -> None:
    press(tools(three.items(UserBubble)[1]).edit, three)
    box = editor(three).edit
    assert box.toPlainText() == "b"
    assert box.hasFocus()
    QTest.keyClicks(box, "ee")
    QTest.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(box, "s")
    assert len(generated(three)) == 3, "Shift+Enter breaks the line"
    QTest.keyClick(box, Qt.Key.Key_Return)
    three.rest()
    assert spoken(three) == ["a", "A 1", "bee\ns", "BEE\nS 4"]
    assert asked(three) == ["a", "A 1", "bee\ns"]
    assert places(three) == ["2/2"]
    assert three.composer.edit.hasFocus()
    press(tools(three.items(UserBubble)[1]).previous, three)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]


def test_escape_and_cancel_leave_all_as_it_was(three: Bench) -> None:
    for leave in ("escape", "button"):
        press(tools(three.items(UserBubble)[0]).edit, three)
        editor(three).edit.setPlainText("other")
        if leave == "escape":
            QTest.keyClick(editor(three).edit, Qt.Key.Key_Escape)
        else:
            editor(three).cancel.click()
        three.rest()
        assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]
        assert not three.items(MessageEditor)
    assert len(generated(three)) == 3
    press(tools(three.items(UserBubble)[0]).edit, three)
    assert editor(three).edit.toPlainText() == "a"


def test_an_empty_message_cannot_be_saved_and_an_unchanged_one_is_answered_again(three: Bench) -> None:
    edit(three, 2, "  \u200b ")
    assert not editor(three).save.isEnabled()
    assert len(generated(three)) == 3
    editor(three).edit.setPlainText("c ")
    editor(three).save.click()
    three.rest()
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 4"]
    assert places(three) == ["2/2"], "of the reply alone"


def test_files_stay_with_an_edited_message(bench: Bench) -> None:
    bench.say('```python title="a.py"\nprint(1)\n```\n\nWhy?')
    edit(bench, 0, "Why not?")
    assert asked(bench) == ['```python title="a.py"\nprint(1)\n```\n\nWhy not?']


def test_a_file_dropped_on_an_editor_is_the_windows(three: Bench, tmp_path: Path) -> None:
    press(tools(three.items(UserBubble)[0]).edit, three)
    box = editor(three).edit
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.txt"))])
    assert not box.canInsertFromMimeData(dragged)
    box.insertFromMimeData(dragged)
    assert box.toPlainText() == "a"


def test_a_key_in_an_editor_reads_no_file_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.say('```python title="a.py"\nprint(1)\n```\n\nWhy?')
    press(tools(bench.items(UserBubble)[0]).edit, bench)
    monkeypatch.setattr(attachments, "block", lambda _: pytest.fail("a file was fenced again"))
    QTest.keyClick(editor(bench).edit, Qt.Key.Key_X)
    assert editor(bench).text.endswith("Why?x")


def test_what_is_typed_in_an_editor_waits_while_another_conversation_is_read(three: Bench) -> None:
    first = three.chat.current
    press(tools(three.items(UserBubble)[1]).edit, three)
    editor(three).edit.setPlainText("half a tho")
    three.chat.new()
    assert not three.items(MessageEditor)
    three.chat.open(first)
    assert editor(three).text == "half a tho"
    QTest.keyClick(editor(three).edit, Qt.Key.Key_Escape)
    three.rest()
    assert spoken(three)[2] == "b"


# ---------------------------------------------------------------- while something runs


def test_while_another_conversation_is_answered_it_is_said_and_nothing_is_lost(three: Bench) -> None:
    first = three.chat.current
    three.chat.new()
    three.engine.hold = True
    three.say("elsewhere")
    three.chat.open(first)
    three.rest()
    again(three, 0)
    edit(three, 1, "new words")
    assert len(generated(three)) == 4
    assert [text for text in three.window.notices.texts() if "elsewhere" in text]
    assert editor(three).text == "new words"
    three.engine.hold = False
    three.rest()
    editor(three).save.click()
    three.rest()
    assert spoken(three) == ["a", "A 1", "new words", "NEW WORDS 5"]


def test_versions_can_be_read_while_another_conversation_is_answered(three: Bench) -> None:
    again(three, 0)
    first = three.chat.current
    three.chat.new()
    three.engine.hold = True
    three.say("elsewhere")
    three.chat.open(first)
    three.rest()
    press(tools(three.items(ReplyView)[0]).previous, three)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]


@pytest.mark.parametrize("way", ["again", "edit", "version"])
def test_a_reply_that_streams_is_stopped_first_and_kept(three: Bench, way: str) -> None:
    again(three, 0)
    three.engine.reply = lambda prompt: "one two three four five six"
    three.engine.hold = True
    three.say("count")
    three.step(7)
    if way == "again":
        press(tools(three.items(ReplyView)[0]).again, three)
    elif way == "edit":
        edit(three, 0, "z")
    else:
        press(tools(three.items(ReplyView)[0]).previous, three)
    three.engine.hold = False
    three.rest()
    assert not three.chat.generating
    assert three.said() == {"again": ["a"], "edit": ["z"], "version": ["a", "b", "c"]}[way]
    kept = three.library._db.execute("SELECT content FROM messages WHERE state = 'interrupted'").fetchall()
    ((stopped,),) = kept
    assert stopped.startswith("one")
    assert "six" not in stopped
    assert len(generated(three)) == (5 if way == "version" else 6)


def test_answering_again_brings_the_scheme_along_that_waits(three: Bench) -> None:
    three.engine.hold = True
    three.say("d")
    three.step(6)
    three.pick("turbo2")
    again(three, 0)
    three.engine.hold = False
    three.rest()
    assert generated(three)[-1].scheme == "turbo2"
    assert not any(isinstance(command, ev.SwitchScheme) for command in three.engine.received)


def test_nothing_is_edited_while_the_scheme_changes(three: Bench) -> None:
    three.pick("turbo2")
    three.engine.hold = True
    three.pick("none")
    edit(three, 0, "x")
    assert "The cache is changing to none" in three.window.notices.texts()
    assert editor(three).text == "x"


# ---------------------------------------------------------------- the cache's side


def test_the_curve_and_the_switches_are_the_branchs_own(three: Bench) -> None:
    three.pick("turbo2")
    three.say("d")
    three.say("e")
    again(three, 0)
    assert three.dividers() == []
    assert three.panel.chart.history.markers == []
    points = three.panel.chart.history.points
    assert points[-1].tokens == 7
    assert {p.scheme for p in points} == {"turbo2"}, "the first reply's branch begins with the message itself"
    three.say("x")
    press(tools(three.items(ReplyView)[0]).previous, three)
    assert len(three.dividers()) == 1
    three.say("f")
    branch = {m.id for m in three.library.messages(three.chat.current)}
    stored = three.library.history.samples(three.chat.current)
    here = [p for p in stored if p.message in branch]
    assert len(here) < len(stored)
    points = three.panel.chart.history.points
    assert points[-1].tokens == here[-1].tokens
    assert {(p.tokens, p.used_bytes) for p in points} <= {(p.tokens, p.used_bytes) for p in here}


def test_the_engine_is_told_which_branch_is_shown(three: Bench) -> None:
    again(three, 1)
    press(tools(three.items(ReplyView)[1]).previous, three)
    opened = [command for command in three.engine.received if isinstance(command, ev.OpenConversation)][-1]
    assert [message.content for message in opened.messages] == ["a", "A 1", "b", "B 2", "c", "C 3"]


# ---------------------------------------------------------------- when the context is full


def full(start: Start) -> Bench:
    bench = start(FakeEngine(context=120))
    bench.engine.reply = lambda prompt: "ok " * 8
    for text in ("first", "second", "third"):
        bench.say(text + " word" * 8)
    return bench


def test_an_edit_without_room_can_be_taken_back(start: Start) -> None:
    bench = full(start)
    edit(bench, 1, "x " * 200)
    (card,) = bench.items(ContextFullCard)
    assert len(bench.said()) == 2
    button(card, "Cancel").click()
    bench.rest()
    assert [text.split()[0] for text in bench.said()] == ["first", "second", "third"]
    assert bench.composer.edit.toPlainText() == ("x " * 200).strip()
    assert places(bench) == []


@pytest.mark.parametrize("way", ["version", "again", "edit"])
def test_what_waits_for_a_reply_that_turns_out_to_have_no_room(start: Start, way: str) -> None:
    bench = start(FakeEngine(context=64))
    bench.say("a")
    again(bench, 0)
    bench.engine.hold = True
    bench.say("word " * 80)
    if way == "edit":
        tools(bench.items(UserBubble)[0]).edit.click()
        editor(bench).edit.setPlainText("b")
        editor(bench).save.click()
    else:
        reply = tools(bench.items(ReplyView)[0])
        (reply.previous if way == "version" else reply.again).click()
    bench.engine.hold = False
    bench.rest()
    assert spoken(bench) == (["b", "You said *b*."] if way == "edit" else ["a", "You said *a*."])
    assert places(bench) == {"version": ["1/2"], "again": ["3/3"], "edit": ["2/2"]}[way]
    assert not bench.items(ContextFullCard)
    bench.say("c")
    assert bench.said()[-1] == "c"


def test_another_reply_without_room_leaves_the_branch_as_it_was(start: Start) -> None:
    bench = full(start)
    bench.engine.context = 20
    again(bench, 0)
    (card,) = bench.items(ContextFullCard)
    assert [text.split()[0] for text in bench.said()] == ["first"]
    button(card, "Cancel").click()
    bench.rest()
    assert [text.split()[0] for text in bench.said()] == ["first", "second", "third"]
    assert bench.composer.edit.toPlainText() == ""


def test_left_out_turns_stay_left_out_in_their_branch_only(start: Start) -> None:
    bench = full(start)
    bench.say("fourth" + " word" * 30)
    (card,) = bench.items(ContextFullCard)
    button(card, "Leave out the oldest turn").click()
    bench.rest()
    assert asked(bench)[0].startswith("second")
    assert bench.dividers() == ["The model reads from here on"]
    edit(bench, 0, "other")
    assert asked(bench) == ["other"]
    assert bench.dividers() == []
    press(tools(bench.items(UserBubble)[0]).previous, bench)
    assert bench.dividers() == ["The model reads from here on"]
    bench.say("fifth")
    if bench.items(ContextFullCard):
        button(bench.items(ContextFullCard)[0], "Leave out the oldest turn").click()
        bench.rest()
    assert not any(text.startswith("first") for text in asked(bench))


def test_a_message_moves_to_a_new_conversation_from_an_edit(start: Start) -> None:
    bench = full(start)
    old = bench.chat.current
    edit(bench, 2, "x " * 90)
    bench.engine.context = 4000
    button(bench.items(ContextFullCard)[0], "New conversation").click()
    bench.rest()
    assert bench.chat.current != old
    assert len(bench.replies()) == 1
    bench.chat.open(old)
    assert [text.split()[0] for text in bench.said()] == ["first", "second", "third"]


# ---------------------------------------------------------------- the row of tools


def test_the_tools_are_seen_when_they_are_wanted(three: Bench) -> None:
    bubble = three.items(UserBubble)[0]
    row = tools(bubble)
    assert not row.copy._seen
    QApplication.sendEvent(bubble, QEvent(QEvent.Type.Enter))
    assert row.copy._seen
    assert row.edit._seen
    QApplication.sendEvent(bubble, QEvent(QEvent.Type.Leave))
    assert not row.copy._seen
    row.edit.setFocus(Qt.FocusReason.TabFocusReason)
    assert row.copy._seen
    QTest.keyClick(row.edit, Qt.Key.Key_Space)
    three.rest()
    assert editor(three).edit.hasFocus()
    assert tools(three.items(ReplyView)[-1]).again._seen, "below the last reply they are always there"
    assert not tools(three.items(ReplyView)[0]).again._seen


def test_every_tool_is_reached_with_the_tab_key_and_has_a_name(three: Bench) -> None:
    again(three, 1)
    wanted = {tool for item in three.transcript.items() for tool in tools(item).findChildren(QToolButton)}
    assert all(tool.accessibleName() for tool in wanted)
    assert tools(three.items(ReplyView)[1]).place.accessibleName() == "Version 2 of 2"
    reached: set[QWidget | None] = set()
    three.composer.edit.setFocus()
    for _ in range(120):
        QTest.keyClick(QApplication.focusWidget() or three.window, Qt.Key.Key_Tab)
        reached.add(QApplication.focusWidget())
    assert {tool for tool in wanted if tool.isEnabled()} <= reached


def test_the_last_message_is_edited_and_answered_again_from_the_menu(three: Bench) -> None:
    three.composer.edit.setFocus()
    QTest.keyClick(three.composer.edit, Qt.Key.Key_E, CTRL)
    assert editor(three).text == "c"
    assert editor(three).edit.hasFocus()
    QTest.keyClick(editor(three).edit, Qt.Key.Key_Escape)
    QTest.keyClick(three.composer.edit, Qt.Key.Key_R, CTRL)
    three.rest()
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 4"]
    three.chat.new()
    three.window.actions_.edit_last.trigger()
    three.window.actions_.again.trigger()
    three.rest()
    assert three.transcript.items() == []


def test_copying_says_so(three: Bench) -> None:
    for item, text in ((three.items(UserBubble)[1], "b"), (three.items(ReplyView)[1], "B 2")):
        QTest.mouseClick(tools(item).copy, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == text


@pytest.mark.parametrize("width", [1280, 640])
def test_the_tools_lie_within_the_column_and_over_no_text(three: Bench, width: int) -> None:
    three.engine.reply = lambda prompt: "word " * 60
    three.chat.new()
    for text in ("short", "long " * 60, "x" * 300):
        three.say(text)
        edit(three, -1, text + " and more")
    three.window.resize(width, 800)
    three.rest()
    for item in three.items(UserBubble):
        row = tools(item).geometry()
        assert item.rect().contains(row)
        assert not item.box.toRect().intersects(row)
    for view in three.items(ReplyView):
        row = tools(view)
        assert view.rect().contains(row.mapTo(view, QPoint(0, 0)))
        assert row.width() >= row.sizeHint().width()


def test_the_place_that_is_read_stays_where_it_is(three: Bench) -> None:
    three.engine.reply = lambda prompt: "\n\n".join("words " * 40 for _ in range(4))
    for text in "defgh":
        three.say(text)
    again(three, 4)
    three.say("more")
    three.say("and more")
    view = three.items(ReplyView)[4]
    three.transcript.ensureWidgetVisible(tools(view))
    three.rest()
    before = view.mapTo(three.transcript.viewport(), QPoint(0, 0)).y()
    press(tools(view).previous, three)
    after = three.items(ReplyView)[4].mapTo(three.transcript.viewport(), QPoint(0, 0)).y()
    assert len(three.said()) == 8
    assert abs(after - before) <= 1


def test_a_search_finds_its_message_in_whichever_branch_it_is(three: Bench) -> None:
    for number in range(30):
        three.say(f"number {number}")
    conversation, needle = three.chat.current, three.library.messages(three.chat.current)[4].id
    tools(three.items(ReplyView)[0]).again.click()  # it is far above what is seen
    three.rest()
    assert spoken(three)[:1] == ["a"]
    assert len(three.said()) == 1
    three.chat.new()
    three.window.sidebar.hit_chosen.emit(Result(conversation, needle, "", ()))
    three.rest()
    assert len(three.library.messages(conversation)) == 2 * 33
    (bubble,) = (item for item in three.items(UserBubble) if tools(item).message_id == needle)
    assert bubble.text == "c"
    view = three.transcript.viewport()
    assert view.rect().contains(bubble.mapTo(view, QPoint(bubble.width() // 2, 10)))


@pytest.mark.parametrize("undone", ["at once", "later"])
def test_a_conversation_deleted_while_it_is_answered_comes_back_with_all_its_branches(
    three: Bench, undone: str
) -> None:
    again(three, 0)
    conversation = three.chat.current
    three.engine.reply = lambda prompt: "one two three four five six"
    three.engine.hold = True
    three.say("count")
    three.step(7)
    three.chat.delete(conversation)
    assert three.chat.current == ""
    if undone == "at once":
        three.chat.deleting.undo()
    three.engine.hold = False
    three.rest()
    if undone == "later":
        three.chat.deleting.undo()
    three.rest()
    assert three.chat.current == conversation
    assert three.said() == ["a", "count"]
    assert three.replies()[-1].startswith("one two")
    assert three.library.messages(conversation)[-1].state == "interrupted"
    assert not three.chat.generating
    press(tools(three.items(ReplyView)[0]).previous, three)
    assert spoken(three) == ["a", "A 1", "b", "B 2", "c", "C 3"]


def test_a_scheme_that_waited_goes_with_the_reply_that_takes_its_place(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("hello")
    bench.step(4)
    bench.pick("turbo2")
    assert bench.panel.pending_text == "turbo2 after this reply"
    bench.window.actions_.again.trigger()
    bench.engine.hold = False
    bench.rest()
    assert generated(bench)[-1].scheme == "turbo2"
    assert bench.panel.pending_text == ""
    assert bench.panel.picker.currentText() == "turbo2"
    assert bench.library.conversation(bench.chat.current).scheme == "turbo2"
    bench.say("and now?")
    assert generated(bench)[-1].scheme == "turbo2"


def test_without_a_model_a_scheme_is_noted_when_the_disk_can_be_written(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start()
    first.say("hello")
    first.close()
    bench = start(load=False)
    bench.chat.open(bench.chat.newest())

    disk, write = ["full"], bench.library.set_scheme

    def set_scheme(conversation: str, scheme: str) -> None:
        if disk:
            raise sqlite3.OperationalError("database or disk is full")
        write(conversation, scheme)

    monkeypatch.setattr(bench.library, "set_scheme", set_scheme)
    bench.window.guard.scheme_taken.emit("turbo2")
    assert bench.chat.scheme == "turbo2"
    disk.clear()
    bench.chat._writing.flush()
    assert bench.library.conversation(bench.chat.current).scheme == "turbo2"
