"""What is typed in the editor of an earlier message outlives a killed program, as a draft does."""

from __future__ import annotations

from collections.abc import Callable

from app.library.conversations import Library
from app.ui.shared import theme
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench

Start = Callable[..., Bench]


def opened(bench: Bench, text: str | None = None) -> MessageEditor:
    bench.items(UserBubble)[0].tools.edit.click()
    bench.rest()
    (editor,) = bench.items(MessageEditor)
    if text is not None:
        editor.edit.setPlainText(text)
    return editor


def test_it_is_offered_again_after_the_program_was_killed(start: Start) -> None:
    first = start()
    first.say("Hello")
    opened(first, "Hello, and who are you?")
    first.chat.editing.flush()  # as its timer does when typing pauses; what follows here is a kill
    again = start()
    again.chat.open(again.chat.newest())
    again.rest()
    (editor,) = again.items(MessageEditor)
    assert editor.edit.toPlainText() == "Hello, and who are you?"
    editor.save.click()
    again.rest()
    assert again.said() == ["Hello, and who are you?"]
    assert again.library.drafts.edits(again.chat.current) == {}


def test_typing_writes_after_a_pause_and_nothing_where_nothing_has_changed(bench: Bench) -> None:
    bench.say("Hello")
    editor = opened(bench)
    bench.chat.editing.flush()
    assert bench.library.drafts.edits(bench.chat.current) == {}
    editor.edit.setPlainText("Other")
    assert bench.chat.editing._timer.isActive()
    bench.chat.on_save()
    assert list(bench.library.drafts.edits(bench.chat.current).values()) == ["Other"]
    editor.edit.setPlainText("Hello")
    bench.chat.on_save()
    assert bench.library.drafts.edits(bench.chat.current) == {}


def test_what_is_cancelled_is_gone(start: Start) -> None:
    first = start()
    first.say("Hello")
    editor = opened(first, "Other")
    first.chat.editing.flush()
    editor.edit.setPlainText("Other still")
    editor.cancel.click()
    first.chat.on_save()
    again = start()
    again.chat.open(again.chat.newest())
    assert again.said() == ["Hello"]
    assert not again.items(MessageEditor)


def test_it_goes_with_its_conversation(start: Start) -> None:
    bench = start()
    bench.say("Hello")
    conversation, path = bench.chat.current, bench.library.path
    opened(bench, "Other")
    bench.close()
    with Library(path) as library:
        assert list(library.drafts.edits(conversation).values()) == ["Other"]
        library.delete(conversation)
    with Library(path) as library:
        assert library._db.execute("SELECT count(*) FROM edits").fetchone()[0] == 0


def test_its_buttons_stay_whole_beside_the_panel_with_large_letters(german: None, start: Start) -> None:
    bench = start()
    bench.say("hello")
    try:
        theme.theme().set_scale(2.0)
        bench.window.resize(1280, 800)
        bench.rest()
        editor = opened(bench)
        for button in (editor.save, editor.cancel):
            assert button.width() >= button.sizeHint().width()
            assert editor.rect().contains(button.geometry())
    finally:
        theme.theme().set_scale(1.0)
