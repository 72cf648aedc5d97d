"""Turns over one conversation's cache: reuse, stop, limits, failures, and no leak between conversations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import mlx.core as mx
import pytest
from mlx_lm.generate import stream_generate

import turboquant
from app.engine import prompt, turn
from app.engine.engine import Engine
from app.events import (
    BackendNotice,
    CachePlanned,
    ContextFull,
    Event,
    Generate,
    MemorySample,
    PrefillProgress,
    PrefillStarted,
    TokenBatch,
    TurnFailed,
    TurnFinished,
)
from tests.engine_kit import GREEDY, ask, drive, held_tokens, loaded_of, make_model, of, one, ready_engine, transcript

LONG = "In the beginning God created the heaven and the earth. " * 12


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    return ready_engine(model, tmp_path / "snapshots")


@pytest.fixture
def clean(model: Path, tmp_path: Path) -> Engine:
    """Another engine: a conversation begins on no cache of `engine`."""
    return ready_engine(model, tmp_path / "clean")


def test_a_turn_tells_everything_in_order(engine: Engine) -> None:
    events = drive(engine, Generate("c", "r", transcript(LONG), "turbo4", GREEDY))
    kinds = [type(event) for event in events]
    assert kinds[:2] == [PrefillStarted, MemorySample]
    assert kinds[-2:] == [MemorySample, TurnFinished]
    assert kinds.index(CachePlanned) < kinds.index(TokenBatch)
    finished = one(TurnFinished, events)
    assert finished.text == "".join(batch.text for batch in of(TokenBatch, events))
    assert (finished.reason, finished.generated_tokens, finished.scheme) == ("length", 24, "turbo4")
    progress = of(PrefillProgress, events)
    assert progress[-1].done_tokens == progress[-1].total_tokens == finished.prompt_tokens
    assert [layer.scheme for layer in one(CachePlanned, events).layers] == ["turbo4", "turbo4"]


def test_samples_are_measured_and_predict_the_other_schemes(engine: Engine) -> None:
    samples = of(MemorySample, drive(engine, Generate("c", "r", transcript(LONG), "turbo4", GREEDY)))
    first, last = samples[0], samples[-1]
    assert (first.tokens, first.used_bytes) == (0, 0)
    assert last.tokens == len(held_tokens(engine))
    assert last.used_bytes == turboquant.report.measure(engine.sessions.held["c"].caches).used_bytes
    assert last.fp16_bytes == last.tokens * 2 * 2 * 64 * 2 * 2
    assert 0 < last.used_bytes < last.fp16_bytes / 2
    assert last.layers_compressed == last.layers_total == 2
    predicted = dict(last.predicted)
    assert set(predicted) == {scheme.name for scheme in turboquant.schemes.SCHEMES}
    assert predicted["none"] == last.fp16_bytes
    for name, ((zero, none), (bend, raw), (far, packed)) in last.curves:
        per_token = last.fp16_bytes / last.tokens
        assert (zero, none) == (0, 0)
        assert raw == bend * per_token, "until packing begins every scheme is raw"
        assert packed < far * per_token or name == "none"
    assert predicted["turbo2"] < predicted["turbo4"] < predicted["turbo0v4"] < predicted["none"]


def test_tokens_are_told_in_batches(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten tokens a tick of the clock and 30 batches a second: every batch but the first and last holds many."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(turn.time, "perf_counter", lambda: next(ticks) / 1000)
    events = drive(engine, Generate("c", "r", transcript("hi"), "turbo4", replace(GREEDY, max_tokens=200)))
    seconds = next(ticks) / 1000
    assert len(of(TokenBatch, events)) <= seconds * turn.BATCHES_PER_S + 2
    assert len(of(MemorySample, events)) <= seconds * turn.SAMPLES_PER_S + 3


@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo0v4"])
def test_the_reply_is_mlx_lms_own(engine: Engine, scheme: str) -> None:
    """Greedy, over the same kind of cache, with the same steps of prefill."""
    finished = ask(engine, transcript(LONG), scheme)
    loaded = engine._loaded
    assert loaded is not None
    ids = prompt.encode(loaded.tokenizer, loaded.format.render(transcript(LONG), GREEDY).text)
    caches = turboquant.make_cache(loaded.model, scheme)
    steps = stream_generate(
        loaded.model, loaded.tokenizer, ids, max_tokens=24, prompt_cache=caches, prefill_step_size=128
    )
    expected = [step.token for step in steps]
    assert held_tokens(engine) == [*ids, *expected]
    assert finished.text == loaded.tokenizer.decode(expected)


def test_five_turns_prefill_only_what_is_new(engine: Engine) -> None:
    texts: list[str] = []
    for number in range(5):
        texts.append(f"Question {number}: {LONG[: 40 * number]}")
        before = held_tokens(engine) if number else []
        finished = ask(engine, transcript(*texts))
        assert finished.reused_tokens == len(before)
        assert held_tokens(engine)[: len(before)] == before
        texts.append(finished.text)


def test_regenerating_reuses_the_prompt(engine: Engine) -> None:
    first = ask(engine, transcript(LONG), "none")
    second = ask(engine, transcript(LONG), "none")
    assert second.text == first.text
    assert second.reused_tokens == second.prompt_tokens - 1


def test_a_short_tail_that_is_cut_back_begins_afresh(engine: Engine) -> None:
    first = ask(engine, transcript("hi"))
    second = ask(engine, transcript("hi"))
    assert (second.text, second.reused_tokens) == (first.text, 0)


def test_an_edited_message_keeps_what_stands_before_it(engine: Engine) -> None:
    ask(engine, transcript(LONG, "Indeed.", "What then?"), "none")
    edited = transcript(LONG, "Indeed.", "And he said more?")
    finished = ask(engine, edited, "none")
    assert finished.reused_tokens > 500
    ask(engine, edited, "none", conversation="fresh")
    count = finished.prompt_tokens
    assert held_tokens(engine)[:count] == held_tokens(engine, "fresh")[:count]
    for name in ("tail_keys", "tail_values"):
        kept, fresh = (getattr(engine.sessions.held[one_].caches[1], name).view(0, count) for one_ in ("c", "fresh"))
        assert mx.allclose(kept, fresh, atol=0.02).item()


def test_the_seed_fixes_a_sampled_reply(engine: Engine) -> None:
    params = replace(GREEDY, temperature=1.5, top_p=0.9, top_k=40, min_p=0.01, seed=5)
    texts = {ask(engine, transcript("hi"), params=params, conversation=name).text for name in "abc"}
    assert len(texts) == 1
    other = ask(engine, transcript("hi"), params=replace(params, seed=6), conversation="d").text
    assert other not in texts


def test_an_end_token_ends_the_reply_and_leaves_the_cache(engine: Engine, clean: Engine) -> None:
    loaded = engine._loaded
    assert loaded is not None
    whole = ask(clean, transcript(LONG))
    reply = held_tokens(clean)[whole.prompt_tokens :]
    place = next(i for i in range(5, len(reply)) if reply[i] not in reply[:i])
    engine._loaded = replace(loaded, end_tokens=frozenset({reply[place]}))
    finished = ask(engine, transcript(LONG), conversation="b")
    assert (finished.reason, finished.generated_tokens) == ("stop", place)
    assert held_tokens(engine, "b")[finished.prompt_tokens :] == reply[:place]


# ---------------------------------------------------------------- stop


def _after_tokens(count: int) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, TokenBatch) and event.generated_tokens >= count


@pytest.fixture
def every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "BATCHES_PER_S", 10**9)


@pytest.mark.usefixtures("every_token")
@pytest.mark.parametrize("scheme", ["none", "turbo4", "turbo2", "turbo0v4"])
@pytest.mark.parametrize("count", [1, 7])
def test_stopped_at_token_n_is_as_if_n_were_the_limit(engine: Engine, scheme: str, count: int) -> None:
    command = Generate("a", "r", transcript(LONG), scheme, GREEDY)
    stopped = one(TurnFinished, drive(engine, command, stop_when=_after_tokens(count)))
    assert stopped.reason == "interrupted"
    limited = ask(
        engine, transcript(LONG), scheme, replace(GREEDY, max_tokens=stopped.generated_tokens), conversation="b"
    )
    assert limited.text == stopped.text
    more = transcript(LONG, stopped.text, "And?")
    after = [ask(engine, more, scheme, conversation=name) for name in "ab"]
    assert after[0].text == after[1].text
    assert after[0].reused_tokens == after[1].reused_tokens > 500


@pytest.mark.parametrize("scheme", ["none", "turbo4"])
def test_stopped_during_prefill_keeps_what_was_computed(engine: Engine, clean: Engine, scheme: str) -> None:
    command = Generate("a", "r", transcript(LONG), scheme, GREEDY)
    events = drive(engine, command, stop_when=lambda e: isinstance(e, PrefillProgress) and e.done_tokens > 200)
    stopped = one(TurnFinished, events)
    assert (stopped.reason, stopped.text, stopped.generated_tokens) == ("interrupted", "", 0)
    assert len(held_tokens(engine, "a")) == 256
    again = ask(engine, transcript(LONG), scheme, conversation="a")
    assert again.reused_tokens == 256
    assert again.text == ask(clean, transcript(LONG), scheme).text


def test_stopped_before_it_began(engine: Engine) -> None:
    stop = threading.Event()
    stop.set()
    stopped = one(TurnFinished, drive(engine, Generate("a", "r", transcript(LONG), "turbo4", GREEDY), stop))
    assert (stopped.reason, stopped.text) == ("interrupted", "")
    assert held_tokens(engine, "a") == []


# ---------------------------------------------------------------- limits


@pytest.fixture(scope="module")
def short_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "short", context=200)


def test_a_prompt_at_the_limit(short_model: Path, tmp_path: Path) -> None:
    """One token less than the limit is answered, the limit too, one more asks; nothing is generated or cut then."""
    engine = ready_engine(short_model, tmp_path / "s")
    params = replace(GREEDY, max_tokens=20)
    loaded = engine._loaded
    assert loaded is not None
    template = len(prompt.encode(loaded.tokenizer, loaded.format.render(transcript(""), GREEDY).text))
    for length, fits in ((179, True), (180, True), (181, False)):
        messages = transcript("x" * (length - template))
        events = drive(engine, Generate("c", "r", messages, "turbo4", params))
        if fits:
            assert one(TurnFinished, events).prompt_tokens == length
        else:
            assert one(ContextFull, events) == ContextFull("c", "r", length, 200, 0)
            assert not of(PrefillStarted, events)


def test_the_turns_to_drop_are_counted(short_model: Path, tmp_path: Path) -> None:
    engine = ready_engine(short_model, tmp_path / "s")
    messages = transcript("a" * 60, "b", "c" * 60, "d", "e" * 60)
    full = one(ContextFull, drive(engine, Generate("c", "r", messages, "turbo4", GREEDY)))
    assert full.droppable_turns == 1
    assert ask(engine, messages[2 * full.droppable_turns :]).reason == "length"


def test_a_few_tries_tell_how_many_of_many_turns_to_drop(
    short_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ready_engine(short_model, tmp_path / "s")
    chat_format = loaded_of(engine).format
    spy = Mock(wraps=chat_format.render)
    monkeypatch.setattr(chat_format, "render", spy)
    messages = transcript(*["a" * 30] * 401)
    turns = one(ContextFull, drive(engine, Generate("c", "r", messages, "turbo4", GREEDY))).droppable_turns
    assert spy.call_count < 20
    kept = messages[2 * turns - 2 :]
    assert one(ContextFull, drive(engine, Generate("c", "r", kept, "turbo4", GREEDY))).droppable_turns == 1
    assert ask(engine, kept[2:]).reason == "length"


def test_the_context_ends_a_reply(short_model: Path, tmp_path: Path) -> None:
    engine = ready_engine(short_model, tmp_path / "s")
    engine._loaded = replace(engine._loaded, end_tokens=frozenset())  # type: ignore[type-var]
    finished = ask(engine, transcript("x" * 100), params=replace(GREEDY, max_tokens=40))
    assert (finished.reason, finished.generated_tokens) == ("length", 40)
    with_room = finished.prompt_tokens
    engine._loaded = replace(engine._loaded, info=replace(engine._loaded.info, context_tokens=with_room + 256))  # type: ignore[type-var, union-attr]
    finished = ask(engine, transcript("y" * 100), params=replace(GREEDY, max_tokens=5000), conversation="d")
    assert (finished.reason, finished.generated_tokens) == ("length", 256)


# ---------------------------------------------------------------- conversations, failures


@pytest.mark.parametrize("scheme", ["none", "turbo4"])
def test_conversations_dont_leak(engine: Engine, clean: Engine, scheme: str) -> None:
    secret = ask(engine, transcript("The secret word is heron. " + LONG), scheme, conversation="a").text
    other = ask(engine, transcript(LONG), scheme, conversation="b")
    assert other.reused_tokens == 0
    assert other.text == ask(clean, transcript(LONG), scheme, conversation="b").text
    back = transcript("The secret word is heron. " + LONG, secret, "Which word?")
    ask(clean, back[:1], scheme, conversation="a")
    assert ask(engine, back, scheme, conversation="a").text == ask(clean, back, scheme, conversation="a").text


@pytest.mark.usefixtures("every_token")
def test_a_failure_keeps_what_was_said_and_the_next_turn_works(engine: Engine, clean: Engine) -> None:
    loaded = engine._loaded
    assert loaded is not None
    whole = ask(clean, transcript(LONG)).text
    engine._loaded = replace(loaded, model=_Failing(loaded.model, after=12))
    events = drive(engine, Generate("c", "r", transcript(LONG), "turbo4", GREEDY))
    failed = one(TurnFailed, events)
    assert "out of memory" in failed.error.message
    told = "".join(batch.text for batch in of(TokenBatch, events))
    assert told
    assert whole.startswith(told)
    engine.sessions.held["c"].loaded = engine._loaded = loaded
    assert ask(engine, transcript(LONG)).text == whole


def test_an_unknown_scheme_lists_the_valid_ones(engine: Engine) -> None:
    failed = one(TurnFailed, drive(engine, Generate("c", "r", transcript("hi"), "turbo5", GREEDY)))
    assert "turbo4v2" in failed.error.message


class _Failing:
    """The real model until its nth call."""

    def __init__(self, model: Any, after: int) -> None:
        self._model, self._left = model, after
        self.layers, self.args = model.layers, model.args

    def __call__(self, tokens: mx.array, cache: Any = None) -> mx.array:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("[malloc] out of memory")
        return self._model(tokens, cache=cache)


@pytest.mark.parametrize("fails", [False, True])
def test_a_notice_of_the_backend_is_passed_on_once_and_when_it_appears(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """As on a GPU, where a kernel is checked at its first use: in the midst of a reply."""
    backend = turboquant.backends.choose()
    attend = backend.attend

    def refused(*arguments: Any) -> mx.array:
        monkeypatch.setattr(backend, "notice", "The GPU kernel tq_attend doesn't serve here.")
        if fails:
            raise RuntimeError("out of memory")
        return attend(*arguments)

    monkeypatch.setattr(backend, "attend", refused)
    command = Generate("c", "r", transcript("Hello"), "turbo4", GREEDY)
    events = drive(engine, command)
    assert one(BackendNotice, events).notice == "The GPU kernel tq_attend doesn't serve here."
    kinds = [type(event) for event in events]
    if not fails:
        assert kinds.index(BackendNotice) < kinds.index(TurnFinished)
    assert not of(BackendNotice, drive(engine, command))
