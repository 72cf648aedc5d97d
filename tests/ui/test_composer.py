"""The composer: keys and input methods, drafts, earlier messages, files, and what is said of a message's size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app import attachments
from app.attachments import Attachment
from app.ui.composer.attachment_row import MOST_IN_TEXT
from app.ui.composer.composer import Composer
from app.ui.composer.message_edit import LONG_PASTE, MAX_LINES
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

Key = Qt.Key
FILE = Attachment("parse.py", "def parse():\n    return 1\n")
NOTE = Attachment("note.txt", "one two three")


@pytest.fixture
def composer(qtbot: QtBot) -> Composer:
    made = Composer()
    qtbot.addWidget(made)
    made.resize(600, 200)
    made.show()
    return made


def compose(composer: Composer, preedit: str, commit: str = "") -> None:
    """As an input method does."""
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def paste(composer: Composer, text: str = "", files: tuple[Path, ...] = ()) -> None:
    data = QMimeData()
    if text:
        data.setText(text)
    if files:
        data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    assert composer.edit.canInsertFromMimeData(data)
    composer.edit.insertFromMimeData(data)


def counted(bench: Bench) -> str:
    """The note once typing has paused and the engine has counted."""
    bench.chat._counting.on_pause()
    bench.rest()
    return bench.composer.note


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize("modifiers", [Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier])
def test_an_enter_that_ends_a_composition_never_sends(
    qtbot: QtBot, composer: Composer, modifiers: Qt.KeyboardModifier
) -> None:
    sent: list[str] = []
    composer.sent.connect(sent.append)
    compose(composer, "にほ")
    for key in (Key.Key_Return, Key.Key_Enter, Key.Key_Up):
        QTest.keyClick(composer.edit, key, modifiers)
    composer.on_submitted()  # the menu's Send
    compose(composer, "", "日本")
    assert (sent, composer.edit.toPlainText()) == ([], "日本")
    QTest.keyClick(composer.edit, Key.Key_Return, modifiers)
    assert sent == ["日本"]


def test_the_box_grows_to_a_limit_and_then_scrolls(composer: Composer) -> None:
    heights = []
    for lines in (1, 2, MAX_LINES, MAX_LINES + 1, 200):
        composer.edit.setPlainText("\n".join("x" * lines))
        QApplication.processEvents()
        heights.append(composer.edit.height())
    line = heights[1] - heights[0]
    assert heights[2:] == [heights[2]] * 3
    assert heights[2] >= MAX_LINES * line
    composer.edit.moveCursor(composer.edit.textCursor().MoveOperation.Start)
    assert composer.edit.verticalScrollBar().maximum() > 0


def test_up_in_an_empty_box_brings_earlier_messages_back(bench: Bench) -> None:
    said = ["first", attachments.join("second\nline", (NOTE,)), "third"]
    for content in said:
        bench.composer.set_content(content)
        bench.composer.on_submitted()
        bench.rest()
    edit = bench.composer.edit
    seen = []
    for key in (Key.Key_Up, Key.Key_Up, Key.Key_Up, Key.Key_Up, Key.Key_Down, Key.Key_Down, Key.Key_Down, Key.Key_Down):
        QTest.keyClick(edit, key)
        seen.append(bench.composer.content)
    assert seen == ["third", said[1], "first", "first", said[1], "third", "", ""]
    QTest.keyClick(edit, Key.Key_Up)
    QTest.keyClicks(edit, "!")
    QTest.keyClick(edit, Key.Key_Up)
    assert edit.toPlainText() == "third!", "what was changed is a text of its own"


def test_arrows_leave_a_file_alone_that_is_still_read(qtbot: QtBot, bench: Bench, tmp_path: Path) -> None:
    bench.say("first")
    (tmp_path / "a.txt").write_text("hi")
    for key in (Key.Key_Up, Key.Key_Down):
        bench.composer.set_content("")
        bench.composer.add_files([tmp_path / "a.txt"])
        QTest.keyClick(bench.composer.edit, key)
        qtbot.waitUntil(lambda: bool(bench.composer.files.attachments))
        assert bench.composer.text == ""


def test_the_first_line_of_code_keeps_its_indentation(bench: Bench) -> None:
    bench.say(" \n\n    if x:\n        y()\n\n  ")
    bench.say("   one line \n")
    assert bench.said() == ["    if x:\n        y()", "one line"]


def test_letters_that_are_put_together_stay_behind_when_another_conversation_is_shown(bench: Bench) -> None:
    bench.say("first")
    compose(bench.composer, "にほ")
    bench.chat.new()
    assert not bench.composer.edit.composing
    bench.say("hello")
    assert bench.said() == ["hello"]


def test_up_in_a_text_moves_the_cursor(bench: Bench) -> None:
    bench.say("first")
    bench.type("one\ntwo")
    edit = bench.composer.edit
    edit.moveCursor(edit.textCursor().MoveOperation.End)
    QTest.keyClick(edit, Key.Key_Up)
    assert (edit.toPlainText(), edit.textCursor().blockNumber()) == ("one\ntwo", 0)


# ---------------------------------------------------------------- files


def test_files_are_attached_sent_within_the_message_and_folded(qtbot: QtBot, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "parse.py").write_text(FILE.text)
    paste(bench.composer, files=(tmp_path / "parse.py",))
    qtbot.waitUntil(lambda: bool(bench.composer.files.attachments))
    assert bench.composer.can_send, "a file says something"
    bench.say("What is it?")
    content = attachments.join("What is it?", (FILE,))
    assert bench.engine.received[-1].messages[-1].content == content
    assert bench.library.messages(bench.chat.current)[0].content == content
    assert bench.library.conversation(bench.chat.current).title == "What is it?"
    assert bench.composer.empty
    (bubble,) = bench.items(UserBubble)
    assert bubble._pane.toPlainText() == "What is it?"
    assert bubble.files.open_texts == []
    closed = bubble.height()
    bubble.files.buttons[0].click()
    assert bubble.files.open_texts == [FILE.text.rstrip()]
    assert bubble.height() > closed
    bubble.files.buttons[0].click()
    assert bubble.height() == closed


def test_dropped_files_are_attached_and_a_model_is_the_windows(
    qtbot: QtBot, composer: Composer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("words")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.txt"))])
    actions, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    drop = QDropEvent(QPointF(5, 5), actions, data, button, Qt.KeyboardModifier.NoModifier)
    composer.edit.dropEvent(drop)
    qtbot.waitUntil(lambda: bool(composer.files.attachments))
    assert composer.files.attachments == (Attachment("a.txt", "words"),)
    assert composer.edit.toPlainText() == ""
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    assert not composer.edit.canInsertFromMimeData(data)


def test_a_text_may_be_dropped_anywhere_beside_a_conversation(qtbot: QtBot, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.txt"))])
    place, actions, button = QPoint(20, 300), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    nothing, window = Qt.KeyboardModifier.NoModifier, bench.window
    window.on_models()
    QApplication.sendEvent(window, QDragEnterEvent(place, actions, data, button, nothing))
    assert not window._drop_target.isVisible()
    window.on_to_chat()
    QApplication.sendEvent(window, QDragEnterEvent(place, actions, data, button, nothing))
    assert window._drop_target.isVisible()
    QApplication.sendEvent(window, QDropEvent(QPointF(place), actions, data, button, nothing))
    qtbot.waitUntil(lambda: bool(bench.composer.files.attachments))
    assert not window._drop_target.isVisible()


def test_what_cant_be_attached_says_why_and_keeps_the_rest(
    qtbot: QtBot, composer: Composer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\x00")
    (tmp_path / "b.txt").write_text("words")
    names = [str(tmp_path / name) for name in ("a.png", "b.txt", "gone.txt")]
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (names[:2], ""))
    composer.attach.click()
    qtbot.waitUntil(lambda: bool(composer.files.attachments) and "a.png" in composer.note)
    assert "isn't a text file" in composer.note
    assert [file.name for file in composer.files.attachments] == ["b.txt"]
    QTest.keyClicks(composer.edit, "x")
    assert composer.note == "", "typing goes on"
    for number in range(attachments.MOST_FILES + 5):
        (tmp_path / f"{number}.txt").write_text(f"words {number}")
    composer.add_files([tmp_path / f"{number}.txt" for number in range(attachments.MOST_FILES + 5)])
    qtbot.waitUntil(lambda: "a message takes 20 files and 4.0 MB at most" in composer.note)
    assert len(composer.files.attachments) == attachments.MOST_FILES
    composer.clear()
    paste(composer, "x" * 3_000_000)
    paste(composer, "y" * 1_500_000)
    assert "at most" in composer.note
    assert len(composer.files.attachments) == 1
    composer.add_files([Path(names[2])])
    qtbot.waitUntil(lambda: "gone.txt is no file" in composer.note)


def test_a_file_is_taken_away_or_put_into_the_text(composer: Composer) -> None:
    for file in (FILE, NOTE, Attachment("c", "c")):
        composer.files.add(file)
    composer.files.chips[0].remove.click()
    composer.files.chips[0].menu().actions()[0].trigger()
    assert [file.name for file in composer.files.attachments] == ["c"]
    assert composer.edit.toPlainText() == NOTE.text
    composer.files.chips[0].menu().actions()[1].trigger()
    assert composer.files.isHidden()
    composer.files.add(Attachment("large.txt", "x" * (MOST_IN_TEXT + 1)))
    assert [entry.isEnabled() for entry in composer.files.chips[0].menu().actions()] == [False, True]


def test_a_long_paste_becomes_a_file_and_a_short_one_doesnt(composer: Composer) -> None:
    paste(composer, "x" * LONG_PASTE)
    assert len(composer.edit.toPlainText()) == LONG_PASTE
    composer.clear()
    for _ in range(2):
        paste(composer, "line\r\n" * 20_000)
    assert [file.name for file in composer.files.attachments] == ["Pasted text", "Pasted text 2"]
    assert composer.files.attachments[0].text == "line\n" * 20_000
    assert composer.edit.toPlainText() == ""


def test_a_file_that_is_still_read_stays_with_its_conversation(bench: Bench, tmp_path: Path) -> None:
    bench.say("first")
    (tmp_path / "a.txt").write_text("words")
    bench.composer.add_files([tmp_path / "a.txt"])
    assert (bench.composer.can_send, bench.composer.note) == (False, "Reading files…")
    bench.chat.new()
    QTest.qWait(50)
    assert bench.composer.empty


# ---------------------------------------------------------------- drafts


def test_a_draft_stays_with_its_conversation(start: Callable[..., Bench]) -> None:
    bench = start()
    bench.type("for the new one")
    bench.chat.new()
    assert bench.composer.content == "for the new one"
    bench.say("first")
    one = bench.chat.current
    assert bench.composer.empty
    bench.type("half a thought")
    bench.composer.files.add(NOTE)
    bench.chat.new()
    assert bench.composer.empty, "the first message was sent: its draft is gone"
    bench.type("another")
    bench.chat.open(one)
    assert (bench.composer.edit.toPlainText(), bench.composer.files.attachments) == ("half a thought", (NOTE,))
    bench.close()
    again = start(FakeEngine(), load=False)
    assert again.composer.content == "another"
    again.chat.open(one)
    assert again.composer.content == attachments.join("half a thought", (NOTE,))


def test_a_draft_is_written_when_typing_pauses_and_not_with_each_key(bench: Bench) -> None:
    bench.type("half a thought")
    assert bench.library.drafts.read("") == ""
    assert bench.chat.drafting._timer.isActive()
    bench.chat.drafting._timer.timeout.emit()
    assert bench.library.drafts.read("") == "half a thought"
    bench.composer.files.add(NOTE)
    bench.chat.drafting.flush()
    writes: list[str] = []
    bench.library._db.set_trace_callback(writes.append)
    bench.type("a whole thought")
    bench.chat.drafting.flush()
    bench.chat.drafting.flush()
    bench.library._db.set_trace_callback(None)
    assert [NOTE.text in statement for statement in writes if statement.startswith("UPDATE drafts")] == [False]
    bench.say("whole")
    assert bench.library.drafts.read("") == ""


def test_a_draft_is_written_although_typing_never_pauses(bench: Bench) -> None:
    drafting = bench.chat.drafting
    bench.type("half")
    begun = drafting._latest.remainingTime()
    for text in ("half a", "half a thought"):
        QTest.qWait(5)
        bench.type(text)
    assert 0 < drafting._latest.remainingTime() < begun
    drafting._latest.timeout.emit()
    assert bench.library.drafts.read("") == "half a thought"
    assert not drafting._timer.isActive()
    bench.type("more")
    assert drafting._latest.isActive()


def test_a_message_that_is_taken_back_comes_into_the_box(start: Callable[..., Bench]) -> None:
    bench = start(FakeEngine(context=64))
    bench.composer.set_content(attachments.join("word " * 80, (NOTE,)))
    bench.composer.on_submitted()
    bench.rest()
    bench.type("meanwhile")
    bench.chat.choices.on_take_back()
    assert bench.chat.current == ""
    assert bench.composer.files.attachments == (NOTE,)
    assert bench.composer.edit.toPlainText() == ("word " * 80).strip()


# ---------------------------------------------------------------- tokens


def test_the_messages_tokens_are_said_and_what_they_leave(start: Callable[..., Bench]) -> None:
    bench = start(FakeEngine(context=1000))
    assert counted(bench) == "Context 0 of 1,000"
    bench.type("one two three")
    assert counted(bench) == "3 tokens · 997 left"
    bench.composer.files.add(NOTE)
    tokens = 3 + len(attachments.block(NOTE).split())
    assert counted(bench) == f"{tokens} tokens · {1000 - tokens} left"
    assert bench.composer.files.chips[0].figures == f"13 B · {tokens - 3} tokens"
    bench.type("word " * 950)
    assert "left for the reply" in counted(bench)
    bench.type("word " * 1200)
    assert counted(bench) == f"{1200 + tokens - 3:,} tokens · {200 + tokens - 3} more than the context has room for"
    assert bench.composer.can_send, "it is said, and the user decides"
    bench.composer.clear()
    assert bench.composer.note == "Context 0 of 1,000"


def test_a_system_prompt_takes_room_before_the_first_message(start: Callable[..., Bench]) -> None:
    bench = start(FakeEngine(context=1000))
    bench.chat.generation.set("system_prompt", "word " * 100)
    bench.type("one two three")
    assert counted(bench) == "3 tokens · 897 left"
    bench.say("hello")
    used = bench.composer.used_tokens
    bench.type("one two three")
    assert counted(bench) == f"3 tokens · {1000 - used - 3} left", "by then it is among what the model holds"


def test_a_file_is_counted_once_and_the_text_when_typing_pauses(bench: Bench) -> None:
    bench.composer.files.add(NOTE)
    for text in ("a", "a b", "a b c"):
        bench.type(text)
    assert bench.engine.counts == []
    counted(bench)
    bench.type("a b c d")
    counted(bench)
    assert [count.text for count in bench.engine.counts].count(attachments.block(NOTE)) == 1
    assert len(bench.engine.counts) == 3


def test_tokens_are_counted_while_a_reply_is_written(bench: Bench) -> None:
    bench.engine.hold = True
    bench.type("first")
    bench.composer.on_submitted()
    bench.type("one two three")
    note = counted(bench)
    assert note.startswith("3 tokens · ")
    bench.engine.hold = False


def test_another_model_counts_anew(bench: Bench) -> None:
    bench.type("one two")
    counted(bench)
    bench.window.load_model("/models/Other-2B")
    bench.rest()
    counted(bench)
    assert [count.text for count in bench.engine.counts] == ["one two", "one two"]
