"""A reply that was cut goes on: by its button, after a restart, with its file, and never at another's cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from app import events as ev
from app.errors import AppError
from app.library.conversations import Library
from app.ui.transcript.message_editor import MessageEditor
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_chat import generated

Start = Callable[..., Bench]
WHOLE = "one two three four five six seven eight"


@pytest.fixture
def cut(bench: Bench) -> Bench:
    """A reply stopped in its middle."""
    stop_in_the_middle(bench)
    return bench


def stop_in_the_middle(bench: Bench, words: int = 3) -> None:
    bench.engine.reply = lambda prompt: WHOLE
    bench.engine.hold = True
    bench.say("Count")
    while not bench.replies() or len(bench.replies()[-1].split()) < words:
        bench.step()
    bench.chat.stop()
    bench.engine.hold = False
    bench.rest()


def last(bench: Bench) -> ReplyView:
    return bench.items(ReplyView)[-1]


def row(bench: Bench) -> tuple[str, str]:
    message = bench.library.messages(bench.chat.current)[-1]
    return message.state, message.content


def test_a_stopped_reply_goes_on_from_its_end_in_the_same_message(cut: Bench) -> None:
    before = last(cut).source()
    assert before == "one two three "
    message = cut.library.messages(cut.chat.current)[-1]
    assert last(cut).go_on.isVisible()
    last(cut).go_on.click()
    cut.rest()
    assert cut.replies() == [WHOLE]
    assert row(cut) == ("complete", WHOLE)
    command = generated(cut)[-1]
    assert (command.reply_id, command.begun) == (message.id, before)
    assert len(cut.library.messages(cut.chat.current)) == 2
    assert not last(cut).go_on.isVisible()


def test_while_it_goes_on_its_text_stands_and_says_what_it_waits_for(cut: Bench) -> None:
    before = last(cut).source()
    cut.engine.hold = True
    last(cut).go_on.click()
    cut.step()
    assert last(cut).source() == before
    assert "Reading the prompt" in last(cut).status
    assert not last(cut).go_on.isVisible()
    while last(cut).source() == before:
        cut.step()
    assert last(cut).status == ""
    cut.chat.answering.on_save()
    file = cut.library.path.with_name("streaming") / f"{generated(cut)[-1].reply_id}.reply"
    assert file.read_text() == last(cut).source()
    cut.chat.stop()
    cut.engine.hold = False
    cut.rest()
    assert row(cut)[0] == "interrupted"
    assert row(cut)[1].startswith(before)
    assert not file.exists()
    assert last(cut).go_on.isVisible()


def test_a_killed_program_loses_nothing_of_either_part_and_offers_it_again(start: Start) -> None:
    first = start()
    stop_in_the_middle(first)
    first.engine.hold = True
    last(first).go_on.click()
    while "four" not in last(first).source():
        first.step()
    first.chat.answering.on_save()
    said = last(first).source()
    reader = Library(first.library.path)  # as the next start finds it
    conversation = reader.conversations()[0].id
    assert [(m.state, m.content) for m in reader.messages(conversation)][-1] == ("partial", said)
    reader.close()
    first.engine.hold = False
    again = start(FakeEngine(lambda prompt: WHOLE))
    again.chat.open(conversation)
    again.rest()
    assert last(again).go_on.isVisible()
    last(again).go_on.click()
    again.rest()
    assert again.replies() == [WHOLE]


def test_what_ended_by_itself_or_says_nothing_does_not_go_on(bench: Bench) -> None:
    bench.say("hello")
    assert not last(bench).go_on.isVisible()
    bench.engine.hold = True
    bench.say("and?")
    bench.chat.stop()
    bench.engine.hold = False
    bench.rest()
    assert last(bench).source() == ""
    assert not last(bench).go_on.isVisible()
    assert last(bench).tools is not None
    assert last(bench).tools.again.isVisible(), "answering again stands among the tools"
    assert not bench.window.actions_.go_on.isEnabled()


def test_an_earlier_reply_does_not_go_on(cut: Bench) -> None:
    assert cut.window.actions_.go_on.isEnabled()
    cut.say("and?")
    assert not cut.items(ReplyView)[0].go_on.isVisible()
    assert not cut.window.actions_.go_on.isEnabled()


def test_one_that_failed_on_the_way_keeps_its_text_and_has_one_retry(cut: Bench) -> None:
    before = last(cut).source()
    cut.engine.fail_next = AppError("The engine met an error.")
    cut.window.actions_.go_on.trigger()
    cut.rest()
    view = last(cut)
    assert (row(cut), view.source()) == (("failed", before), before)
    assert view.card is not None
    assert view.go_on.isVisible()
    assert view.tools is not None
    assert not view.tools.again.isVisible(), "the card has a button for it"
    view.go_on.click()
    cut.rest()
    assert row(cut) == ("complete", WHOLE)


def test_without_room_it_stays_as_it_was_and_that_is_said(cut: Bench) -> None:
    before = row(cut)
    cut.engine.context = 10
    last(cut).go_on.click()
    cut.rest()
    assert row(cut) == before
    assert cut.replies() == [before[1]]
    assert "can't go on" in cut.window.notices.texts()[-1]
    assert last(cut).go_on.isVisible()
    assert not cut.chat.generating


def test_another_scheme_meanwhile_holds_for_the_rest(cut: Bench) -> None:
    cut.pick("turbo2")
    last(cut).go_on.click()
    cut.rest()
    assert generated(cut)[-1].scheme == "turbo2"
    assert cut.library.messages(cut.chat.current)[-1].scheme == "turbo2"


def test_the_search_finds_what_came_last(cut: Bench) -> None:
    while cut.library.follow():
        pass
    cut.library.follow()
    assert cut.library.search("two")
    assert not cut.library.search("eight")
    last(cut).go_on.click()
    cut.rest()
    assert [hit.message for hit in cut.library.search("eight")] == [generated(cut)[-1].reply_id]


def test_going_on_and_leaving_shows_it_again_as_far_as_it_is(cut: Bench) -> None:
    conversation, before = cut.chat.current, last(cut).source()
    cut.engine.hold = True
    last(cut).go_on.click()
    cut.step()
    cut.chat.new()
    cut.chat.open(conversation)
    assert last(cut).source() == before
    cut.engine.hold = False
    cut.rest()
    assert cut.replies() == [WHOLE]


def test_half_a_letter_at_the_end_is_written_anew(bench: Bench) -> None:
    bench.say("hello")
    reply = bench.library.messages(bench.chat.current)[-1]
    bench.library._db.execute("UPDATE messages SET content = 'Gr\ufffd', state = 'length' WHERE id = ?", (reply.id,))
    bench.engine.reply = lambda prompt: "Grün ist es"
    bench.chat.open(bench.chat.current)
    last(bench).go_on.click()
    bench.rest()
    assert isinstance(generated(bench)[-1], ev.Generate)
    assert generated(bench)[-1].begun == "Gr"
    assert bench.replies() == ["Grün ist es"]


# ---------------------------------------------------------------- at the same time


def test_its_question_is_edited_while_it_goes_on(cut: Bench) -> None:
    cut.engine.hold = True
    last(cut).go_on.click()
    while "four" not in last(cut).source():
        cut.step()
    cut.items(UserBubble)[0].tools.edit.click()
    (editor,) = cut.items(MessageEditor)
    editor.edit.setPlainText("Count again")
    editor.save.click()
    editor.save.click()  # a double click
    cut.engine.hold = False
    cut.rest()
    assert cut.said() == ["Count again"]
    assert cut.replies() == [WHOLE]
    cut.items(UserBubble)[0].tools.previous.click()
    cut.rest()
    assert cut.replies()[0].startswith("one two three four")
    assert last(cut).go_on.isVisible()
    assert [command.begun for command in generated(cut)] == ["", "one two three ", ""]


def test_its_conversation_is_deleted_while_it_goes_on_and_comes_back(cut: Bench) -> None:
    conversation = cut.chat.current
    cut.engine.hold = True
    last(cut).go_on.click()
    while "four" not in last(cut).source():
        cut.step()
    cut.chat.delete(conversation)
    cut.chat.deleting.undo()
    cut.engine.hold = False
    cut.rest()
    assert cut.chat.current == conversation
    assert row(cut)[1].startswith("one two three four")
    assert row(cut)[0] == "interrupted"
    assert cut.replies() == [row(cut)[1]]
    assert last(cut).go_on.isVisible()


def test_other_versions_are_turned_to_while_it_goes_on(cut: Bench) -> None:
    cut.window.actions_.again.trigger()
    cut.rest()
    last(cut).tools.previous.click()
    cut.rest()
    cut.engine.hold = True
    last(cut).go_on.click()
    cut.step()
    tools = last(cut).tools
    for _ in range(3):
        tools.next.click()
    cut.engine.hold = False
    cut.rest()
    assert last(cut).tools.place.text() == "2/2"
    assert cut.replies() == [WHOLE]
    assert not cut.window.actions_.go_on.isEnabled()
    last(cut).tools.previous.click()
    cut.rest()
    assert last(cut).source() == "one two three "
    assert cut.window.actions_.go_on.isEnabled()


def test_the_disk_is_full_when_it_shall_go_on(cut: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(message: object, scheme: str) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(cut.library, "resume_reply", full)
    last(cut).go_on.click()
    cut.rest()
    assert len(generated(cut)) == 1
    assert row(cut) == ("interrupted", "one two three ")
    assert "full" in cut.window.notices.texts()[-1]
    assert last(cut).go_on.isVisible()


def test_nothing_moves_where_it_goes_on(bench: Bench) -> None:
    """Its text stands in the same turn of the event loop in which the button was pressed."""
    stop_in_the_middle(bench)
    reply = bench.library.messages(bench.chat.current)[-1]
    text = "\n\n".join(f"paragraph {number}" for number in range(80))
    bench.library._db.execute("UPDATE messages SET content = ? WHERE id = ?", (text, reply.id))
    bench.chat.open(bench.chat.current)
    bench.rest()
    bar = bench.transcript.verticalScrollBar()
    before = bar.maximum()
    assert before > 1000
    bench.engine.hold = True
    last(bench).go_on.click()
    assert before - 100 < bar.maximum() < before + 100
    assert bar.value() == bar.maximum()
    bench.engine.hold = False
    bench.rest()
