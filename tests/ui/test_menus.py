"""Context menus: of a message what belongs to it, of a row in the list that row's, and nothing moves for them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.ui.conversations.conversation_list import ID_ROLE
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench
from tests.ui.test_going_on import stop_in_the_middle


def menu_at(target: QWidget, place: QPoint, key: bool = False) -> QMenu:
    """What the right button, or the menu key, opens there."""
    reason = QContextMenuEvent.Reason.Keyboard if key else QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(target, QContextMenuEvent(reason, place, target.mapToGlobal(place)))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def entries(menu: QMenu) -> list[str]:
    return [
        action.text().split("\t")[0].replace("&", "")
        for action in menu.actions()
        if action.text() and action.isVisible()
    ]


def pick(menu: QMenu, words: str, bench: Bench) -> None:
    (action,) = (action for action in menu.actions() if action.text() == words)
    assert action.isEnabled()
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    bench.rest()


def test_a_messages_menu_has_what_belongs_to_it(bench: Bench) -> None:
    bench.say("Hello")
    pane = bench.items(UserBubble)[0].panes()[-1]
    menu = menu_at(pane.viewport(), QPoint(3, 3))
    assert entries(menu) == ["Copy", "Select All", "Copy message", "Edit"]
    assert not any("&" in action.text() for action in menu.actions()), "one underlined letter among none"
    pick(menu, "Copy message", bench)
    assert QGuiApplication.clipboard().text() == "Hello"
    pick(menu_at(bench.items(UserBubble)[0], QPoint(2, 2)), "Edit", bench)  # beside the text: no text's entries
    assert bench.items(MessageEditor)
    bench.items(MessageEditor)[0].cancel.click()
    bench.rest()
    reply = bench.items(ReplyView)[0]
    menu = menu_at(reply.panes()[0].viewport(), QPoint(3, 3))
    assert entries(menu) == ["Copy", "Select All", "Copy reply", "Answer again"]
    pick(menu, "Answer again", bench)
    menu = menu_at(bench.items(ReplyView)[0], QPoint(2, 2))
    assert entries(menu)[-4:] == ["Copy reply", "Answer again", "Previous version", "Next version"]
    assert [a.isEnabled() for a in menu.actions() if "version" in a.text()] == [True, False]
    pick(menu, "Previous version", bench)
    assert bench.items(ReplyView)[0].tools.place.text() == "1/2"


def test_the_menu_key_opens_it_and_a_cut_reply_goes_on_from_there(bench: Bench) -> None:
    stop_in_the_middle(bench)
    reply = bench.items(ReplyView)[0]
    pane = reply.panes()[0]
    pane.setFocus()
    menu = menu_at(pane, QPoint(1, 1), key=True)
    assert entries(menu)[-3:] == ["Continue", "Copy reply", "Answer again"]
    menu.close()
    reply.tools.copy.setFocus()
    menu = menu_at(reply.tools.copy, QPoint(1, 1), key=True)
    assert entries(menu) == ["Continue", "Copy reply", "Answer again"]
    pick(menu, "Continue", bench)
    assert bench.replies()[0].endswith("eight")


def test_a_menu_that_is_open_survives_its_message(bench: Bench) -> None:
    bench.say("Hello")
    menu_at(bench.items(ReplyView)[0], QPoint(2, 2))
    bench.chat.new()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    bench.rest()
    assert not bench.items(ReplyView)


def row_of(bench: Bench, title: str) -> QPoint:
    model, rows = bench.window.sidebar.model, bench.window.sidebar.list
    row = next(r for r in range(model.rowCount()) if model.index(r).data() == title)
    return rows.visualRect(model.index(row)).center()


def test_the_right_button_opens_a_rows_menu_and_switches_to_nothing(bench: Bench) -> None:
    bench.say("First")
    bench.chat.new()
    bench.say("Second")
    shown, rows = bench.chat.current, bench.window.sidebar.list
    place = row_of(bench, "First")
    QTest.mousePress(rows.viewport(), Qt.MouseButton.RightButton, pos=place)
    QTest.mouseRelease(rows.viewport(), Qt.MouseButton.RightButton, pos=place)
    menu = menu_at(rows.viewport(), place)
    bench.window.sidebar.on_open()
    bench.rest()
    assert bench.chat.current == shown
    assert rows.currentIndex().data(ID_ROLE) == shown
    pick(menu, "Pin to the top", bench)
    assert bench.library.conversations()[0].title == "First"
    assert bench.chat.current == shown
    menu = menu_at(rows.viewport(), row_of(bench, "First"))
    pick(menu, "Rename", bench)
    editor = QApplication.focusWidget()
    QTest.keyClicks(editor, "Other")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    bench.rest()
    assert {c.title for c in bench.library.conversations()} == {"Other", "Second"}
    assert bench.chat.current == shown
    pick(menu_at(rows.viewport(), row_of(bench, "Other")), "Delete", bench)
    assert [c.title for c in bench.library.conversations()] == ["Second"]
    assert bench.chat.current == shown
