"""What a person does in the window, with the scripted engine behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QInputMethodEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton

from app import events as ev
from app.errors import AppError
from app.ui.conversations.conversation_list import DETAIL_ROLE, SHORT_ROLE
from app.ui.shared import faults, formats, theme
from app.ui.shared.cards import Card, ContextFullCard
from app.ui.transcript.reply_view import ReplyView
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine, cache_bytes, words

Start = Callable[..., Bench]


def generated(bench: Bench) -> list[ev.Generate]:
    return [c for c in bench.engine.received if isinstance(c, ev.Generate)]


def figures(bench: Bench) -> str:
    return bench.items(ReplyView)[-1].figures


def button(widget: object, text: str) -> QPushButton:
    assert isinstance(widget, Card)
    return next(b for b in widget.findChildren(QPushButton) if b.text() == text)


# ---------------------------------------------------------------- sending


def test_a_message_is_answered_and_kept(bench: Bench) -> None:
    bench.say("Hello there")
    assert bench.said() == ["Hello there"]
    assert bench.replies() == ["You said *Hello there*."]
    assert figures(bench) == "turbo4 · 4 tokens · 42.3 tok/s · reused 0 of 6 prompt tokens"
    (conversation,) = bench.library.conversations()
    stored = bench.library.messages(conversation.id)
    assert [(m.role, m.content, m.state) for m in stored] == [
        ("user", "Hello there", "complete"),
        ("assistant", "You said *Hello there*.", "complete"),
    ]
    assert conversation.title == "Hello there"
    assert bench.window.windowTitle().startswith("Hello there")


def test_the_users_message_is_on_disk_before_the_engine_hears_of_it(bench: Bench) -> None:
    bench.engine.hold = True
    seen: list[str] = []
    submit = bench.engine.submit

    def spy(command: ev.Command) -> None:
        if isinstance(command, ev.Generate):
            seen.extend(m.content for m in bench.library.messages(command.conversation_id))
        submit(command)

    bench.engine.submit = spy  # type: ignore[method-assign]
    bench.say("Remember this")
    assert seen == ["Remember this", ""]


def test_an_empty_message_sends_nothing(bench: Bench) -> None:
    for text in ("", "   ", "\n\n\t", "\u200b", " \u2060\u202e "):
        bench.say(text)
    assert not generated(bench)
    assert not bench.library.conversations()


def test_shift_enter_breaks_the_line(bench: Bench) -> None:
    bench.type("one")
    bench.composer.edit.moveCursor(bench.composer.edit.textCursor().MoveOperation.End)
    bench.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bench.composer.edit.toPlainText().startswith("one")
    assert len(bench.composer.edit.toPlainText()) > 3
    assert not generated(bench)


def test_an_enter_that_ends_a_composition_does_not_send(bench: Bench) -> None:
    edit = bench.composer.edit
    bench.type("ni")
    QApplication.sendEvent(edit, QInputMethodEvent("你", []))
    bench.press(Qt.Key.Key_Return)
    assert not generated(bench)
    ended = QInputMethodEvent("", [])
    ended.setCommitString("你")
    QApplication.sendEvent(edit, ended)
    bench.press(Qt.Key.Key_Return)
    assert generated(bench)[0].messages[-1].content in ("ni你", "你ni")


def test_the_composer_grows_to_a_limit(bench: Bench) -> None:
    one = bench.composer.edit.height()
    bench.type("\n".join("abc"))
    three = bench.composer.edit.height()
    bench.type("\n" * 100)
    most = bench.composer.edit.height()
    bench.type("")
    assert one < three < most < 260
    assert bench.composer.edit.height() == one


def test_without_a_model_nothing_can_be_sent_and_the_reason_is_shown(start: Start) -> None:
    bench = start(load=False)
    bench.type("Hello")
    assert not bench.composer.button.isEnabled()
    assert bench.composer.note == "No model is loaded"
    bench.press(Qt.Key.Key_Return)
    assert not bench.library.conversations()


def test_rich_text_is_pasted_plain(bench: Bench) -> None:
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold")
    bench.composer.edit.insertFromMimeData(data)
    assert bench.composer.edit.toPlainText() == "bold"


# ---------------------------------------------------------------- a running reply


def test_stop_keeps_what_was_written(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "one two three four five six"
    bench.engine.hold = True
    bench.say("Count")
    bench.step(7)
    assert bench.composer.button.text() == "Stop"
    QTest.keyClick(bench.window, Qt.Key.Key_Escape)
    bench.engine.hold = False
    bench.rest()
    text = bench.replies()[-1]
    assert text
    assert "six" not in text
    assert figures(bench).endswith("stopped by you")
    assert bench.library.messages(bench.chat.current)[-1].state == "interrupted"
    assert bench.composer.button.text() == "Send"


def test_a_streaming_reply_is_written_down_while_it_runs(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "one two three four five six"
    bench.engine.hold = True
    bench.say("Count")
    bench.step(8)
    bench.chat.on_save()
    stored = bench.library.messages(bench.chat.current)[-1]
    assert stored.state == "partial"
    assert stored.content.startswith("one two")


def test_a_failure_is_shown_inline_and_can_be_tried_again(bench: Bench) -> None:
    bench.engine.fail_next = AppError("Out of memory.", "Pick a smaller scheme.")
    bench.say("Hello")
    (view,) = bench.items(ReplyView)
    assert bench.library.messages(bench.chat.current)[-1].state == "failed"
    button(view.card, "Retry").click()
    bench.rest()
    assert bench.replies() == ["You said *Hello*."]
    assert bench.said() == ["Hello"]
    assert [m.content for m in generated(bench)[-1].messages] == ["Hello"]


def test_a_failure_is_still_there_after_a_restart(start: Start) -> None:
    bench = start()
    bench.engine.fail_next = AppError("Out of memory.", "Pick a smaller scheme.")
    bench.say("Hello")
    bench.close()
    again = start()
    again.chat.open(again.chat.newest())
    (view,) = again.items(ReplyView)
    button(view.card, "Retry").click()
    again.rest()
    assert again.replies() == ["You said *Hello*."]


def test_a_reply_goes_on_while_another_conversation_is_read(bench: Bench) -> None:
    bench.say("First")
    first = bench.chat.current
    bench.engine.reply = lambda prompt: "one two three four five six seven eight"
    bench.engine.hold = True
    bench.say("Second")
    bench.step(6)
    bench.chat.new()
    bench.type("Third")
    assert not bench.composer.can_send
    assert "First" in bench.composer.note
    bench.step(1)
    bench.chat.open(first)
    bench.step(1)
    assert bench.replies()[-1].startswith("one two three")
    bench.engine.hold = False
    bench.rest()
    assert bench.replies()[-1] == "one two three four five six seven eight"
    assert bench.library.messages(first)[-1].content == "one two three four five six seven eight"


def test_a_reply_that_ends_out_of_sight_is_kept(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("First")
    first = bench.chat.current
    bench.chat.new()
    bench.engine.hold = False
    bench.rest()
    assert bench.replies() == []
    assert bench.library.messages(first)[-1].state == "complete"


# ---------------------------------------------------------------- the list


def test_conversations_survive_a_restart(start: Start) -> None:
    bench = start()
    bench.pick("turbo2")
    bench.say("A first question " + "word " * 80)
    bench.say("A second one")
    snapshots = bench.engine.snapshots
    bench.close()
    engine = FakeEngine()
    engine.snapshots = snapshots
    again = start(engine)
    again.chat.open(again.chat.newest())
    again.rest()
    assert [text.split()[1] for text in again.said()] == ["first", "second"]
    assert len(again.replies()) == 2
    assert again.chat.scheme == "turbo2"
    assert again.panel.picker.currentText() == "turbo2"
    assert len(again.panel.chart.history.points) >= 3
    for _ in range(2):
        assert "loaded in" in again.panel.value("snapshot")
        again.chat.new()
        again.chat.open(again.chat.newest())  # its cache is in memory by now
        again.rest()
    again.say("A third one")
    assert "reused 0 of" not in figures(again)


def test_a_killed_reply_is_marked(start: Start, tmp_path: object) -> None:
    bench = start()
    bench.engine.reply = lambda prompt: "one two three four five six"
    bench.engine.hold = True
    bench.say("Count")
    bench.step(8)
    bench.chat.on_save()
    # The process ends here: no TurnFinished ever comes. Another library on the same file is the next start's.
    again = start()
    again.chat.open(again.chat.newest())
    assert again.replies()[-1].startswith("one two")
    assert figures(again).endswith("cut off when the program ended")


def test_delete_can_be_undone(bench: Bench) -> None:
    bench.say("Keep me")
    conversation = bench.chat.current
    bench.chat.delete(conversation)
    assert bench.library.conversations() == []
    assert bench.chat.current == ""
    assert bench.window.notices.texts() == ["“Keep me” was deleted."]
    next(b for b in bench.window.notices.findChildren(QPushButton) if b.text() == "Undo").click()
    assert [c.id for c in bench.library.conversations()] == [conversation]
    assert bench.said() == ["Keep me"]
    assert not bench.window.actions_.undo.isEnabled()
    assert not any(isinstance(c, ev.DiscardCache) for c in bench.engine.received)


def test_a_deleted_conversation_gives_up_its_cache(bench: Bench) -> None:
    bench.say("Forget me")
    conversation = bench.chat.current
    bench.chat.delete(conversation)
    bench.rest()
    assert conversation in bench.engine.caches, "an undo brings it back whole"
    bench.say("Another")
    bench.chat.delete(bench.chat.current)
    bench.rest()
    assert conversation not in bench.engine.caches


def test_a_deletion_is_undone_with_the_keyboard_after_the_notice_has_gone(bench: Bench) -> None:
    bench.say("Keep me")
    bench.window.sidebar.list.setFocus()
    QTest.keyClick(bench.window.sidebar.list, Qt.Key.Key_Delete)
    assert bench.library.conversations() == []
    bench.window.notices.dismiss("“Keep me” was deleted.")
    assert bench.window.actions_.undo.text() == "Undo deleting “Keep me”"
    QTest.keyClick(bench.composer.edit, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert bench.said() == ["Keep me"]
    bench.type("")
    QTest.keyClicks(bench.composer.edit, "abc")
    QTest.keyClick(bench.composer.edit, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert bench.composer.edit.toPlainText() == "", "what was typed is undone first"


def test_two_deleted_conversations_of_one_title_can_both_be_undone(bench: Bench) -> None:
    for _ in range(2):
        bench.chat.new()
        bench.say("Twin")
    first, second = (c.id for c in bench.library.conversations())
    undone: list[str] = []
    for conversation in (first, second):
        bench.window.notices.show_notice("Twin was deleted.", "Undo", partial(undone.append, conversation))
    for undo in bench.window.notices.findChildren(QPushButton):
        undo.click()
    assert undone == [first, second]


def test_a_title_is_shown_as_it_is(bench: Bench) -> None:
    bench.say("<b>bold</b><img src=x> & co")
    model = bench.window.sidebar.model
    tip = str(model.data(model.index(1), Qt.ItemDataRole.ToolTipRole))
    assert "&lt;b&gt;bold&lt;/b&gt;" in tip
    bench.engine.hold = True
    bench.say("more")
    bench.chat.new()
    assert "&lt;b&gt;" in bench.composer.button.toolTip()
    bench.chat.delete(bench.library.conversations()[0].id)
    (label,) = (x for x in bench.window.notices.findChildren(QLabel) if "bold" in x.text())
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_a_name_being_typed_outlives_a_reply(bench: Bench) -> None:
    bench.say("First")
    bench.chat.new()
    bench.say("Second")
    bench.engine.hold = True
    bench.say("And now?")
    sidebar = bench.window.sidebar
    sidebar.on_rename()
    editor = sidebar.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("A better name")
    bench.engine.hold = False
    bench.rest()
    bench.chat.rename(bench.chat.newest(), "Meanwhile")  # the list changes
    bench.rest()
    assert editor.isVisible()
    assert editor.text() == "A better name"
    QTest.keyClick(editor, Qt.Key.Key_Return)
    bench.rest()
    titles = [sidebar.model.data(sidebar.model.index(row)) for row in range(sidebar.model.rowCount())]
    assert titles == ["Today", "A better name", "First"]


def test_rename_and_search(bench: Bench) -> None:
    bench.say("Alpha")
    bench.chat.rename(bench.chat.current, "Renamed")
    bench.chat.new()
    bench.say("Beta")
    model = bench.window.sidebar.model
    titles = [model.data(model.index(row)) for row in range(model.rowCount())]
    assert titles == ["Today", "Beta", "Renamed"]
    bench.window.sidebar.search.setText("ren")
    assert [result.text for result in bench.window.sidebar.found.results.results] == ["Renamed"]


def test_the_composer_has_the_focus_after_every_step(bench: Bench) -> None:
    edit, window = bench.composer.edit, bench.window
    window.activateWindow()
    bench.type("Hello")
    bench.engine.hold = True
    QTest.mouseClick(bench.composer.button, Qt.MouseButton.LeftButton)
    assert bench.chat.generating
    assert edit.hasFocus()
    bench.transcript.setFocus()
    QTest.mouseClick(bench.composer.button, Qt.MouseButton.LeftButton)
    assert edit.hasFocus()
    bench.transcript.setFocus()
    bench.engine.hold = False
    bench.rest()
    assert edit.hasFocus(), "the reply has ended"
    window.panel.picker.setFocus()
    window.actions_.new.trigger()
    assert edit.hasFocus()
    row = window.sidebar.list.visualRect(window.sidebar.model.index(1)).center()
    window.sidebar.list.setFocus()
    QTest.mouseClick(window.sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=row)
    assert bench.said() == ["Hello"]
    assert edit.hasFocus()
    window.sidebar.list.setFocus()
    window.actions_.delete.trigger()
    assert edit.hasFocus()


def test_a_reply_that_ends_does_not_disturb_a_search(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("Hello")
    search = bench.window.sidebar.search
    search.setFocus()
    bench.engine.hold = False
    bench.rest()
    assert search.hasFocus()


def test_a_search_says_when_nothing_matches_and_escape_clears_it(bench: Bench) -> None:
    bench.say("Alpha")
    sidebar = bench.window.sidebar
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "omega")
    sidebar.search_again()
    assert sidebar.no_match.isVisible()
    QTest.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert sidebar.search.text() == ""
    assert not sidebar.no_match.isVisible()
    assert sidebar.search.hasFocus()
    QTest.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert bench.composer.edit.hasFocus()


def test_backspace_outside_the_list_deletes_nothing(bench: Bench) -> None:
    bench.say("Keep me")
    for widget in (bench.composer.edit, bench.transcript, bench.panel.chart):
        QTest.keyClick(widget, Qt.Key.Key_Backspace)
    assert len(bench.library.conversations()) == 1


# ---------------------------------------------------------------- schemes


def test_a_switch_is_marked_in_text_and_chart(bench: Bench) -> None:
    bench.pick("turbo0v4")
    bench.say("word " * 300)
    tokens = bench.panel.chart.history.last_tokens()
    bench.pick("turbo2")
    before, after = cache_bytes("turbo0v4", tokens), cache_bytes("turbo2", tokens)
    (marker,) = bench.panel.chart.history.markers
    assert (marker.bytes_before, marker.bytes_after, marker.tokens) == (before, after, tokens)
    assert bench.dividers() == [
        f"turbo0v4 → turbo2   {formats.data_size(before)} → {formats.data_size(after)}   in 0.21 s"
    ]
    assert bench.library.conversations()[0].scheme == "turbo2"
    bench.say("More")
    bench.pick("turbo3")
    assert "rebuilt in" in bench.dividers()[-1]
    bench.pick("turbo2")
    assert "compressed further in" in bench.dividers()[-1]


def test_a_switch_while_generating_waits_for_the_end(bench: Bench) -> None:
    bench.say("word " * 100)
    bench.engine.hold = True
    bench.say("And now?")
    bench.step(3)
    bench.panel.picker.activated.emit(bench.panel.picker.findText("turbo2"))
    assert bench.panel.pending_text == "turbo2 after this reply"
    assert bench.chat.scheme == "turbo4"
    assert not any(isinstance(c, ev.SwitchScheme) for c in bench.engine.received)
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo2"
    assert bench.panel.pending_text == ""


def test_a_waiting_switch_can_be_taken_back(bench: Bench) -> None:
    bench.say("word " * 100)
    bench.engine.hold = True
    bench.say("And now?")
    bench.step(3)
    bench.panel.picker.activated.emit(bench.panel.picker.findText("turbo2"))
    bench.panel.cancel_clicked.emit()
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo4"
    assert not bench.dividers()


def test_a_rebuild_shows_progress_and_can_be_cancelled(bench: Bench) -> None:
    bench.pick("turbo2")
    bench.say("word " * 900)
    bench.engine.hold = True
    bench.panel.picker.activated.emit(bench.panel.picker.findText("turbo4"))
    bench.step(2)
    assert bench.panel.pending_text.startswith("Rebuilding as turbo4: 1")
    assert bench.composer.note == "The cache is changing to turbo4"
    bench.panel.cancel_clicked.emit()
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo2"
    assert bench.panel.picker.currentText() == "turbo2"
    assert bench.panel.pending_text == ""
    assert bench.composer.note.startswith("Context")


def test_measured_and_predicted_savings_are_told_apart(bench: Bench) -> None:
    bench.say("word " * 500)
    picker = bench.panel.picker
    assert picker.saving(picker.currentData()) == ("3.4× measured", "measured")
    said = {picker.itemText(row): picker.predicted(picker.itemData(row)) for row in range(picker.count())}
    assert said["turbo2"] == "7.1× predicted", "the scheme's own figure, at any number of tokens"
    assert said["turbo4"] == "3.8× predicted", "the list compares like with like"
    rows = [picker.itemData(row, Qt.ItemDataRole.AccessibleTextRole) for row in range(picker.count())]
    assert all("predicted" in row and "measured." not in row.split(". ")[:3] for row in rows)


@pytest.mark.parametrize("scheme", ["turbo4", "none"])
def test_the_list_says_what_the_panel_says(bench: Bench, scheme: str) -> None:
    bench.pick(scheme)
    bench.say("word " * 100)
    one = bench.chat.current
    bench.library.caches.held(one, 12, 345)  # as an import or another of its branches leaves it
    bench.chat.new()
    bench.chat.open(one)
    bench.rest()
    model = bench.window.sidebar.model
    row = model.index(model.row_of(one))
    tokens = bench.engine.caches[one][1]
    name = "uncompressed" if scheme == "none" else scheme
    assert row.data(DETAIL_ROLE) == f"{name} · {tokens} tokens · {bench.panel.used.text()} cached"
    assert row.data(SHORT_ROLE) == f"{name} · {tokens} tokens · {bench.panel.used.text()}"


@pytest.mark.parametrize("scheme", ["turbo4", "none"])
def test_a_cache_that_nothing_is_heard_of_isnt_said_to_be_empty(start: Callable[..., Bench], scheme: str) -> None:
    bench = start()
    bench.pick(scheme)
    bench.say("word " * 100)
    size, tokens = bench.panel.used.text(), bench.engine.caches[bench.chat.current][1]
    bench.close()
    again = start(FakeEngine(), load=False)
    again.chat.open(again.chat.newest())
    assert (again.panel.used.text(), again.panel.uncompressed.text()) == (size, "measured last")
    assert "yet" not in again.panel.engagement.headline.text()
    again.load()  # the engine holds nothing of it
    assert again.composer.used_tokens == tokens
    again.chat.discard_cache(again.chat.current)
    again.rest()
    assert again.panel.uncompressed.text() == "not cached now"
    assert again.composer.used_tokens == tokens, "what the next reply reads"
    assert again.panel.engagement.detail.text() == "The next reply reads the text again."


@pytest.mark.parametrize("way", ["quit", "stop"])
def test_who_broke_a_reply_off_is_told_apart(start: Callable[..., Bench], way: str) -> None:
    bench = start()
    bench.engine.hold = True
    bench.engine.reply = lambda prompt: "word " * 40
    bench.say("hello")
    bench.step(8)
    if way == "stop":
        bench.chat.stop()
        bench.rest()
    bench.close()
    again = start(FakeEngine(), load=False)
    again.chat.open(again.chat.newest())
    (reply,) = again.items(ReplyView)
    assert reply.source().startswith("word")
    said = {"quit": "cut off when the program ended", "stop": "stopped by you"}[way]
    assert reply._figures.text().endswith(said)


def test_an_uncompressed_cache_isnt_compared_with_itself(bench: Bench) -> None:
    bench.pick("none")
    bench.say("word " * 100)
    assert bench.panel.uncompressed.text() == "uncompressed"


def test_while_nothing_is_packed_no_saving_is_claimed(bench: Bench) -> None:
    bench.say("Hello there")
    picker = bench.panel.picker
    assert picker.saving(picker.currentData()) == ("still uncompressed", "raw")
    assert bench.panel.uncompressed.text() == "still uncompressed"
    bench.say("word " * 200)
    assert picker.saving(picker.currentData())[1] == "measured"


def test_while_a_long_prompt_is_read_the_panel_is_as_wide_and_says_what_comes(bench: Bench) -> None:
    body, card = bench.panel.widget(), bench.panel.engagement
    raw = ev.MemorySample(bench.chat.current, "turbo4", 1280, 29_491_200, 1, 29_491_200, 1280, 0, 30, 1, 1, 1)
    for percent in (100, 200):
        bench.window.configuring.appearance.set_percent(percent)
        bench.panel.show_sample(raw)
        bench.rest()
        assert body.width() <= bench.panel.viewport().width(), percent
    assert card.headline.text() == "turbo4: nothing compressed yet"
    assert card.detail.text() == "Compressed when the prompt has been read."
    bench.panel.show_sample(replace(raw, tokens=60, raw_tokens=60))
    assert card.headline.text() == "turbo4: nothing to compress yet"


def test_the_curve_begins_anew_where_the_cache_is_read_anew(start: Start) -> None:
    bench = start()
    bench.say("word " * 200)
    bench.pick("turbo2")
    bench.say("word " * 100)
    before = [p.tokens for p in bench.panel.chart.history.points]
    assert len(bench.panel.chart.history.markers) == 1
    bench.engine.caches.clear()  # as another system prompt does
    bench.say("more")
    history, tokens = bench.panel.chart.history, bench.engine.caches[bench.chat.current][1]
    assert [p.tokens for p in history.points][:2] == [0, tokens - words(bench.replies()[-1])]
    assert history.markers == []
    assert tokens > max(before)
    assert len(bench.dividers()) == 1, "the transcript tells what was"
    bench.close()
    again = start(load=False)
    again.chat.open(again.chat.newest())
    stored = again.panel.chart.history
    assert [(p.tokens, p.used_bytes) for p in stored.points][:2] == [(p.tokens, p.used_bytes) for p in history.points][
        :2
    ]
    assert stored.markers == []


def test_the_list_opens_below_its_button_and_closes(bench: Bench) -> None:
    picker, window = bench.panel.picker, bench.window
    card = picker.view().parentWidget()
    QTest.mouseClick(picker, Qt.MouseButton.LeftButton)
    assert card.isVisible()
    bottom = picker.mapTo(window, picker.rect().bottomLeft()).y()
    assert picker.view().mapTo(window, QPoint(0, 0)).y() > bottom
    assert card.geometry().bottom() <= window.height()
    QTest.mouseClick(picker, Qt.MouseButton.LeftButton)
    assert not card.isVisible(), "the button's second click"
    picker.showPopup()
    QTest.keyClick(picker.view(), Qt.Key.Key_Escape)
    assert not card.isVisible()
    assert not picker.hasFocus(), "the caret goes back to the text"
    picker.showPopup()
    QTest.mouseClick(bench.transcript.viewport(), Qt.MouseButton.LeftButton)
    assert not card.isVisible()
    picker.showPopup()
    place = picker.view().visualRect(picker.model().index(picker.findText("turbo2"), 0)).center()
    QTest.mouseClick(picker.view().viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert bench.chat.scheme == "turbo2"
    window.resize(800, 420)
    picker.showPopup()
    assert card.geometry().bottom() <= window.height()


def test_keys_and_wheel_do_not_switch_a_closed_dropdown(bench: Bench) -> None:
    bench.say("word " * 60)
    picker = bench.panel.picker
    QTest.keyClick(picker, Qt.Key.Key_Down)
    QTest.keyClick(picker, Qt.Key.Key_T)
    picker.hidePopup()
    place = QPointF(10, 10)
    turned = QWheelEvent(
        place, place, QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(picker, turned)
    bench.rest()
    assert not any(isinstance(c, ev.SwitchScheme) for c in bench.engine.received)


def test_the_dropdown_is_worked_with_keys(bench: Bench) -> None:
    bench.say("word " * 60)
    picker = bench.panel.picker
    picker.showPopup()
    picker.view().setCurrentIndex(picker.model().index(picker.findText("turbo2"), 0))
    QTest.keyClick(picker.view(), Qt.Key.Key_Return)
    bench.rest()
    assert bench.chat.scheme == "turbo2"


def test_each_scheme_reaches_the_engine(bench: Bench) -> None:
    for row in range(bench.panel.picker.count()):
        name = bench.panel.picker.itemText(row)
        bench.chat.new()
        bench.pick(name)
        bench.say("word " * 60)
        assert generated(bench)[-1].scheme == name
        assert bench.engine.caches[bench.chat.current][0] == name


def test_picking_a_scheme_twice_switches_once(bench: Bench) -> None:
    bench.say("word " * 300)
    bench.engine.hold = True
    bench.pick("turbo2")
    bench.pick("turbo2")
    bench.engine.hold = False
    bench.rest()
    assert len([c for c in bench.engine.received if isinstance(c, ev.SwitchScheme)]) == 1
    assert len(bench.dividers()) == 1


@pytest.mark.parametrize("method", ["unchanged", "empty", "of another version"])
def test_a_switch_of_any_method_can_be_told_and_stored(bench: Bench, method: str) -> None:
    bench.say("word " * 300)
    current = bench.chat.current
    switch = ev.SchemeSwitched(current, "turbo4", "turbo2", 300, 10, 5, method, 0.1)  # type: ignore[arg-type]
    bench.engine.event_emitted.emit(switch)
    assert len(bench.library.history.switches(current)) == (method not in ev.NOTHING_SWITCHED)
    bench.library.history.record_switch(switch, bench.library.conversation(current).leaf)  # as an earlier version did
    bench.chat.new()
    bench.chat.open(current)
    assert len(bench.dividers()) == 2 * (method not in ev.NOTHING_SWITCHED)
    assert bench.chat.scheme == "turbo2"


def test_the_scheme_asked_for_last_is_the_one_that_comes(bench: Bench) -> None:
    bench.pick("turbo2")
    bench.say("word " * 900)
    bench.engine.hold = True
    bench.pick("turbo8v4")
    bench.step(2)
    bench.pick("turbo0v4")
    assert bench.panel.pending_text == "Changing to turbo0v4…"
    bench.step(2)
    assert not bench.composer.can_send
    assert bench.composer.note == "The cache is changing to turbo0v4"
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo0v4"
    assert len(bench.dividers()) == 1  # the first one gave way
    bench.say("And now?")
    assert generated(bench)[-1].scheme == "turbo0v4"


def test_choosing_the_present_scheme_takes_a_change_back(bench: Bench) -> None:
    bench.say("word " * 900)
    bench.engine.hold = True
    bench.say("And now?")
    bench.step(3)
    bench.pick("turbo2")
    bench.pick("turbo4")
    assert bench.panel.pending_text == ""
    bench.engine.hold = False
    bench.rest()
    bench.engine.hold = True
    bench.pick("turbo2")
    bench.pick("turbo4")
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo4"
    assert bench.engine.caches[bench.chat.current][0] == "turbo4"
    assert bench.dividers() == []
    assert bench.panel.pending_text == ""


def test_nothing_is_answered_again_while_the_scheme_changes(bench: Bench) -> None:
    bench.pick("turbo2")
    bench.say("word " * 900)
    bench.engine.fail_next = AppError("Out of memory.")
    bench.say("Again")
    bench.engine.hold = True
    bench.pick("turbo4")
    bench.step(2)
    asked = len(generated(bench))
    button(bench.items(ReplyView)[-1].card, "Retry").click()
    assert len(generated(bench)) == asked
    assert any("The cache is changing to turbo4" in text for text in bench.window.notices.texts())
    bench.engine.hold = False
    bench.rest()
    button(bench.items(ReplyView)[-1].card, "Retry").click()
    bench.rest()
    assert generated(bench)[-1].scheme == "turbo4"
    assert bench.replies()[-1] == "You said *Again*."


def rebuilding_elsewhere(bench: Bench) -> str:
    """The id of a conversation whose cache is being rebuilt, while a new one is on screen."""
    bench.pick("turbo2")
    bench.say("word " * 900)
    first = bench.chat.current
    bench.engine.hold = True
    bench.pick("turbo4")
    bench.step(2)
    bench.chat.new()
    return first


def test_each_conversation_shows_its_own_change(bench: Bench) -> None:
    first = rebuilding_elsewhere(bench)
    assert bench.panel.pending_text == ""
    bench.say("Hello")
    bench.step(1)
    assert bench.panel.pending_text == ""
    bench.chat.open(first)
    assert bench.panel.pending_text.startswith("Rebuilding as turbo4")
    bench.engine.hold = False
    bench.rest()
    assert bench.panel.pending_text == ""
    assert bench.chat.scheme == "turbo4"


def test_stop_stops_the_work_of_the_conversation_on_screen(bench: Bench) -> None:
    first = rebuilding_elsewhere(bench)
    bench.say("Hello")
    (waiting,) = bench.items(ReplyView)
    assert waiting.status.startswith("Waiting until the cache of “word word")
    bench.composer.button.click()
    bench.engine.hold = False
    bench.rest()
    assert figures(bench).endswith("stopped by you")
    assert bench.engine.caches[first][0] == "turbo4"


def test_cancel_takes_back_a_change_and_leaves_the_reply_of_another(bench: Bench) -> None:
    bench.say("word " * 100)
    first = bench.chat.current
    bench.chat.new()
    bench.engine.hold = True
    bench.say("Second")
    second = bench.chat.current
    bench.step(2)
    bench.chat.open(first)
    bench.pick("turbo2")
    bench.panel.cancel_clicked.emit()
    bench.engine.hold = False
    bench.rest()
    assert bench.chat.scheme == "turbo4"
    assert bench.dividers() == []
    assert bench.library.messages(second)[-1].state == "complete"


# ---------------------------------------------------------------- figures


def test_the_panel_shows_what_was_measured(bench: Bench) -> None:
    bench.say("word " * 500)
    tokens = bench.panel.chart.history.last_tokens()
    assert bench.panel.used.text() == formats.data_size(cache_bytes("turbo4", tokens))
    assert bench.panel.value("context") == f"{tokens:,} of 8,192"
    assert bench.panel.value("speed") == "42.3 tok/s"
    assert bench.panel.engagement.headline.text() == "30 of 30 layers turbo4"
    assert bench.panel.engagement.detail.text() == "The first 4 and the newest 36 tokens are uncompressed"
    assert bench.composer.note == f"Context {tokens:,} of 8,192"


def test_the_prefill_peak_is_that_of_the_last_prompt_and_hidden_until_known(bench: Bench) -> None:
    label = bench.panel._peak_row[1]
    assert not label.isVisible()
    bench.say("word " * 500)
    assert label.isVisible()
    peak = bench.panel.value("peak")
    assert peak == "572 MB (+12.4 MB)"
    later = ev.MemorySample(bench.chat.current, "turbo4", 600, 1, 2_400_000, 1, 40, 30, 30, 1, 9_000_000_000, 1)
    bench.engine.event_emitted.emit(later)
    assert bench.panel.value("peak") == peak, "writing, switching and opening don't renew it"
    assert bench.panel.value("allocated") == "2.4 MB"
    bench.chat.new()
    assert not label.isVisible()


def test_the_switch_row_has_its_place_reserved(bench: Bench) -> None:
    bench.say("word " * 300)
    place = bench.panel.used.y()
    bench.panel.show_pending("Rebuilding as turbo4: 10 %", 10, 100)
    QApplication.processEvents()
    assert bench.panel.used.y() == place
    bench.panel.show_pending("")
    QApplication.processEvents()
    assert bench.panel.used.y() == place


def test_a_late_first_token_is_explained(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("Hello")
    bench.step(2)
    bench.engine.event_emitted.emit(ev.PrefillProgress(bench.chat.current, 4, 5))
    assert bench.chat.answering._first_token_timer.isActive()
    bench.chat.answering._first_token_timer.timeout.emit()
    assert bench.items(ReplyView)[-1]._progress._label.text() == "Preparing the first token…"
    bench.engine.hold = False
    bench.rest()
    assert not bench.chat.answering._first_token_timer.isActive()


def test_how_a_reply_ended_is_whole_at_any_width_and_after_a_restart(start: Start) -> None:
    bench = start()
    bench.say("Hello")
    reply = bench.library.messages(bench.chat.current)[-1]
    ended = ev.TurnFinished(bench.chat.current, reply.id, "length", "turbo4", "So", 1_000, 900, 80, 81.0, 42.0)
    bench.library.finish_reply(ended)
    bench.close()
    again = start(bench.engine)
    again.chat.open(again.chat.newest())
    again.rest()
    assert figures(again).endswith("ended at its length limit")
    again.window.resize(640, 480)
    again.window.actions_.panel.trigger()
    QApplication.processEvents()
    label = again.items(ReplyView)[-1]._figures
    assert label.height() >= label.heightForWidth(label.width())


def test_layers_that_are_not_compressed_say_why(bench: Bench) -> None:
    bench.say("word " * 100)
    sample = ev.MemorySample(bench.chat.current, "turbo4", 100, 1, 1, 1, 40, 28, 30, 1, 1, 1)
    layers = tuple(
        ev.LayerVerdict(i, "KVCache", None if i < 2 else "turbo4", "head dim 20 can't be packed" if i < 2 else "")
        for i in range(29)
    )
    layers += (
        ev.LayerVerdict(29, "KVCache", "turbo4", note="keys stay uniform: half of 66 channels can't be rotated"),
    )
    bench.engine.event_emitted.emit(ev.CachePlanned(bench.chat.current, layers))
    bench.engine.event_emitted.emit(sample)
    shown = bench.panel.engagement
    assert shown.headline.text() == "28 of 30 layers turbo4"
    assert "2: head dim 20 can't be packed" in shown.detail.text()
    assert shown.toolTip().count("\n") == 30
    assert "30: turbo4 (keys stay uniform: half of 66 channels can't be rotated)" in shown.toolTip()
    assert shown.dot() == theme.colors().warn


def test_the_reasons_are_still_there_when_one_comes_back_during_a_reply(bench: Bench) -> None:
    bench.say("First")
    first = bench.chat.current
    bench.chat.new()
    bench.engine.reply = lambda prompt: "word " * 40
    bench.engine.hold = True
    bench.say("word " * 100)
    second = bench.chat.current
    bench.step(5)
    layers = tuple(ev.LayerVerdict(i, "KVCache", None, "head dim 20 can't be packed") for i in range(30))
    bench.engine.event_emitted.emit(ev.CachePlanned(second, layers))
    bench.chat.open(first)
    bench.chat.open(second)
    bench.step(10)
    assert "30: head dim 20 can't be packed" in bench.panel.engagement.detail.text()
    bench.chat.open(first)
    assert "head dim" not in bench.panel.engagement.detail.text()


def test_a_new_conversation_shows_nothing_of_the_one_before(bench: Bench) -> None:
    bench.say("word " * 500)
    bench.chat.new()
    assert bench.panel.used.text() == "0 B"
    assert bench.panel.chart.history.points == []
    assert bench.replies() == []


# ---------------------------------------------------------------- context full


def full(start: Start) -> Bench:
    bench = start(FakeEngine(lambda prompt: f"Re: {prompt[:6]}", context=200))
    bench.say("first " * 60)
    bench.say("second " * 60)
    bench.say("third " * 60)
    return bench


def test_context_full_asks_before_anything_is_generated(start: Start) -> None:
    bench = full(start)
    (card,) = bench.items(ContextFullCard)
    assert len(bench.replies()) == len(generated(bench)) - 1
    assert [m.role for m in bench.library.messages(bench.chat.current)][-1] == "user"
    assert button(card, "Leave out the oldest turn")
    bench.type("fourth")
    assert not bench.composer.can_send
    assert bench.composer.note == "The context is full: choose above how to go on"


def test_context_full_oldest_turns_can_be_left_out_and_stay_in_the_transcript(start: Start) -> None:
    bench = full(start)
    (card,) = bench.items(ContextFullCard)
    button(card, "Leave out the oldest turn").click()
    bench.rest()
    assert len(bench.said()) == 3
    assert not bench.items(ContextFullCard)
    assert generated(bench)[-1].messages[0].content.startswith("second")
    assert "The model reads from here on" in bench.dividers()
    assert bench.library.messages(bench.chat.current)[-1].state == "complete"
    bench.engine.context = 4000
    bench.say("fourth")
    assert generated(bench)[-1].messages[0].content.startswith("second")


def test_context_full_a_new_conversation_takes_the_message_along(start: Start) -> None:
    bench = full(start)
    old = bench.chat.current
    button(bench.items(ContextFullCard)[0], "New conversation").click()
    bench.rest()
    assert bench.chat.current != old
    assert [text[:5] for text in bench.said()] == ["third"]
    assert len(bench.replies()) == 1
    assert bench.library.messages(old)[-1].role == "assistant"


def test_context_full_cancel_gives_the_text_back(start: Start) -> None:
    bench = full(start)
    button(bench.items(ContextFullCard)[0], "Cancel").click()
    bench.rest()
    assert bench.composer.edit.toPlainText().startswith("third")
    assert len(bench.said()) == 2


def test_a_message_left_without_a_reply_can_be_answered(start: Start) -> None:
    bench = full(start)
    bench.chat.new()
    bench.engine.context = 4000
    bench.chat.open(bench.chat.newest())
    button(bench.items(ReplyView)[-1].card, "Retry").click()
    bench.rest()
    assert bench.replies()[-1].startswith("Re: third")


def test_context_full_a_first_message_leaves_no_empty_conversation(start: Start) -> None:
    for choice in ("New conversation", "Cancel"):
        bench = start(FakeEngine(context=100))
        bench.say("first " * 200)
        button(bench.items(ContextFullCard)[0], choice).click()
        bench.rest()
        for conversation in bench.library.conversations():
            assert bench.library.messages(conversation.id)
        bench.close()


def test_context_full_cancel_keeps_what_was_typed_meanwhile(start: Start) -> None:
    bench = full(start)
    bench.type("typed meanwhile")
    button(bench.items(ContextFullCard)[0], "Cancel").click()
    bench.rest()
    text = bench.composer.edit.toPlainText()
    assert text.startswith("third")
    assert text.endswith("typed meanwhile")


@pytest.mark.parametrize("choice", ["New conversation", "Leave out the oldest turn"])
def test_context_full_without_a_model_loses_nothing(start: Start, choice: str) -> None:
    bench = full(start)
    current = bench.chat.current
    bench.engine.hold = True
    bench.window.load_model("/models/Other")
    bench.step(1)
    chosen = button(bench.items(ContextFullCard)[0], choice)
    assert not chosen.isEnabled()
    chosen.clicked.emit()
    assert bench.chat.current == current
    assert bench.library.messages(current)[-1].content.startswith("third")
    bench.engine.context, bench.engine.hold = 4000, False
    bench.rest()
    chosen.click()
    bench.rest()
    assert bench.replies()[-1].startswith("Re: third")


# ---------------------------------------------------------------- a full disk


class Disk:
    """The library's file can't grow, or can again."""

    def __init__(self, bench: Bench) -> None:
        self._db = bench.library._db

    def fill(self) -> None:
        self._db.execute("DELETE FROM samples")
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        self._db.execute(f"PRAGMA max_page_count = {pages}")

    def free(self) -> None:
        self._db.execute("PRAGMA max_page_count = 1000000")


BIG = "word " * 20_000  # many pages


def test_a_message_that_cannot_be_saved_stays_in_the_box(bench: Bench) -> None:
    disk = Disk(bench)
    disk.fill()
    bench.say(BIG)
    assert bench.composer.edit.toPlainText() == BIG
    assert bench.library.conversations() == []
    assert bench.chat.current == ""
    assert not generated(bench)
    (notice,) = bench.window.notices.texts()
    assert "disk is full" in notice
    disk.free()
    QTest.keyClick(bench.composer.edit, Qt.Key.Key_Return)
    assert bench.composer.edit.toPlainText() == ""
    bench.rest()
    assert bench.said() == [BIG.strip()]


def test_a_reply_ends_on_a_full_disk_and_is_written_when_there_is_room(bench: Bench) -> None:
    disk = Disk(bench)
    bench.engine.reply = lambda prompt: "one " + "word" * 30_000
    bench.engine.hold = True
    bench.say("Count")
    bench.step(5)
    disk.fill()
    bench.chat.on_save()
    bench.engine.hold = False
    bench.rest()
    assert not bench.chat.generating
    assert bench.composer.button.text() == "Send"
    assert bench.library.messages(bench.chat.current)[-1].state == "partial"
    (notice,) = bench.window.notices.texts()
    assert "disk is full" in notice
    bench.window.notices.dismiss(notice)
    bench.chat.on_save()
    assert bench.window.notices.texts() == []  # said once
    disk.free()
    bench.chat.on_save()
    last = bench.library.messages(bench.chat.current)[-1]
    assert (last.state, last.content) == ("complete", "one " + "word" * 30_000)
    assert bench.library.history.samples(bench.chat.current)


# ---------------------------------------------------------------- models and notices


@pytest.mark.parametrize(("cause", "told"), [("damaged", ["damaged and is removed"]), ("another", [])])
def test_a_damaged_snapshot_is_told_and_one_of_another_model_is_not(start: Start, cause: Any, told: list[str]) -> None:
    bench = start()
    bench.say("Hello")
    bench.close()
    engine = FakeEngine()
    engine.reject_snapshots = cause
    again = start(engine)
    again.chat.open(again.chat.newest())
    again.rest()
    notices = again.window.notices.texts()
    assert len(notices) == len(told)
    assert all(words in notice for words, notice in zip(told, notices, strict=True))
    assert again.said() == ["Hello"]


def test_a_cache_that_cannot_be_saved_is_told_once(bench: Bench) -> None:
    bench.say("Hello")
    failed = ev.SnapshotNotSaved(bench.chat.current, "No space left on device")
    bench.engine.event_emitted.emit(failed)
    (notice,) = bench.window.notices.texts()
    assert "can't be saved: No space left on device. The text is whole" in notice
    bench.window.notices.dismiss(notice)
    bench.engine.event_emitted.emit(failed)
    assert bench.window.notices.texts() == []
    bench.engine.event_emitted.emit(ev.SnapshotSaved(bench.chat.current, 10, 0.1, 5))
    bench.engine.event_emitted.emit(failed)
    assert bench.window.notices.texts() == [notice]


def test_the_backend_that_runs_is_shown(bench: Bench) -> None:
    assert bench.window.loading.button.detail.text().endswith("· CPU (numba)")


def test_what_the_backend_says_while_it_runs_is_shown(bench: Bench) -> None:
    bench.say("Hello")
    for name in ("tq_encode", "tq_attend"):
        bench.engine.event_emitted.emit(ev.BackendNotice(f"The GPU kernel {name} doesn't serve here."))
    assert bench.window.notices.texts() == ["The GPU kernel tq_attend doesn't serve here."]  # the last is enough
    bench.rest()
    assert bench.said()[0] == "Hello"


def test_no_model_shows_the_welcome_page(start: Start) -> None:
    bench = start(load=False)
    bench.window.start()
    assert bench.window.welcome.isVisible()
    bench.load()
    assert not bench.window.welcome.isVisible()
    assert bench.composer.isVisible()


def test_a_model_that_cannot_be_loaded_is_explained(start: Start) -> None:
    engine = FakeEngine()
    engine.model_error = AppError("A shard is missing.", "Download the model again.")
    bench = start(engine)
    assert bench.window.welcome.error.text() == "A shard is missing. Download the model again."
    assert bench.window.welcome.isVisible()


def test_a_bad_folder_leaves_the_model_at_hand_and_says_why(bench: Bench) -> None:
    error = AppError("This folder holds no model.", "Choose another.")
    bench.engine.model_errors["/models/Bad"] = error
    bench.window.load_model("/models/Bad")
    assert bench.composer.note == "Loading Bad…"
    bench.rest()
    assert bench.chat.model is not None
    assert bench.chat.model.path == "/models/Tiny-1B"
    assert bench.window.notices.texts() == [f"{error} Tiny-1B is loaded again."]
    assert not bench.window.welcome.isVisible()


def test_a_start_shows_the_model_that_loads_and_the_conversation_used_last(start: Start, tmp_path: Path) -> None:
    bench = start()
    bench.say("Hello")
    bench.settings.set("model", str(tmp_path))
    bench.close()
    again = start(bench.engine, load=False)
    again.window.start()
    assert again.window.loading.button.button.text() == tmp_path.name
    assert again.composer.note == f"Loading {tmp_path.name}…"
    assert again.said() == ["Hello"]
    assert not again.window.welcome.isVisible()
    again.rest()
    assert any(isinstance(c, ev.OpenConversation) for c in again.engine.received)


def test_an_exception_in_a_slot_is_shown(bench: Bench, qtbot: object) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    handler = faults.Faults(app)
    try:
        raise ValueError("boom")
    except ValueError as error:
        handler.handle(type(error), error, error.__traceback__)
    assert any("boom" in text for text in bench.window.notices.texts())
