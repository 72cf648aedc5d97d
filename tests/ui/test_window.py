"""The window itself: folding, scrolling, long transcripts, colours, shortcuts, what it remembers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.errors import AppError, Interrupted
from app.events import TurnFinished
from app.ui.shared import theme
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.transcript import FIRST_PAGE
from app.ui.transcript.user_bubble import UserBubble
from app.ui.window.starter_install import InstallJob
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

Start = Callable[..., Bench]


# ---------------------------------------------------------------- columns


def shown(bench: Bench) -> tuple[bool, bool]:
    return bench.window.sidebar.isVisible(), bench.window.panel.isVisible()


@pytest.mark.parametrize(("width", "expected"), [(1280, (True, True)), (900, (False, True)), (640, (False, False))])
def test_side_columns_fold_where_there_is_no_room(bench: Bench, width: int, expected: tuple[bool, bool]) -> None:
    bench.window.resize(width, 600)
    QApplication.processEvents()
    assert shown(bench) == expected
    assert bench.transcript.width() >= 430
    bench.window.resize(1280, 800)
    assert shown(bench) == (True, True)


def test_a_column_asked_for_takes_the_others_place(bench: Bench) -> None:
    bench.window.resize(900, 600)
    bench.window.actions_.sidebar.trigger()
    assert shown(bench) == (True, False)
    bench.window.actions_.panel.trigger()
    assert shown(bench) == (False, True)


@pytest.mark.parametrize("width", [640, 700, 760])
def test_a_column_asked_for_is_shown_in_a_narrow_window(bench: Bench, width: int) -> None:
    bench.window.resize(width, 600)
    QApplication.processEvents()
    assert shown(bench)[1] is False
    bench.window.actions_.panel.trigger()
    assert shown(bench) == (False, True)
    bench.window.actions_.sidebar.trigger()
    assert shown(bench) == (True, False)
    bench.window.actions_.sidebar.trigger()
    assert shown(bench) == (False, False)
    bench.window.actions_.panel.trigger()
    QApplication.processEvents()
    assert bench.panel.geometry().right() < bench.window.width()
    bench.window.resize(1280, 800)
    bench.window.resize(width, 600)
    assert shown(bench) == (False, False), "folded again: nobody asked for it since"


def test_geometry_columns_and_scheme_are_remembered(start: Start) -> None:
    bench = start()
    bench.window.resize(1100, 700)
    bench.window.actions_.sidebar.trigger()
    bench.pick("turbo2")
    bench.close()
    again = start()
    assert again.settings.get("window_geometry", "")
    assert not again.window.sidebar.isVisible()
    assert again.chat.scheme == "turbo2"
    assert again.settings.get("model", "") == "/models/Tiny-1B"


def test_a_new_conversation_has_the_scheme_picked_last_anywhere(start: Start) -> None:
    bench = start()
    bench.pick("none")
    bench.say("An older one")
    older = bench.chat.current
    bench.window.actions_.new.trigger()
    bench.pick("turbo3")
    bench.say("A newer one")
    bench.pick("turbo8")  # in a conversation that has begun
    assert bench.settings.get("scheme", "") == "turbo8", "a crash forgets no choice"
    bench.chat.open(older)
    assert bench.chat.scheme == "none"
    bench.window.actions_.new.trigger()
    assert bench.chat.scheme == bench.panel.picker.currentText() == "turbo8", "opening another one picks nothing"
    bench.chat.open(older)
    bench.close()
    again = start()
    assert again.chat.scheme == "turbo8"
    again.chat.open(older)
    again.pick("none")  # what it has already
    again.chat.delete(older)
    assert again.chat.scheme == "none"


# ---------------------------------------------------------------- transcript


def long_conversation(bench: Bench, messages: int) -> str:
    conversation = bench.library.create("turbo4", "Tiny-1B")
    for number in range(messages // 2):
        bench.library.add_user_message(conversation.id, f"Question {number}")
        reply = bench.library.begin_reply(conversation.id, "turbo4")
        text = f"Answer **{number}**.\n\n```python\nprint({number})\n```\n\n- one\n- two\n"
        turn = TurnFinished(conversation.id, reply.id, "stop", "turbo4", text, 100, 50, 20, 80.0, 40.0)
        bench.library.finish_reply(turn)
    return conversation.id


def test_500_messages_open_at_the_end_and_only_what_is_near_is_made(bench: Bench) -> None:
    conversation = long_conversation(bench, 500)
    bench.chat.open(conversation)
    QApplication.processEvents()
    assert len(bench.transcript.items()) == FIRST_PAGE
    assert bench.replies()[-1].startswith("Answer **249**")
    bar = bench.transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(0)
    QApplication.processEvents()
    assert bench.said()[0] == "Question 0"
    assert len(bench.transcript.items()) < 3 * FIRST_PAGE, "what lies between isn't made"
    bar.setValue(bar.maximum() // 2)
    seen = bench.transcript.entries[bench.transcript.first_seen()].widget
    assert seen is not None
    place = seen.mapTo(bench.transcript, QPoint(0, 0)).y()
    for _ in range(20):
        QApplication.processEvents()
    assert abs(seen.mapTo(bench.transcript, QPoint(0, 0)).y() - place) <= 2, "what is read stays in view"


def test_the_scroll_position_stays_while_text_comes_in(bench: Bench) -> None:
    bench.chat.open(long_conversation(bench, 30))
    QTest.qWait(20)
    bench.engine.reply = lambda prompt: " ".join(["word"] * 400)
    bench.engine.hold = True
    bench.say("Go on")
    bar = bench.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    seen = bench.transcript.entries[bench.transcript.first_seen()].widget
    assert seen is not None
    place = seen.mapTo(bench.transcript, QPoint(0, 0)).y()
    assert not bench.transcript.following
    for _ in range(20):
        bench.step(20)
        assert seen.mapTo(bench.transcript, QPoint(0, 0)).y() == place
    bench.transcript.follow()
    bench.step(5)
    QApplication.processEvents()
    assert bar.value() == bar.maximum()


def test_the_end_is_followed(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "\n\n".join(f"Paragraph {n}" for n in range(80)).replace("\n\n", "\n\n ")
    bench.engine.hold = True
    bench.say("Go on")
    bar = bench.transcript.verticalScrollBar()
    for _ in range(30):
        bench.step(10)
        QApplication.processEvents()
        assert bar.value() == bar.maximum()
    assert bar.maximum() > 0


def test_a_long_message_is_folded_until_asked_for(bench: Bench) -> None:
    bench.say("word " * 800)
    (bubble,) = bench.items(UserBubble)
    folded = bubble.height()
    bubble.more.click()
    assert bubble.height() > 1.5 * folded
    bubble.more.click()
    assert bubble.height() == folded


def test_a_short_message_is_no_wider_than_it_needs(bench: Bench) -> None:
    bench.say("Hi")
    (bubble,) = bench.items(UserBubble)
    assert bubble.box.width() < 80
    assert bubble.box.right() == pytest.approx(bubble.width())


def test_the_event_loop_is_not_held_up_by_a_long_reply(bench: Bench) -> None:
    """A timer of 5 ms sees the longest work, in CPU time: other programs run too. The benchmark has the figure."""
    text = "\n\n".join(f"Paragraph {n} with `code` and **bold** text that goes on for a while." for n in range(150))
    text += "\n\n```python\n" + "value = compute(1, 2)  # a line\n" * 150 + "```\n"
    bench.engine.reply = lambda prompt: text
    gaps: list[float] = []
    last = [time.thread_time()]

    def tick() -> None:
        now = time.thread_time()
        gaps.append(now - last[0])
        last[0] = now

    timer = QTimer(interval=5)
    timer.timeout.connect(tick)
    bench.type("Write")
    timer.start()
    bench.composer.on_submitted()
    while bench.engine.busy:
        QApplication.processEvents()
    timer.stop()
    assert bench.replies()[-1] == text
    assert len(gaps) > 20
    assert sorted(gaps)[int(len(gaps) * 0.99)] < 0.25


# ---------------------------------------------------------------- looks


def luminance(color: str) -> float:
    rgb = QColor(color)
    parts = [rgb.redF(), rgb.greenF(), rgb.blueF()]
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_text_can_be_read(colors: theme.Colors) -> None:
    c = asdict(colors)
    for ground in ("background", "side", "panel", "bubble", "code", "selected", "hover"):
        assert contrast(c["text"], c[ground]) >= 7, ground
        assert contrast(c["muted"], c[ground]) >= 4.5, ground
    for shade in ("keyword", "string", "number", "name", "comment"):
        assert contrast(c[shade], c["code"]) >= 4.5, shade
    for ground in ("background", "panel", "side"):  # links, verdicts, the chart's names
        for shade in ("accent", "bad", "warn", "good"):
            assert contrast(c[shade], c[ground]) >= 4.5, (shade, ground)
        assert contrast(c["what_if"], c[ground]) >= 3, "lines, dots, the frames of boxes"
        assert contrast(c["accent_focus"], c[ground]) >= 3, "a part of the bar of memory"
    assert contrast(c["on_accent"], c["accent"]) >= 4.5
    assert contrast(c["text"], c["found"]) >= 7, "a hit of a search"
    assert contrast(c["accent_focus"], c["accent"]) >= 1.8, "a ring around what is blue"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_the_palette_pairs_can_be_read(qtbot: QtBot, dark: bool) -> None:
    """What Qt draws by itself: menus, fields, tool tips, selected text, what is disabled."""
    theme.theme().force(dark)
    palette, role = QApplication.palette(), QPalette.ColorRole
    pairs = ((role.WindowText, role.Window), (role.Text, role.Base), (role.Text, role.AlternateBase),
             (role.ButtonText, role.Button), (role.HighlightedText, role.Highlight), (role.PlaceholderText, role.Base),
             (role.ToolTipText, role.ToolTipBase), (role.Link, role.Base), (role.LinkVisited, role.Base),
             (role.BrightText, role.Window))  # fmt: skip
    for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive, QPalette.ColorGroup.Disabled):
        for above, below in pairs:
            one, other = (palette.color(group, part).name() for part in (above, below))
            assert contrast(one, other) >= 4.5, (group, above, below)
    theme.theme().force(False)


def test_dark_reaches_what_is_on_screen(bench: Bench) -> None:
    bench.say("Hello")
    theme.theme().force(True)
    QApplication.processEvents()
    image = bench.window.grab().toImage()
    assert QColor(image.pixel(bench.window.width() // 2, 300)).name() == theme.DARK.background
    theme.theme().force(False)
    QApplication.processEvents()
    image = bench.window.grab().toImage()
    assert QColor(image.pixel(bench.window.width() // 2, 300)).name() == theme.LIGHT.background


def test_the_system_is_followed_live(bench: Bench) -> None:
    theme.theme().force(None)
    assert not theme.theme().dark
    bench.window.update()
    theme.theme().on_color_scheme_changed(Qt.ColorScheme.Light)
    assert theme.colors() == theme.LIGHT


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
@pytest.mark.parametrize("size", [QSize(1280, 800), QSize(900, 600), QSize(640, 420)])
def test_nothing_sticks_out(bench: Bench, direction: Qt.LayoutDirection, size: QSize) -> None:
    QApplication.setLayoutDirection(direction)
    try:
        bench.window.resize(size)
        bench.say("שלום עולם with `code` " + "long " * 60)
        QTest.qWait(20)
        column = bench.transcript.widget()
        assert column.width() <= bench.transcript.viewport().width()
        for item in bench.transcript.items():
            assert item.geometry().left() >= 0
            assert item.geometry().right() <= column.width()
            assert item.height() > 10
        assert bench.composer.geometry().right() <= bench.window.width()
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def test_everything_that_can_be_pressed_has_a_name(bench: Bench) -> None:
    bench.say("Hello")
    for widget in bench.window.findChildren(QAbstractButton):
        if widget.isVisible():
            assert widget.accessibleName() or widget.text() or widget.toolTip(), widget
    for name in ("Message", "Conversations", "Transcript", "KV cache scheme", "Memory of this conversation"):
        assert any(w.accessibleName() == name for w in bench.window.findChildren(QWidget)), name


def test_shortcuts_are_unique_and_work(bench: Bench) -> None:
    keys = [a.shortcut().toString() for a in bench.window.actions() if not a.shortcut().isEmpty()]
    assert len(keys) == len(set(keys))
    bench.say("Hello")
    bench.window.activateWindow()
    QTest.keyClick(bench.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert bench.chat.current == ""
    QTest.keyClick(bench.window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert bench.said() == ["Hello"]
    QTest.keyClick(bench.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert bench.window.sidebar.search.hasFocus()


# ---------------------------------------------------------------- installing the starter


@pytest.mark.parametrize("error", [None, AppError("The network is gone.")])
def test_installing_beside_a_chat_leaves_the_chat_on_screen(bench: Bench, qtbot: QtBot, error: AppError | None) -> None:
    window, go_on = bench.window, threading.Event()

    def install(report: Callable[[str, float], None]) -> Path:
        report("Fetching", 0.5)
        go_on.wait(30)
        if error is not None:
            raise error
        return Path("/models/Starter")

    window._installing.job._install = install
    window._installing.start()
    qtbot.waitUntil(lambda: any("Fetching · 50" in text for text in window.notices.texts()))
    bench.say("hello")
    bench.chat.new()
    assert not window.pages.on_welcome
    go_on.set()
    qtbot.waitUntil(lambda: not any("Fetching" in text for text in window.notices.texts()))
    bench.rest()
    assert not window.pages.on_welcome
    assert bench.chat.model is not None
    assert bench.chat.model.name == ("Starter" if error is None else "Tiny-1B")
    assert window.notices.texts() == ([] if error is None else [str(error)])


def test_the_starter_is_installed_with_progress(start: Start, qtbot: QtBot, tmp_path: object) -> None:
    bench = start(FakeEngine(), load=False)
    bench.window.start()
    bench.window._installing.job._install = lambda report: (report("Fetching", 0.5), tmp_path)[1]
    bench.window.welcome.install.click()
    for _ in range(200):
        QTest.qWait(5)
        if bench.chat.model is not None:
            break
    assert bench.chat.model is not None
    assert not bench.window.welcome.isVisible()


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (AppError("No network.", "Try again."), "No network. Try again."),
        (RuntimeError("odd"), "The model couldn't be installed. Nothing was kept of it."),
        (Interrupted(), None),
    ],
)
def test_an_installation_that_fails_says_so(qtbot: QtBot, error: Exception, shown: str | None) -> None:
    def install(report: object) -> object:
        raise error

    job = InstallJob(install)  # type: ignore[arg-type]
    with qtbot.waitSignal(job.failed, timeout=5000) as caught:
        job.start()
    (failed,) = caught.args
    assert (str(failed) if failed else None) == shown


def test_retry_is_offered_for_the_last_reply_only(bench: Bench) -> None:
    bench.engine.fail_next = AppError("Failed.")
    bench.say("One")
    bench.say("Two")
    first, second = bench.items(ReplyView)
    assert not any(b.isVisible() for b in first.card.findChildren(QAbstractButton))
    assert second.source() == "You said *Two*."


def test_the_model_menu_reads_in_the_applications_direction(bench: Bench) -> None:
    menu = bench.window.loading.button.button.menu()
    menu.aboutToShow.emit()
    assert menu.layoutDirection() == QApplication.layoutDirection()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_menus_wear_the_themes_colours(bench: Bench, dark: bool) -> None:
    theme.theme().force(dark)
    menu = bench.window.actions_.menus(bench.window)[2]
    menu.resize(menu.sizeHint())
    image = menu.grab().toImage()
    assert QColor(image.pixel(menu.width() // 2, 3)).name() == theme.colors().background
    tick = [QColor(image.pixel(x, y)) for x in range(10, 34) for y in range(8, 34)]
    assert any(color.blue() > color.red() + 60 for color in tick), "a tick at the left of what is shown"
    theme.theme().force(False)
