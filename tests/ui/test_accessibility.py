"""Every page as somebody meets it who hears it, or has no mouse: names, roles, and the order of reading."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QWidget

from app.errors import AppError
from app.hub_events import Download
from app.ui.shared import reading_order
from tests.ui.conftest import Bench


@dataclass(frozen=True)
class Heard:
    role: QAccessible.Role
    name: str
    widget: QWidget | None


def heard(widget: QWidget) -> list[Heard]:
    """All that can have the focus, in the order of the tree."""
    found: list[Heard] = []
    _walk(QAccessible.queryAccessibleInterface(widget), found)
    gc.collect()  # a node that outlives its widget would be taken for whatever gets its place in memory
    return found


def _walk(node: QAccessibleInterface, found: list[Heard]) -> None:
    state, widget = node.state(), node.object()
    if state.invisible:  # type: ignore[attr-defined]  # the stubs lack the fields
        return
    silent = isinstance(widget, QLabel) and not widget.text()  # a line with nothing on it yet
    if state.focusable and not silent:  # type: ignore[attr-defined]
        # A combo box is named by its label, or by its own name: its text is what is chosen.
        name = widget.accessibleName() if isinstance(widget, QComboBox) else node.text(QAccessible.Text.Name)
        found.append(Heard(node.role(), name.strip(), widget))
    for place in range(min(node.childCount(), 30)):
        child = node.child(place)
        if child is not None and child.isValid():
            _walk(child, found)


def check(window: QWidget) -> None:
    QApplication.processEvents()
    found = heard(window)
    assert found
    for entry in found:
        assert entry.name, entry
        assert entry.role != QAccessible.Role.NoRole, entry
    # The tree is in the order in which Tab goes.
    order = list(reading_order.stops(window))
    assert order
    assert [entry.widget for entry in found if entry.widget in order] == order


def check_tab(window: QWidget) -> None:
    """Tab comes to every stop, in columns from left to right, each from its top."""
    window.activateWindow()
    QApplication.processEvents()
    order = list(reading_order.stops(window))
    order[0].setFocus()
    seen = []
    for _ in order:
        focus = QApplication.focusWidget()
        assert focus is not None
        seen.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)  # a text takes a bare one
        if QApplication.focusWidget() is focus:
            QTest.keyClick(focus, Qt.Key.Key_Tab)
    assert seen == order
    for before, after in pairwise(order):
        if before.isAncestorOf(after):
            continue
        one, two = place(before, window), place(after, window)
        below, beside = two.center().y() > one.top(), two.left() >= one.left()
        assert below or beside, f"{before} then {after}"


def place(widget: QWidget, window: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def test_the_chat(bench: Bench) -> None:
    bench.say("Hello")
    bench.pick("turbo2")
    bench.engine.fail_next = AppError("Failed.", "Try again.")
    bench.say("Again, please, with `code`")
    bench.window.notices.show_notice("A notice")
    check(bench.window)
    check_tab(bench.window)


def test_the_chat_while_a_reply_is_written(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "word " * 60
    bench.engine.hold = True
    bench.say("Hello")
    bench.step(20)
    bench.window.chat.on_scheme_picked("turbo2")
    check(bench.window)


def test_what_a_search_found(bench: Bench) -> None:
    bench.say("Hello")
    while bench.library.follow():
        pass
    bench.window.sidebar.search.setText("hello")
    bench.window.sidebar.search_again()
    check(bench.window)
    check_tab(bench.window)


def test_a_full_context(bench: Bench) -> None:
    bench.engine.context = 300
    bench.say("word " * 100)
    bench.say("word " * 150)
    check(bench.window)


def test_the_welcome_page(start: object) -> None:
    bench = start(load=False)  # type: ignore[operator]
    bench.window.start()
    bench.window.welcome.show_error(AppError("No network.", "Try again."))
    check(bench.window)
    check_tab(bench.window)


def test_the_models(bench: Bench) -> None:
    page = bench.window.models_page
    bench.window.on_models()
    bench.rest()
    check(bench.window)
    page.browser.list.choose("mlx-community/gemma-3-12b-it-4bit")
    bench.rest()
    bench.rest()
    check(bench.window)
    check_tab(bench.window)
    page.installed_tab.click()
    bench.rest()
    check(bench.window)
    check_tab(bench.window)


def test_the_preferences(bench: Bench) -> None:
    bench.window.configuring.on_general()
    preferences = bench.window.configuring.window
    assert preferences is not None
    for page in range(preferences.list.count()):
        preferences.list.setCurrentRow(page)
        bench.rest()
        check(preferences)
    preferences.close()


def test_the_dialogs(bench: Bench, tmp_path: Path, qtbot: object) -> None:
    help_ = bench.window.help
    help_.on_about()
    help_.on_shortcuts()
    assert help_.about is not None
    help_.about.on_licences()
    help_.tell_of_crash(tmp_path / "crash.txt")
    dialogs = [help_.about, help_.shortcuts, help_.about.licences, help_.notice]
    qtbot.waitUntil(lambda: help_.about.licences.list.count() > 0, timeout=20_000)  # type: ignore[attr-defined]
    for dialog in dialogs:
        assert dialog is not None
        QApplication.processEvents()
        assert all(entry.name for entry in heard(dialog)), heard(dialog)
        dialog.close()


def test_the_popovers(bench: Bench) -> None:
    bench.say("Hello")
    bench.window.reply_settings.on_open()
    QApplication.processEvents()
    settings = bench.window.reply_settings.panel
    assert settings.isVisible()
    assert all(entry.name for entry in heard(settings)), heard(settings)
    settings.close()
    bench.window.hub.ask(Download("mlx-community/Qwen3-1.7B-4bit"))
    bench.rest()
    bench.window.downloads_button.click()
    QApplication.processEvents()
    card = bench.window.downloads_button.card
    assert card.isVisible()
    assert all(entry.name for entry in heard(card)), heard(card)
    card.close_card()
    bench.engine.refused.add("/models/Big-70B")
    bench.window.load_model("/models/Big-70B")
    bench.rest()
    assert bench.window.guard.box is not None
    assert all(entry.name for entry in heard(bench.window.guard.box))
    bench.window.guard.box.reject()


@pytest.mark.parametrize("forward", [True, False])
def test_tab_goes_round(bench: Bench, forward: bool) -> None:
    bench.window.activateWindow()
    order = list(reading_order.stops(bench.window))
    order[-1 if forward else 0].setFocus()
    reading_order.step(bench.window, forward)
    assert QApplication.focusWidget() is order[0 if forward else -1]
