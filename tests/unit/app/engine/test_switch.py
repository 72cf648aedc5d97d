"""Another scheme for a conversation: encoded, requantised, rebuilt or stopped; the text and the tokens stay."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import turboquant
from app.engine.engine import Engine
from app.events import (
    CachePlanned,
    Generate,
    MemorySample,
    SchemeSwitched,
    SwitchFailed,
    SwitchProgress,
    SwitchScheme,
    TurnFinished,
)
from tests.engine_kit import GREEDY, ask, drive, held_tokens, make_model, of, one, ready_engine, transcript

LONG = "And the evening and the morning were the fourth day. " * 12


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    return ready_engine(model, tmp_path / "snapshots")


@pytest.mark.parametrize(
    ("old", "new", "method"),
    [
        ("none", "turbo4", "encoded"),
        ("turbo0v4", "turbo0v2", "requantised"),
        ("turbo4", "turbo2", "requantised"),
        ("turbo2", "turbo4", "rebuilt"),
        ("turbo4", "none", "rebuilt"),
    ],
)
def test_both_sizes_are_measured(engine: Engine, old: str, new: str, method: str) -> None:
    reply = ask(engine, transcript(LONG), old).text
    tokens = held_tokens(engine)
    before = turboquant.report.measure(engine.sessions.held["c"].caches).used_bytes
    events = drive(engine, SwitchScheme("c", new, transcript(LONG, reply)))
    switched = one(SchemeSwitched, events)
    after = turboquant.report.measure(engine.sessions.held["c"].caches)
    assert (switched.from_scheme, switched.to_scheme, switched.method) == (old, new, method)
    assert (switched.bytes_before, switched.bytes_after) == (before, after.used_bytes)
    assert (switched.tokens, held_tokens(engine)) == (len(tokens), tokens)
    assert one(MemorySample, events).used_bytes == after.used_bytes
    assert {layer.scheme for layer in one(CachePlanned, events).layers} == {new}
    assert bool(of(SwitchProgress, events)) == (method == "rebuilt")
    finished = ask(engine, transcript(LONG, reply, "And?"), new)
    assert (finished.scheme, finished.reused_tokens) == (new, len(tokens))


def test_a_rebuild_is_the_prefill_of_the_same_tokens(engine: Engine) -> None:
    """After the detour over turbo2 the reply is that of a cache that never left turbo4 and was prefilled at once."""
    messages = transcript(LONG, "So it was.", "And?")
    ask(engine, messages[:1], "turbo2")
    drive(engine, SwitchScheme("c", "turbo4", messages[:1]))
    session = engine.sessions.held["c"]
    straight = turboquant.make_cache(session.loaded.model, "turbo4")
    *_, done = session.prefill(session.tokens, straight, threading.Event())
    turboquant.plan.compress(straight)
    assert done == len(session.tokens)
    for ours, theirs in zip(session.caches, straight, strict=True):
        assert {n: a.tolist() for n, a in ours.arrays().items()} == {n: a.tolist() for n, a in theirs.arrays().items()}


def test_a_stopped_rebuild_leaves_the_old_cache(engine: Engine) -> None:
    reply = ask(engine, transcript(LONG), "turbo2").text
    twin = ask(engine, transcript(LONG), "turbo2", conversation="twin").text
    assert twin == reply
    events = drive(
        engine,
        SwitchScheme("c", "turbo4", transcript(LONG, reply)),
        stop_when=lambda event: isinstance(event, SwitchProgress) and event.done_tokens > 0,
    )
    assert one(SwitchFailed, events) == SwitchFailed("c", "turbo2", "turbo4", None)
    more = transcript(LONG, reply, "And?")
    assert ask(engine, more, "turbo2").text == ask(engine, more, "turbo2", conversation="twin").text


def test_nothing_cached_and_nothing_changed(engine: Engine) -> None:
    assert one(SchemeSwitched, drive(engine, SwitchScheme("new", "turbo2", ()))).method in ("empty", "unchanged")
    ask(engine, transcript(LONG), "turbo4")
    switched = one(SchemeSwitched, drive(engine, SwitchScheme("c", "turbo4", transcript(LONG))))
    assert (switched.method, switched.bytes_before) == ("unchanged", switched.bytes_after)


def test_an_unknown_scheme_changes_nothing(engine: Engine) -> None:
    reply = ask(engine, transcript(LONG), "turbo4").text
    failed = one(SwitchFailed, drive(engine, SwitchScheme("c", "turbo9", transcript(LONG))))
    assert failed.from_scheme == "turbo4"
    assert failed.error is not None
    assert "turbo4v2" in failed.error.message
    assert ask(engine, transcript(LONG, reply, "And?"), "turbo4").reused_tokens > 0


def test_a_turn_under_another_scheme_switches_first(engine: Engine) -> None:
    """The command's scheme counts, even when no switch was asked for before it."""
    reply = ask(engine, transcript(LONG), "turbo4").text
    events = drive(engine, Generate("c", "r", transcript(LONG, reply, "And?"), "turbo2", GREEDY))
    assert one(SchemeSwitched, events).to_scheme == "turbo2"
    assert one(TurnFinished, events).scheme == "turbo2"
