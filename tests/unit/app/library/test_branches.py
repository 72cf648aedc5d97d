"""Messages as a tree: editing, answering again, showing another branch, and what damage does to it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.events import TurnFinished
from app.library.conversations import Library
from app.library.records import Message


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "library.db") as opened:
        yield opened


def answer(library: Library, user: Message, text: str) -> Message:
    reply = library.begin_reply(user.conversation, "turbo4", user.id)
    library.finish_reply(TurnFinished(user.conversation, reply.id, "stop", "turbo4", text, 1, 0, 1, 1.0, 1.0))
    return reply


def talk(library: Library, *questions: str) -> str:
    conversation = library.create("turbo4").id
    for question in questions:
        answer(library, library.add_user_message(conversation, question), question.upper())
    return conversation


def shown(library: Library, conversation: str) -> list[str]:
    return [message.content for message in library.messages(conversation)]


def ids(library: Library, conversation: str) -> list[str]:
    return [message.id for message in library.messages(conversation)]


def test_an_edited_message_is_a_branch_and_the_old_one_stays(library: Library) -> None:
    conversation = talk(library, "a", "b", "c")
    b = library.messages(conversation)[2]
    other = library.edit(b, "x")
    answer(library, other, "X")
    assert shown(library, conversation) == ["a", "A", "x", "X"]
    branch, versions = library.branch(conversation)
    assert versions == {branch[2].id: (b.id, other.id)}
    library.show(conversation, b.id)
    assert shown(library, conversation) == ["a", "A", "b", "B", "c", "C"]
    assert list(library.branch(conversation)[1]) == [b.id]


def test_the_first_message_can_be_edited_too(library: Library) -> None:
    conversation = talk(library, "a", "b")
    first = library.messages(conversation)[0]
    other = library.edit(first, "z")
    assert shown(library, conversation) == ["z"]
    assert library.branch(conversation)[1] == {other.id: (first.id, other.id)}
    library.remove_message(other.id)
    assert shown(library, conversation) == ["a", "A", "b", "B"], "what was shown before is shown again"
    assert library.branch(conversation)[1] == {}


def test_the_title_follows_the_first_message_until_the_user_chooses_one(library: Library) -> None:
    conversation = talk(library, "What is a barometr?", "b")
    library.edit(library.messages(conversation)[0], "What is a barometer? Be brief.")
    assert library.conversation(conversation).title == "What is a barometer?"
    library.rename(conversation, "Weather")
    library.edit(library.messages(conversation)[0], "And a thermometer?")
    assert library.conversation(conversation).title == "Weather"


def test_a_branch_is_shown_to_the_end_it_had(library: Library, tmp_path: Path) -> None:
    conversation = talk(library, "a", "b")
    a, first, b, _ = library.messages(conversation)
    second = answer(library, a, "A2")
    assert shown(library, conversation) == ["a", "A2"]
    answer(library, library.add_user_message(conversation, "d"), "D")
    library.show(conversation, first.id)
    third = answer(library, b, "B2")
    library.show(conversation, library.branch(conversation)[1][third.id][0])
    assert shown(library, conversation) == ["a", "A", "b", "B"]
    library.show(conversation, second.id)
    library.close()
    with Library(tmp_path / "library.db") as again:
        assert shown(again, conversation) == ["a", "A2", "d", "D"]
        again.show(conversation, first.id)
        assert shown(again, conversation) == ["a", "A", "b", "B"], "not the newest below it, but the one shown last"
        again.show(conversation, third.id)
        again.show(conversation, second.id)
        again.show(conversation, first.id)
        assert shown(again, conversation) == ["a", "A", "b", "B2"]
        answer(again, b, "B3")
        again.show(conversation, second.id)
        again.show(conversation, a.id)
        assert shown(again, conversation) == ["a", "A2", "d", "D"]
        again.show(conversation, first.id)
        assert shown(again, conversation) == ["a", "A", "b", "B3"]
        with pytest.raises(KeyError):
            again.show(conversation, "nobody")


def test_left_out_turns_belong_to_their_branch(library: Library) -> None:
    conversation = talk(library, "a", "b", "c")
    b, c = library.messages(conversation)[2], library.messages(conversation)[4]
    library.start_context(c.id)
    other = library.edit(b, "x")
    assert not any(m.starts_context for m in library.messages(conversation))
    library.show(conversation, b.id)
    edited = library.edit(library.message(c.id), "y")
    assert library.message(edited.id).starts_context, "the model reads from there on, whatever is said there"
    assert not library.message(other.id).starts_context


def test_a_message_with_answers_cannot_be_taken_back(library: Library) -> None:
    conversation = talk(library, "a")
    with pytest.raises(KeyError):
        library.remove_message(library.messages(conversation)[0].id)
    assert shown(library, conversation) == ["a", "A"]


def test_a_reply_taken_back_shows_the_earlier_one(library: Library) -> None:
    conversation = talk(library, "a", "b")
    a = library.messages(conversation)[0]
    library.remove_message(library.begin_reply(conversation, "turbo4", a.id).id)
    assert shown(library, conversation) == ["a", "A", "b", "B"]


@pytest.mark.parametrize(
    "damage",
    ["id = 'a/b'", "role = 'wizard'", "parent = 'nobody'", "parent = x'ff'", "shown = 'nobody'", "shown = 7.5",
     "shown = id", "parent = id", "starts_context = 'x'", "starts_context = 7", "state = ''"],
)  # fmt: skip
def test_a_damaged_message_hides_no_branch(library: Library, tmp_path: Path, damage: str) -> None:
    conversation = talk(library, "a", "b", "c")
    before = library.messages(conversation)
    answer(library, library.edit(before[2], "x"), "X")
    answer(library, before[0], "A2")
    library.close()
    for place in range(4):
        with sqlite3.connect(tmp_path / "library.db") as raw:
            rows = dict(raw.execute("SELECT id, seq FROM messages").fetchall())
            kept = raw.execute("SELECT * FROM messages WHERE id = ?", (before[place].id,)).fetchone()
            raw.execute(f"UPDATE messages SET {damage} WHERE id = ?", (before[place].id,))
        raw.close()
        with Library(tmp_path / "library.db") as again:
            seen = set()
            for message in rows:
                if message == before[place].id and damage.startswith(("id", "role")):
                    continue
                again.show(conversation, message)
                seen |= {m.content for m in again.messages(conversation)}
            lost = {before[place].content} if damage.startswith(("id", "role")) else set()
            assert seen == {"a", "A", "b", "B", "c", "C", "x", "X", "A2"} - lost
            clicked = walk(again, conversation)
        if not lost:
            assert clicked == set(rows), "‹ and › reach all"
        with sqlite3.connect(tmp_path / "library.db") as raw:
            raw.execute("DELETE FROM messages WHERE seq = ?", (kept[0],))
            raw.execute(f"INSERT INTO messages VALUES ({','.join('?' * len(kept))})", kept)
        raw.close()


def walk(library: Library, conversation: str) -> set[str]:
    """Every message that ‹ and › bring on screen."""
    seen: set[str] = set()
    todo = [library.messages(conversation)[-1].id]
    while todo:
        library.show(conversation, todo.pop())
        branch, versions = library.branch(conversation)
        fresh = {other for others in versions.values() for other in others} - seen - {m.id for m in branch}
        seen |= {m.id for m in branch} | fresh
        todo += fresh
    return seen


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(["say", "edit", "again", "show"]), st.integers(0, 30)), max_size=25))
def test_any_order_of_steps(library: Library, steps: list[tuple[str, int]]) -> None:
    """What is shown is a chain from a first message to an end, and an edit keeps what stands before it."""
    conversation = talk(library, "start")
    names = map(str, itertools.count())
    first = ids(library, conversation)
    last = dict.fromkeys(first, first)  # by message: the branch that was shown last with it
    for step, choice in steps:
        branch = library.messages(conversation)
        picked = branch[choice % len(branch)]
        if step == "say":
            answer(library, library.add_user_message(conversation, next(names)), next(names))
        elif step == "edit" and picked.role == "user":
            answer(library, library.edit(picked, next(names)), next(names))
            assert ids(library, conversation)[:-2] == [m.id for m in branch[: branch.index(picked)]]
        elif step == "again" and picked.role == "assistant":
            answer(library, branch[branch.index(picked) - 1], next(names))
            assert ids(library, conversation)[:-1] == [m.id for m in branch[: branch.index(picked)]]
        elif step == "show" and (versions := library.branch(conversation)[1]):
            others = versions[list(versions)[choice % len(versions)]]
            other = others[choice % len(others)]
            library.show(conversation, other)
            assert ids(library, conversation) == last[other]
        branch = library.messages(conversation)
        for parent, child in itertools.pairwise(branch):
            assert child.parent == parent.id
        last |= {message.id: [m.id for m in branch] for message in branch}
