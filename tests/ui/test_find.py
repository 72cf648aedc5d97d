"""Find in a conversation: every hit of what is shown, counted and marked, folded and far away ones too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import attachments
from app.attachments import Attachment
from app.events import TurnFinished
from app.ui.conversations.search_results import Result, excerpt
from app.ui.shared import theme
from app.ui.transcript.pieces import Entry
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.sections import ThinkingSection
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench

Start = Callable[..., Bench]


def tell(bench: Bench, *turns: tuple[str, str]) -> None:
    """A stored conversation on screen."""
    conversation = bench.library.create("turbo4", "Tiny-1B")
    for said, answered in turns:
        bench.library.add_user_message(conversation.id, said)
        reply = bench.library.begin_reply(conversation.id, "turbo4")
        bench.library.finish_reply(
            TurnFinished(conversation.id, reply.id, "stop", "turbo4", answered, 100, 50, 20, 80.0, 40.0)
        )
    bench.chat.open(conversation.id)
    bench.rest()


def find(bench: Bench, qtbot: QtBot, text: str) -> str:
    """What the bar says."""
    bench.window.actions_.find.trigger()
    bar = bench.window.find_bar
    bar.field.setText(text)
    bar.field.textEdited.emit(text)
    qtbot.waitUntil(lambda: not bar.finder.searching)
    return bar.label.text()


def marked(bench: Bench) -> list[str]:
    """The marked words, the current one in brackets."""
    found = []
    current = bench.window.find_bar.finder._current
    for entry in bench.transcript.entries:
        place = 0
        for pane in entry.widget.panes() if isinstance(entry.widget, UserBubble | ReplyView) else ():
            for mark in pane.extraSelections() if pane is not None else ():
                text = mark.cursor.selectedText()
                found.append(f"[{text}]" if current == (entry, place) else text)
                place += 1
    return found


def test_hits_are_counted_marked_and_gone_through(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("A barometer?", "The **baro**meter 😀 measures. A barometer, yes."), ("Thanks", "No more barometers."))
    assert find(bench, qtbot, "barometer") == "1/4"
    assert marked(bench) == ["[barometer]", "barometer", "barometer", "barometer"]
    for dark in (True, False):  # everything is written again
        theme.theme().force(dark)
        assert marked(bench) == ["[barometer]", "barometer", "barometer", "barometer"]
    bar = bench.window.find_bar
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar.label.text() == "2/4"
    assert marked(bench)[1] == "[barometer]"
    bench.window.actions_.find_next.trigger()
    assert bar.label.text() == "3/4"
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    bench.window.actions_.find_previous.trigger()
    bench.window.actions_.find_previous.trigger()
    assert bar.label.text() == "4/4", "round the end"
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert bar.isHidden()
    assert marked(bench) == []


def test_a_search_sees_what_is_shown(bench: Bench, qtbot: QtBot) -> None:
    tell(
        bench, ("Go", "| a | b |\n|---|---|\n| tab | *le* |\n\n$x_1$ and `co de` &amp; [link](https://hidden.example)")
    )
    assert find(bench, qtbot, "hidden") == "No hits"
    for text, hits in (("le", 1), ("& LINK", 1), ("co  de", 1), ("x_1", 1), ("**", 0), ("tab", 1)):
        assert find(bench, qtbot, text) == (f"1/{hits}" if hits else "No hits"), text


def test_hits_in_what_is_folded_unfold_it(bench: Bench, qtbot: QtBot) -> None:
    text = attachments.join("word " * 900 + "needle", (Attachment("notes.txt", "one\na needle here\n"),))
    tell(bench, (text, "<think>\nSome needle of thought.\n</think>\n\nNo."))
    (bubble,), (view,) = bench.items(UserBubble), bench.items(ReplyView)
    assert find(bench, qtbot, "needle") == "1/3"
    assert bubble.files.buttons[0].isChecked()
    folded = bubble.height()
    QTest.keyClick(bench.window.find_bar.field, Qt.Key.Key_Return)
    assert bubble.height() > folded
    (section,) = view.findChildren(ThinkingSection)
    assert not section.header.isChecked()
    QTest.keyClick(bench.window.find_bar.field, Qt.Key.Key_Return)
    assert section.header.isChecked()
    assert marked(bench)[-1] == "[needle]"


def seen(bench: Bench, entry: Entry) -> bool:
    bar, view = bench.transcript.verticalScrollBar().value(), bench.transcript.viewport().height()
    return entry.y < bar + view and entry.y + entry.height > bar


def test_hits_far_away_are_found_and_shown(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("A needle first", "ok"), *((f"Question {n}", f"Answer {n}.\n\n- a\n- b\n") for n in range(60)))
    assert bench.transcript.entries[0].widget is None
    assert find(bench, qtbot, "needle") == "1/1"
    qtbot.waitUntil(lambda: marked(bench) == ["[needle]"])
    assert seen(bench, bench.transcript.entries[0])
    assert not bench.transcript.following


def test_a_reply_is_searched_while_it_is_written(bench: Bench, qtbot: QtBot) -> None:
    bench.engine.reply = lambda prompt: "one needle and two needles " * 3
    bench.engine.hold = True
    bench.say("Go")
    bench.step(12)
    assert find(bench, qtbot, "needle").startswith("1/")
    bench.engine.hold = False
    bench.rest()
    qtbot.waitUntil(lambda: bench.window.find_bar.label.text() == "1/6")


def test_a_branch_takes_the_place_of_what_was_found(bench: Bench, qtbot: QtBot) -> None:
    replies = iter(["needle one", "needle two", "needle needle"])
    bench.engine.reply = lambda prompt: next(replies)
    bench.say("a")
    bench.say("b")
    assert find(bench, qtbot, "needle") == "1/2"
    bench.window.find_bar.on_next()
    bench.items(ReplyView)[0].tools.again.click()
    bench.rest()
    qtbot.waitUntil(lambda: bench.window.find_bar.finder.count == 2)
    bench.window.find_bar.on_next()
    assert bench.window.find_bar.label.text() == "1/2"
    assert marked(bench) == ["[needle]", "needle"]


def test_the_bar_stays_with_its_conversation(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("one needle", "two needles"))
    first = bench.chat.current
    tell(bench, ("no", "nothing"))
    assert find(bench, qtbot, "needle") == "No hits"
    bench.chat.open(first)
    assert bench.window.find_bar.isHidden()
    bench.window.actions_.find.trigger()  # what was looked for last is found again
    qtbot.waitUntil(lambda: bench.window.find_bar.label.text().endswith("/2"))
    bench.chat.new()
    assert bench.window.find_bar.isHidden()


def test_the_marks_of_a_search_end_with_it(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("one needle", "two needles"))
    needle = bench.library.messages(bench.chat.current)[0].id
    bench.window.sidebar.search.setText("needle")
    bench.window.sidebar.hit_chosen.emit(Result(bench.chat.current, needle, "", ()))
    assert marked(bench)
    bench.window.sidebar.search.clear()
    assert bench.window.find_bar.isHidden()
    assert not marked(bench)


def test_a_hit_of_the_sidebar_is_shown_and_marked(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("The heron stands", "still"), *((f"Question {n}", f"Answer {n}.") for n in range(40)))
    conversation, needle = bench.chat.current, bench.library.messages(bench.chat.current)[0].id
    bench.chat.new()
    bench.window.sidebar.search.setText("stand her")
    bench.window.sidebar.hit_chosen.emit(Result(conversation, needle, "", ()))
    qtbot.waitUntil(lambda: not bench.window.find_bar.finder.searching)
    assert seen(bench, bench.transcript.entries[0])
    assert marked(bench)[:2] == ["[her]", "stand"]
    assert not bench.window.find_bar.show_message("no such message", ["x"])


def test_the_hit_that_the_list_shows_is_the_one_gone_to(bench: Bench, qtbot: QtBot) -> None:
    """Not the message's first one; the source's markup, which the list leaves out, doesn't matter."""
    early = "Fisher folk and fish. " * 30
    tell(
        bench, ("Tell me", early + "\n\nThe **local** `fisher` of [Skye](https://x.example) sold a red boat. " + early)
    )
    sidebar = bench.window.sidebar
    sidebar.search.setText("fisher sold")
    bench.library.follow()
    sidebar.search_again()
    (result,) = (result for result in sidebar.found.results.results if result.message)
    assert result.around[1].startswith("fisher")
    assert "local" in result.around[0]
    sidebar.found.chosen.emit(result)
    finder = bench.window.find_bar.finder
    qtbot.waitUntil(lambda: not finder.searching)
    marks = marked(bench)
    place = marks.index("[fisher]")
    assert marks[place + 1] == "sold"
    assert place == 30, "of the stretch that the list shows"


def test_the_bar_of_a_search_lies_beside_the_first_message(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("What does a keeper do?", "A keeper keeps.\n\n" * 30))
    question, answer = bench.library.messages(bench.chat.current)[:2]
    conversation, bar = bench.chat.current, bench.window.find_bar
    for message in (question, answer):
        bench.chat.new()
        bench.window.sidebar.search.setText("keeper")
        bench.window.sidebar.hit_chosen.emit(Result(conversation, message.id, "", ()))
        qtbot.waitUntil(lambda: not bar.finder.searching)
        bubble = bench.items(UserBubble)[0]
        assert bubble.mapTo(bench.window, QPoint(0, 0)).y() > bar.mapTo(bench.window, bar.rect().bottomLeft()).y()
        assert bar.finder.number == (1 if message is question else 2)


@pytest.mark.parametrize("width", [120, 200, 400, 4000])
@pytest.mark.parametrize("place", [0, 3, 11, 15])
def test_a_line_of_the_list_shows_its_hit(bench: Bench, width: int, place: int) -> None:
    words = ["lighthouses"] * 16
    words[place] = "fisherman"
    text = "…" + " ".join(words) + "…"
    at = text.index("fisherman")
    for lines in (1, 2):
        shown, marks = excerpt(text, ((at, 9),), theme.font(theme.SMALL), width, lines)
        (start, length), *_ = marks
        assert shown[start : start + length] == "fisherman"
        assert shown.startswith("…")
        assert shown.endswith("…")


@pytest.mark.parametrize("text", ["(", ".*", "\\", "  ", "[a"])
def test_letters_with_a_meaning_in_patterns_are_letters(bench: Bench, qtbot: QtBot, text: str) -> None:
    tell(bench, ("x", "y ( z"))
    assert find(bench, qtbot, text) == {"(": "1/1", "  ": ""}.get(text, "No hits")


def test_accents_and_capitals_make_no_difference(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("Résumé, re\u0301sume\u0301 or RESUME?", "**Étude** in Ελλάδα, наїв"))
    for text, hits in (("resume", 3), ("résumé", 3), ("etude", 1), ("ελλαδα", 1), ("наів", 1)):
        assert find(bench, qtbot, text) == f"1/{hits}", text


def test_the_letters_of_every_script_are_found(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("Straße, MASSE", "日本語がある。 ที่นี่ 한국어 हिन्दी か\u3099"))
    for text, hits in (("straße", 1), ("STRASSE", 1), ("ße", 2), ("masse", 1), ("が", 2), ("本語", 1), ("ที่นี่", 1),
                       ("국어", 1), ("हिन्दी", 1)):  # fmt: skip
        assert find(bench, qtbot, text) == f"1/{hits}", text


def test_the_bar_stands_in_the_corner_of_a_narrow_window(bench: Bench, qtbot: QtBot) -> None:
    tell(bench, ("x", "y"))
    bench.window.resize(640, 480)
    find(bench, qtbot, "x")
    QApplication.processEvents()
    bar = bench.window.find_bar
    assert bench.transcript.rect().contains(bar.geometry())
    first = bench.transcript.items()[0]
    assert first.mapTo(bench.transcript, first.rect().topLeft()).y() > bar.geometry().bottom(), "nothing is hidden"
