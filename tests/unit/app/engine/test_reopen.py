"""Caches that leave memory and come back: after quitting, or because other conversations needed the room."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import (
    DiscardCache,
    Generate,
    MemorySample,
    OpenConversation,
    SaveSnapshots,
    SnapshotLoaded,
    SnapshotNotSaved,
    SnapshotRejected,
    SnapshotSaved,
    SwitchScheme,
    TurnFinished,
)
from tests.engine_kit import GREEDY, ask, drive, held_tokens, make_model, of, one, ready_engine, saved_files, transcript
from turboquant.schemes import SCHEMES

LONG = "And God saw every thing that he had made, and, behold, it was very good. " * 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


LENGTHS = {"short": 1, "just packed": 60, "long": 1500}
QUICK = {("turbo4", name) for name in LENGTHS} | {("none", "long"), ("turbo0v4", "just packed")}


@pytest.mark.parametrize(
    ("scheme", "length"),
    [
        pytest.param(
            scheme.name,
            length,
            id=f"{scheme}-{name}",
            marks=() if (scheme.name, name) in QUICK else pytest.mark.slow,
        )
        for scheme in SCHEMES
        for name, length in LENGTHS.items()
    ],
)
def test_the_reply_after_reopening_is_the_reply_without(model: Path, tmp_path: Path, scheme: str, length: int) -> None:
    text = (LONG * 3)[:length]
    engine = ready_engine(model, tmp_path)
    reply = ask(engine, transcript(text), scheme).text
    saved = one(SnapshotSaved, list(engine.close()))
    assert saved.snapshot_bytes == saved_files(tmp_path)[0].stat().st_size

    stays = ready_engine(model, tmp_path / "stays")
    assert ask(stays, transcript(text), scheme).text == reply
    tokens = held_tokens(stays)

    reopened = ready_engine(model, tmp_path)
    events = drive(reopened, OpenConversation("c", transcript(text, reply), scheme))
    loaded = one(SnapshotLoaded, events)
    assert (loaded.tokens, loaded.scheme, loaded.snapshot_bytes) == (len(tokens), scheme, saved.snapshot_bytes)
    assert one(MemorySample, events).tokens == len(tokens)
    said = [text, reply]
    for question in ("And then?", "What else?"):
        messages = transcript(*said, question)
        with_it, without = ask(reopened, messages, scheme), ask(stays, messages, scheme)
        assert with_it.text == without.text
        assert with_it.reused_tokens == without.reused_tokens
        said += [question, without.text]
    assert held_tokens(reopened) == held_tokens(stays)


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo0v2"])
def test_a_cache_of_one_token(model: Path, tmp_path: Path, scheme: str) -> None:
    engine = ready_engine(model, tmp_path)
    drive(engine, OpenConversation("c", (), scheme))
    session = engine.sessions.held["c"]
    first = session.loaded.tokenizer.convert_tokens_to_ids("<|im_start|>")
    *_, done = session.prefill([first], session.caches, threading.Event())
    session.tokens, session.dirty = [first], True
    assert done == 1
    one(SnapshotSaved, drive(engine, SaveSnapshots()))
    reopened = ready_engine(model, tmp_path)
    assert one(SnapshotLoaded, drive(reopened, OpenConversation("c", (), scheme))).tokens == 1
    after = [ask(at, transcript("hi"), scheme) for at in (engine, reopened)]
    assert after[0].text == after[1].text
    assert [turn.reused_tokens for turn in after] == [1, 1]


def test_an_empty_cache_leaves_no_file(model: Path, tmp_path: Path) -> None:
    engine = ready_engine(model, tmp_path)
    drive(engine, OpenConversation("c", (), "turbo4"))
    assert list(engine.close()) == []
    assert not list(tmp_path.iterdir())


def test_only_what_changed_is_written(model: Path, tmp_path: Path) -> None:
    engine = ready_engine(model, tmp_path, kept_sessions=8)
    replies = {name: ask(engine, transcript(LONG), conversation=name).text for name in "abcde"}
    assert len(of(SnapshotSaved, drive(engine, SaveSnapshots()))) == 5
    assert drive(engine, SaveSnapshots()) == []
    ask(engine, transcript(LONG, replies["c"], "And?"), conversation="c")
    assert [saved.conversation_id for saved in of(SnapshotSaved, list(engine.close()))] == ["c"]


def test_reopening_doesnt_write_and_switching_does(model: Path, tmp_path: Path) -> None:
    ask(engine := ready_engine(model, tmp_path), transcript(LONG))
    list(engine.close())
    reopened = ready_engine(model, tmp_path)
    drive(reopened, OpenConversation("c", transcript(LONG), "turbo4"))
    assert drive(reopened, SaveSnapshots()) == []
    drive(reopened, SwitchScheme("c", "turbo2", transcript(LONG)))
    one(SnapshotSaved, drive(reopened, SaveSnapshots()))
    last = ready_engine(model, tmp_path)
    assert one(SnapshotLoaded, drive(last, OpenConversation("c", transcript(LONG), "turbo2"))).scheme == "turbo2"


def test_conversations_used_long_ago_make_room(model: Path, tmp_path: Path) -> None:
    engine = ready_engine(model, tmp_path, kept_sessions=2)
    replies = {name: ask(engine, transcript(LONG + name), conversation=name).text for name in "abc"}
    assert list(engine.sessions.held) == ["b", "c"]
    events = drive(engine, Generate("a", "r", transcript(LONG + "a", replies["a"], "And?"), "turbo4", GREEDY))
    one(SnapshotLoaded, events)
    stays = ready_engine(model, tmp_path / "stays")
    ask(stays, transcript(LONG + "a"), conversation="a")
    expected = ask(stays, transcript(LONG + "a", replies["a"], "And?"), conversation="a")
    assert one(TurnFinished, events).text == expected.text


def test_a_byte_budget_makes_room_too(model: Path, tmp_path: Path) -> None:
    engine = ready_engine(model, tmp_path, kept_bytes=1)
    for name in "ab":
        ask(engine, transcript(LONG), conversation=name)
    drive(engine, OpenConversation("b", transcript(LONG), "turbo4"))
    assert list(engine.sessions.held) == ["b"]
    assert saved_files(tmp_path, "a")


def test_discarding_forgets_memory_and_file(model: Path, tmp_path: Path) -> None:
    ask(engine := ready_engine(model, tmp_path), transcript(LONG))
    drive(engine, SaveSnapshots())
    drive(engine, DiscardCache("c"))
    assert not list(tmp_path.iterdir())
    assert ask(engine, transcript(LONG)).reused_tokens == 0


def test_another_scheme_or_model_rejects_the_file_and_keeps_the_text(model: Path, tmp_path: Path) -> None:
    reply = ask(engine := ready_engine(model, tmp_path), transcript(LONG), "turbo4").text
    list(engine.close())
    other = make_model(tmp_path / "models" / "other", seed=9)
    for folder, scheme, words in ((model, "turbo2", "turbo4"), (other, "turbo4", "another model")):
        opened = ready_engine(folder, tmp_path)
        events = drive(opened, OpenConversation("c", transcript(LONG, reply), scheme))
        assert words in one(SnapshotRejected, events).reason
        finished = ask(opened, transcript(LONG, reply, "And?"), scheme)
        assert finished.reused_tokens == 0
        assert finished.text


def test_an_unknown_scheme_doesnt_cost_the_file(model: Path, tmp_path: Path) -> None:
    ask(engine := ready_engine(model, tmp_path), transcript(LONG))
    list(engine.close())
    opened = ready_engine(model, tmp_path)
    assert "turbo4v2" in one(SnapshotRejected, drive(opened, OpenConversation("c", (), "turbo5"))).reason
    one(SnapshotLoaded, drive(opened, OpenConversation("c", (), "turbo4")))


def test_a_disk_that_refuses_costs_only_the_cache(model: Path, tmp_path: Path) -> None:
    ask(engine := ready_engine(model, tmp_path / "s"), transcript(LONG))
    (tmp_path / "s").rmdir()
    (tmp_path / "s").write_text("not a folder")
    assert one(SnapshotNotSaved, drive(engine, SaveSnapshots())).reason
    assert ask(engine, transcript(LONG), params=replace(GREEDY, max_tokens=2)).reason == "length"
    (tmp_path / "s").unlink()
    (tmp_path / "s").mkdir()
    one(SnapshotSaved, drive(engine, SaveSnapshots()))  # tried again, and then done
    assert drive(engine, SaveSnapshots()) == []
