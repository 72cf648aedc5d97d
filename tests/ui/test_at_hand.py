"""What a person meets in the first hour: the focus stays where one types, keys mean the same everywhere, words fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.ui.conversations.conversation_list import DETAIL_ROLE
from app.ui.shared import theme
from app.ui.text.text_pane import PlainPane
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from app.ui.window.crash_view import ReportView
from tests.ui.conftest import Bench


def test_a_placeholder_follows_the_size_of_the_text(bench: Bench) -> None:
    """It is drawn in the viewport's font, also after a draft stood there while the size changed."""
    edit = bench.composer.edit
    bench.type("draft")
    try:
        for scale in (1.5, 1.0):
            theme.theme().set_scale(scale)
            bench.rest()
            assert edit.viewport().font().pointSizeF() == pytest.approx(theme.theme().points * 1.06)
    finally:
        theme.theme().set_scale(1.0)


def test_no_tooltip_is_one_long_line(bench: Bench) -> None:
    """Qt wraps what looks like HTML, and leaves other text as wide as it is."""
    bench.say("Hi")
    bench.window.configuring.on_general()
    tips = {widget.toolTip() for widget in bench.window.findChildren(QWidget)}
    assert any(tip.startswith("<p") for tip in tips)
    assert [tip for tip in tips if len(tip) > 60 and not tip.startswith("<p")] == []


def test_the_focus_goes_back_to_where_one_typed(bench: Bench) -> None:
    """After the list of schemes, however it was left; and the wheel over it takes none."""
    edit, picker = bench.composer.edit, bench.panel.picker
    bench.window.activateWindow()
    edit.setFocus()
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        bench.window.actions_.scheme.trigger()
        assert picker.view().hasFocus()
        QTest.keyClick(picker.view(), key)
        bench.rest()
        assert edit.hasFocus()
    assert picker.focusPolicy() == Qt.FocusPolicy.TabFocus


def test_the_install_button_hands_its_focus_to_the_one_that_cancels(start: Callable[..., Bench]) -> None:
    bench = start(load=False)
    bench.window.start()
    bench.window.activateWindow()
    bench.rest()
    welcome = bench.window.welcome
    welcome.install.setFocus()
    welcome.show_progress("Starting", -1)
    assert welcome.cancel.hasFocus()
    welcome.show_idle()
    assert welcome.install.hasFocus()


def test_what_the_note_has_no_room_for_ends_in_dots(bench: Bench) -> None:
    words = "A reply is being written in “A rather long title of a conversation that goes on and on”"
    bench.composer.set_blocked(words)
    bench.window.resize(640, 480)
    bench.rest()
    assert bench.composer.note == words
    assert bench.composer._note.shown.endswith("…")
    assert bench.composer._note.palette().windowText().color().name() == theme.colors().muted
    assert bench.composer._note.geometry().right() < bench.composer.button.geometry().left()


def test_the_arrows_of_versions_stay_in_one_place(bench: Bench) -> None:
    """However wide the bubbles are, so that they can be clicked again where the pointer is."""

    def arrow() -> int:
        (bubble,) = bench.items(UserBubble)
        assert bubble.tools is not None
        return bubble.tools.mapTo(bench.window, bubble.tools.previous.pos()).x()

    bench.say("short")
    bench.chat.choices.on_edit_last()
    (editor,) = bench.items(MessageEditor)
    editor.edit.setPlainText("a long one " * 12)
    QTest.keyClick(editor.edit, Qt.Key.Key_Return)
    bench.rest()
    wide = arrow()
    bench.items(UserBubble)[0].tools.previous.click()
    bench.rest()
    assert bench.said() == ["short"]
    assert arrow() == wide


def test_a_crash_report_wraps(bench: Bench, tmp_path: Path) -> None:
    report = tmp_path / "crash.txt"
    report.write_text("word " * 400)
    view = ReportView(report, bench.window)
    view.show()
    assert view.text.horizontalScrollBar().maximum() == 0
    view.close()


def test_the_menus_show_what_the_keys_are_and_what_can_be_done(bench: Bench) -> None:
    a = bench.window.actions_
    shown = {action.text(): action.shortcut().toString() for action in (a.redo, a.cut, a.copy, a.paste, a.select_all)}
    assert all(shown.values()), shown
    assert not a.send.isEnabled()
    bench.type("text")
    assert a.send.isEnabled()
    edit = bench.composer.edit
    bench.window.activateWindow()
    bench.rest()
    edit.setFocus()
    QTest.keyClicks(edit, "s")
    typed = edit.toPlainText()
    edit.undo()
    assert edit.toPlainText() != typed
    a.redo.trigger()
    assert edit.toPlainText() == typed


def test_the_edit_menu_offers_what_the_place_of_the_cursor_has(bench: Bench) -> None:
    a, edit = bench.window.actions_, bench.composer.edit
    bench.window.activateWindow()
    bench.say("Delete me")
    bench.chat.delete(bench.chat.current)
    edit.setFocus()
    menu = next(menu for menu in a.menus(bench.window) if a.undo in menu.actions())

    def offered() -> list[str]:
        menu.aboutToShow.emit()
        shown = (a.undo, a.redo, a.cut, a.copy, a.select_all)
        return [action.text() for action in shown if action.isEnabled()]

    assert offered() == ["Undo deleting “Delete me”", "Select all"]
    QTest.keyClicks(edit, "words")
    assert offered() == ["Undo", "Select all"]
    a.undo.trigger()
    assert edit.toPlainText() == ""
    assert bench.library.conversations() == []
    assert offered() == ["Undo deleting “Delete me”", "Redo", "Select all"]
    a.redo.trigger()
    edit.selectAll()
    assert offered() == ["Undo", "Cut", "Copy", "Select all"]
    search = bench.window.sidebar.search
    search.setFocus()
    assert offered() == ["Undo deleting “Delete me”", "Select all"], "its own history"
    QTest.keyClicks(search, "me")
    assert offered()[0] == "Undo"
    search.clear()
    bench.transcript.setFocus()
    assert offered() == ["Undo deleting “Delete me”"]
    a.undo.trigger()
    assert bench.said() == ["Delete me"]
    pane = bench.items(UserBubble)[0].findChild(PlainPane)
    pane.setFocus()
    pane.selectAll()
    assert offered() == ["Copy", "Select all"]


@pytest.mark.parametrize("seen", [True, False])
def test_the_sheet_of_keys_follows_the_size_of_text(bench: Bench, seen: bool) -> None:
    """Also where the size has changed while nobody saw the sheet."""
    a = bench.window.actions_
    a.shortcuts.trigger()
    sheet = bench.window.help.shortcuts
    assert sheet is not None
    bench.rest()
    usual = sheet.size()
    sheet.setVisible(seen)
    bench.window.configuring.appearance.set_percent(125)
    a.shortcuts.trigger()
    bench.rest()
    room = sheet.screen().availableSize() * 0.95
    wanted = sheet.usual_size().boundedTo(room)
    assert sheet.size() == wanted
    assert sheet.width() > usual.width()
    sheet.close()
    bench.window.configuring.appearance.set_percent(100)
    a.shortcuts.trigger()
    bench.rest()
    assert sheet.size() == usual
    sheet.resize(500, 300)
    sheet.close()
    a.shortcuts.trigger()
    assert (sheet.width(), sheet.height()) == (500, 300), "it keeps what the user made of it"
    sheet.close()


def test_what_is_typed_while_reading_begins_the_message(bench: Bench) -> None:
    edit, transcript = bench.composer.edit, bench.transcript
    bench.window.activateWindow()
    QTest.mouseClick(transcript.viewport(), Qt.MouseButton.LeftButton)
    assert not edit.hasFocus()
    QTest.keyClicks(transcript, "Hi")
    assert (edit.toPlainText(), edit.hasFocus()) == ("H", True)
    QTest.keyClicks(edit, "i")
    bench.say(edit.toPlainText())
    pane = bench.items(ReplyView)[0].panes()[0]
    pane.setFocus()
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Down, Qt.Key.Key_Tab, Qt.Key.Key_Delete):
        QTest.keyClick(pane, key)
    QTest.keyClick(pane, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert edit.toPlainText() == ""
    pane.setFocus()
    QTest.keyClick(pane, "z")
    assert edit.toPlainText() == "z"
    bench.window.on_models()
    bench.window.setFocus()
    QTest.keyClick(bench.window, "x")
    assert edit.toPlainText() == "z", "nobody would see it"


def test_its_neighbour_takes_a_deleted_ones_place(bench: Bench) -> None:
    made = []
    for words in ("one", "two", "three"):
        bench.chat.new()
        bench.say(words)
        made.append(bench.chat.current)
    bench.chat.open(made[1])
    bench.window.actions_.delete.trigger()
    assert bench.chat.current == made[0], "the one below it"
    bench.window.actions_.delete.trigger()
    assert bench.chat.current == made[2], "the last one's is the one above"
    bench.window.actions_.delete.trigger()
    assert bench.chat.current == ""


def test_the_list_marks_the_conversation_that_is_being_answered(bench: Bench) -> None:
    bench.engine.hold = True
    bench.say("one")
    answered = bench.chat.current
    bench.chat.new()
    model = bench.window.sidebar.model

    def detail() -> str:
        return str(model.data(model.index(model.row_of(answered)), DETAIL_ROLE))

    assert detail() == "A reply is being written"
    bench.engine.hold = False
    bench.rest()
    assert detail() != "A reply is being written"
