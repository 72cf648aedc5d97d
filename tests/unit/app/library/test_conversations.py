"""Conversations, messages as a tree, the chart's history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from app.events import ChatMessage, MemorySample, SchemeSwitched, SnapshotSaved, TurnFinished
from app.library import history
from app.library.conversations import Library
from app.library.records import is_scheme
from turboquant import schemes
from turboquant.errors import UnknownScheme


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    with Library(path) as opened:
        yield opened


def finished(conversation: str, reply: str, text: str, reason: str = "stop") -> TurnFinished:
    return TurnFinished(conversation, reply, reason, "turbo4", text, 30, 10, 20, 100.5, 42.5)  # type: ignore[arg-type]


def sample(conversation: str, tokens: int, used: int, scheme: str = "turbo4") -> MemorySample:
    return MemorySample(conversation, scheme, tokens, used, used, 4 * used, 36, 2, 2, 0, 0, 0)


def talk(library: Library, *questions: str) -> str:
    conversation = library.create("turbo4", "tiny").id
    for question in questions:
        library.add_user_message(conversation, question)
        reply = library.begin_reply(conversation, "turbo4")
        library.finish_reply(finished(conversation, reply.id, f"Answer to {question}"))
    return conversation


def test_everything_is_there_after_reopening(library: Library, path: Path) -> None:
    conversation = talk(library, "First?", "Second?")
    library.close()
    with Library(path) as again:
        assert again.notice == ""
        (listed,) = again.conversations()
        assert (listed.id, listed.title, listed.scheme, listed.model) == (conversation, "First?", "turbo4", "tiny")
        messages = again.messages(conversation)
        assert [(m.role, m.content, m.state) for m in messages] == [
            ("user", "First?", "complete"),
            ("assistant", "Answer to First?", "complete"),
            ("user", "Second?", "complete"),
            ("assistant", "Answer to Second?", "complete"),
        ]
        last = messages[-1]
        assert (last.prompt_tokens, last.reused_tokens, last.generated_tokens) == (30, 10, 20)
        assert (last.prefill_tokens_per_s, last.tokens_per_s, last.scheme) == (100.5, 42.5, "turbo4")
        assert last.as_chat() == ChatMessage(last.id, "assistant", "Answer to Second?")


def test_a_message_is_on_disk_when_the_call_returns(library: Library, path: Path) -> None:
    conversation = library.create("turbo4").id
    library.add_user_message(conversation, "Is it there?")
    other = sqlite3.connect(path)
    assert other.execute("SELECT content FROM messages").fetchall() == [("Is it there?",)]
    other.close()


def test_a_reply_cut_off_by_a_crash_is_marked_and_kept(library: Library, path: Path) -> None:
    conversation = library.create("turbo4").id
    library.add_user_message(conversation, "Go on")
    reply = library.begin_reply(conversation, "turbo4")
    library.update_partial(reply.id, "It was a dark and")
    assert library.messages(conversation)[-1].state == "partial"
    library.close()
    with Library(path) as again:
        last = again.messages(conversation)[-1]
        assert (last.content, last.state) == ("It was a dark and", "partial")


def test_a_late_partial_never_overwrites_the_end(library: Library) -> None:
    conversation = library.create("turbo4").id
    library.add_user_message(conversation, "Go on")
    reply = library.begin_reply(conversation, "turbo4")
    library.finish_reply(finished(conversation, reply.id, "the whole text", "interrupted"))
    library.update_partial(reply.id, "the who")
    last = library.messages(conversation)[-1]
    assert (last.content, last.state) == ("the whole text", "interrupted")


def test_a_failure_keeps_text_and_reason(library: Library) -> None:
    conversation = library.create("turbo4").id
    library.add_user_message(conversation, "Go on")
    reply = library.begin_reply(conversation, "turbo4")
    library.fail_reply(reply.id, "half a", "Memory ran out.")
    last = library.messages(conversation)[-1]
    assert (last.content, last.state, last.error) == ("half a", "failed", "Memory ran out.")


def test_a_second_answer_is_a_branch(library: Library) -> None:
    conversation = talk(library, "Question?")
    question, first = library.messages(conversation)
    second = library.begin_reply(conversation, "turbo2", parent=question.id)
    library.finish_reply(finished(conversation, second.id, "Another answer"))
    assert [m.content for m in library.messages(conversation)] == ["Question?", "Another answer"]
    library.show(conversation, first.id)
    assert [m.content for m in library.messages(conversation)] == ["Question?", "Answer to Question?"]


def test_a_reply_can_be_taken_back(library: Library) -> None:
    conversation = library.create("turbo4").id
    question = library.add_user_message(conversation, "Too long")
    reply = library.begin_reply(conversation, "turbo4")
    library.remove_message(reply.id)
    assert library.messages(conversation) == [question]
    with pytest.raises(KeyError):
        library.remove_message(reply.id)


def test_titles(library: Library) -> None:
    conversation = talk(library, "  A very\nlong question " + "that goes on " * 20, "Another")
    title = library.conversation(conversation).title
    assert title.startswith("A very long question that")
    assert title.endswith(("very", "long", "question", "that", "goes", "on", "and")), "whole words, no mark of a cut"
    assert 60 < len(title) <= 120
    library.rename(conversation, "  Mine ")
    library.add_user_message(conversation, "More")
    assert library.conversation(conversation).title == "Mine"


def test_the_last_used_stands_first(library: Library) -> None:
    first, second = talk(library, "one"), talk(library, "two")
    assert [c.id for c in library.conversations()] == [second, first]
    library.add_user_message(first, "again")
    assert [c.id for c in library.conversations()] == [first, second]


def test_deleting_can_be_undone_until_the_next_start(library: Library, path: Path) -> None:
    conversation = talk(library, "one")
    library.delete(conversation)
    assert library.conversations() == []
    library.restore(conversation)
    assert [c.id for c in library.conversations()] == [conversation]
    library.delete(conversation)
    library.close()
    with Library(path) as again:
        assert again.conversations() == []
        with pytest.raises(KeyError):
            again.conversation(conversation)
        other = sqlite3.connect(path)
        assert other.execute("SELECT count(*) FROM messages").fetchone() == (0,)
        other.close()


def test_the_chart_survives(library: Library, path: Path) -> None:
    conversation = talk(library, "one")
    library.history.record_samples([(sample(conversation, n, 100 * n), None) for n in (0, 10, 20)])
    after = library.messages(conversation)[-1].id
    switch = SchemeSwitched(conversation, "turbo4", "turbo2", 20, 2000, 900, "requantised", 0.25)
    library.history.record_switch(switch, after)
    library.history.record_samples([(sample(conversation, 20, 900, "turbo2"), None)])
    library.close()
    with Library(path) as again:
        points = [(p.tokens, p.used_bytes, p.scheme) for p in again.history.samples(conversation)]
        assert points == [(0, 0, "turbo4"), (10, 1000, "turbo4"), (20, 2000, "turbo4"), (20, 900, "turbo2")]
        (marker,) = again.history.switches(conversation)
        assert (marker.from_scheme, marker.to_scheme, marker.after_message) == ("turbo4", "turbo2", after)
        assert (marker.tokens, marker.bytes_before, marker.bytes_after) == (20, 2000, 900)
        assert (marker.method, marker.seconds) == ("requantised", 0.25)
        listed = again.conversation(conversation)
        assert (listed.scheme, listed.cached_tokens, listed.cached_bytes) == ("turbo2", 20, 900)


def test_the_chart_stays_small(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_SAMPLES", 100)
    conversation = library.create("turbo4").id
    for start in range(0, 1000, 10):
        library.history.record_samples([(sample(conversation, n, n), None) for n in range(start, start + 10)])
    kept = [point.tokens for point in library.history.samples(conversation)]
    assert len(kept) <= 100
    assert kept == sorted(kept)
    assert kept[-1] == 999
    assert max(b - a for a, b in pairwise([0, *kept])) < 64


def test_samples_of_a_deleted_conversation_are_ignored(library: Library) -> None:
    library.history.record_samples([(sample("gone", 1, 1), None)])
    library.caches.saved(SnapshotSaved("gone", 1, 0.1, 1, "gone.tqcache", "", "turbo4", "f"))
    assert library.history.samples("gone") == []


@pytest.mark.parametrize(
    "damage",
    ["content = NULL", "role = 'wizard'", "state = x'ff'", "parent = 'nobody'", "content = x'c3'", "id = 7.5"],
)
def test_a_damaged_message_hides_no_other(library: Library, path: Path, damage: str) -> None:
    conversation = talk(library, "one", "two", "three")
    before = library.messages(conversation)
    library._db.execute("PRAGMA ignore_check_constraints = ON")
    library._db.execute("PRAGMA writable_schema = ON")
    library._db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'messages'")
    library.close()
    raw = sqlite3.connect(path)
    raw.execute(f"UPDATE messages SET {damage} WHERE id = ?", (before[2].id,))
    raw.commit()
    raw.close()
    with Library(path) as again:
        left = [message.content for message in again.messages(conversation)]
    expected = [message.content for message in before]
    assert [text for text in left if text != "\ufffd"] in (expected, [*expected[:2], *expected[3:]])


def test_a_damaged_conversation_hides_no_other(library: Library) -> None:
    first, second = talk(library, "one"), talk(library, "two")
    library._db.execute("UPDATE conversations SET created = 'yesterday', updated = 1e300 WHERE id = ?", (first,))
    assert [(c.id, c.updated > 0) for c in library.conversations()] == [(second, True), (first, False)]
    library._db.execute("PRAGMA foreign_keys = OFF")
    library._db.execute("UPDATE conversations SET id = 'a/b' WHERE id = ?", (first,))  # no file can be named like this
    assert [c.id for c in library.conversations()] == [second]


def test_what_counts_as_a_scheme() -> None:
    for key in range(10):
        for name in (f"turbo{key}", *(f"turbo{key}v{value}" for value in range(10))):
            try:
                valid = bool(schemes.parse(name))
            except UnknownScheme:
                valid = False
            assert is_scheme(name) is valid
    assert is_scheme("none")
    assert not is_scheme(None)


def test_a_parent_link_in_a_circle_ends(library: Library) -> None:
    conversation = talk(library, "one", "two")
    messages = library.messages(conversation)
    library._db.execute("UPDATE messages SET parent = ? WHERE id = ?", (messages[3].id, messages[0].id))
    assert [m.id for m in library.messages(conversation)] == [m.id for m in messages]


def test_pinned_conversations_come_first(library: Library) -> None:
    first, second, third = (talk(library, text) for text in ("one", "two", "three"))
    library.pin(first, True)
    assert [c.id for c in library.conversations()] == [first, third, second]
    assert library.conversation(first).pinned
    library.pin(first, False)
    assert [c.id for c in library.conversations()] == [third, second, first]


def test_of_a_long_reply_the_curves_bends_are_stored(library: Library) -> None:
    conversation = library.create("turbo4").id
    measured = [sample(conversation, n, 10 * n, "none") for n in range(500)]
    measured += [sample(conversation, n, 3 * n) for n in range(499, 1000)]
    library.history.record_samples([(one, "r") for one in measured])
    kept = [(point.tokens, point.used_bytes) for point in library.history.samples(conversation)]
    assert len(kept) <= 70
    assert {(499, 4990), (999, 2997)} <= set(kept), "where it falls, and its end"
    assert max(b - a for (a, _), (b, _) in pairwise([(0, 0), *kept])) <= 20
