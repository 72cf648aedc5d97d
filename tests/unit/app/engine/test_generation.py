"""What a reply is made with, over a real cache: stop strings, penalty, seed, thoughts; how much is computed again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app import generation
from app.engine import prompt, session
from app.engine.engine import Engine
from app.engine.stops import StopFinder
from app.events import CountTokens, Generate, LoadModel, ModelLoaded, PrefillStarted, TokensCounted, TurnFinished
from tests.engine_kit import (
    CHATML,
    GREEDY,
    add_special_tokens,
    ask,
    drive,
    held_tokens,
    loaded_of,
    make_model,
    one,
    ready_engine,
    transcript,
)  # fmt: skip
from tests.unit.app.engine.chat_templates import DEEPSEEK_R1, GEMMA, KEEPS_THOUGHTS, SPECIAL

SEEDED = replace(GREEDY, temperature=0.8, seed=5)  # says the same again, whichever cache is at hand
LONG = "In the beginning God created the heaven and the earth. " * 12


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Path]:
    made: dict[str | None, Path] = {}

    def make(template: str | None = CHATML) -> Path:
        if template not in made:
            folder = make_model(tmp_path_factory.mktemp("models") / "tiny", chat_template=template)
            add_special_tokens(folder, *SPECIAL.get(template or "", ()))
            made[template] = folder
        return made[template]

    return make


@pytest.fixture
def engine(models: Callable[[str | None], Path], tmp_path: Path) -> Engine:
    return ready_engine(models(CHATML), tmp_path / "snapshots")


def spelled(engine: Engine, conversation: str = "c") -> str:
    return prompt.decode(loaded_of(engine).tokenizer, held_tokens(engine, conversation))


# ---------------------------------------------------------------- stop strings


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stop_string_is_found_across_the_edges_of_tokens(size: int) -> None:
    text = "one, two, <sto three <stop> four"
    for stops, shown in ((("<stop>",), "one, two, <sto three "), (("four", "two"), "one, "), (("none",), text)):
        finder = StopFinder(stops)
        pieces = [finder.push(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(pieces) + finder.finish() == shown
        assert finder.found == (shown != text)


@pytest.mark.parametrize("scheme", [pytest.param("none", marks=pytest.mark.slow), "turbo4"])
def test_nothing_of_a_stop_string_is_shown_or_cached(engine: Engine, scheme: str) -> None:
    whole = ask(engine, transcript(LONG), scheme, SEEDED, conversation="whole")
    for start, length in ((4, 3), (9, 1), (1, 12)):
        stop = whole.text[start : start + length]
        before = whole.text[: whole.text.index(stop)]
        name = f"{start}"
        cut = ask(engine, transcript(LONG), scheme, replace(SEEDED, stop=("never", stop)), conversation=name)
        assert (cut.reason, cut.text) == ("stop", before)
        written = spelled(engine, name).rpartition("<|im_start|>assistant\n")[2]
        assert before.startswith(written)
        assert len(before) - len(written) < 6  # what shares a token with the stop string
        assert cut.generated_tokens == len(held_tokens(engine, name)) - cut.prompt_tokens
        more = ask(engine, transcript(LONG, before, "And?"), scheme, SEEDED, conversation=name)
        assert more.reused_tokens >= cut.prompt_tokens
        text = spelled(engine, name)
        assert f"assistant\n{before}<|im_end|>\n<|im_start|>user\nAnd?" in text


def test_a_stop_string_may_be_the_first_thing_said(engine: Engine) -> None:
    first = ask(engine, transcript(LONG), params=SEEDED, conversation="whole").text[:2]
    cut = ask(engine, transcript(LONG), params=replace(SEEDED, stop=(first,)))
    assert (cut.text, cut.generated_tokens, cut.reason) == ("", 0, "stop")
    assert len(held_tokens(engine)) == cut.prompt_tokens


def test_what_only_begins_like_a_stop_string_is_shown(engine: Engine) -> None:
    whole = ask(engine, transcript(LONG), params=SEEDED, conversation="whole").text
    assert ask(engine, transcript(LONG), params=replace(SEEDED, stop=(whole[-3:] + "never",))).text == whole


# ---------------------------------------------------------------- sampling


def test_a_penalty_keeps_words_from_coming_again(engine: Engine) -> None:
    """Of the prompt too, as far back as it reaches; 1 changes nothing."""
    plain = ask(engine, transcript(LONG), params=SEEDED, conversation="plain").text
    params = replace(SEEDED, repetition_penalty=1.0, repetition_context=8)
    assert ask(engine, transcript(LONG), params=params, conversation="one").text == plain
    texts = {}
    for reach in (8, 500):
        params = replace(SEEDED, repetition_penalty=2.0, repetition_context=reach)
        texts[reach] = ask(engine, transcript(LONG), params=params, conversation=str(reach)).text
    held = held_tokens(engine, "8")
    assert all(len(set(held[at : at + 8])) == 8 for at in range(len(held) - 20, len(held) - 8))
    assert len({plain, *texts.values()}) == 3


@pytest.mark.parametrize("scheme", [*(pytest.param(s, marks=pytest.mark.slow) for s in ("none", "turbo0v4")), "turbo4"])
def test_the_same_seed_says_the_same(engine: Engine, scheme: str) -> None:
    """In another conversation, again in the same one, and in its next turn; the next turn still reuses the cache."""
    params = replace(GREEDY, temperature=1.2, top_p=0.9, repetition_penalty=1.1, seed=11)
    first = [ask(engine, transcript(LONG), scheme, params, conversation=name).text for name in "aab"]
    assert len(set(first)) == 1
    more = transcript(LONG, first[0], LONG)
    second = [ask(engine, more, scheme, params, conversation=name) for name in "aab"]
    assert len({turn.text for turn in second}) == 1
    assert {turn.reused_tokens for turn in second} == {len(held_tokens(engine, "b")) - 24 - _new(second[0])}
    assert ask(engine, more, scheme, replace(params, seed=12), conversation="a").text != second[0].text
    edited = transcript(LONG + "And so on.", first[0], LONG)
    third = {ask(engine, edited, scheme, params, conversation=name).text for name in "ac"}
    assert len(third) == 1


def _new(turn: TurnFinished) -> int:
    return turn.prompt_tokens - turn.reused_tokens


def test_more_kinds_of_tokens_than_there_are_is_no_limit(engine: Engine) -> None:
    params = replace(GREEDY, temperature=1.0, seed=3)
    assert (
        ask(engine, transcript("hi"), params=replace(params, top_k=1000)).text
        == ask(engine, transcript("hi"), params=params, conversation="d").text
    )


def test_the_models_own_settings_are_told(models: Callable[[str | None], Path], tmp_path: Path) -> None:
    settings = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": -1, "eos_token_id": [3, 4], "do_sample": True}
    folder = make_model(tmp_path / "other")
    (folder / "generation_config.json").write_text(json.dumps(settings))
    engine = ready_engine(models(CHATML), tmp_path / "snapshots")
    told = one(ModelLoaded, drive(engine, LoadModel(str(folder)))).model
    assert dict(told.generation) == {"temperature": 0.6, "top_p": 0.95, "top_k": 20}
    assert (told.thinking, told.format_notice) == (None, "")
    assert generation.of_model({"do_sample": False, "temperature": 0.7}) == {"temperature": 0.0}
    assert {3, 4} < loaded_of(engine).end_tokens


def test_the_templates_end_mark_ends_a_reply_that_no_config_ends(
    models: Callable[[str | None], Path], tmp_path: Path
) -> None:
    """As with Gemma, whose files name <eos> alone."""
    loaded = loaded_of(ready_engine(models(GEMMA), tmp_path / "snapshots"))
    (mark,) = prompt.encode(loaded.tokenizer, "<end_of_turn>")
    assert mark in loaded.end_tokens
    assert mark not in loaded.tokenizer.eos_token_ids


# ---------------------------------------------------------------- thoughts, and what is computed again


@pytest.mark.parametrize("template", [KEEPS_THOUGHTS, DEEPSEEK_R1])
def test_a_reply_begins_with_the_mark_that_the_prompt_opened(
    models: Callable[[str | None], Path], tmp_path: Path, template: str
) -> None:
    engine = ready_engine(models(template), tmp_path / "snapshots")
    events = drive(engine, Generate("c", "r", transcript(LONG), "turbo4", GREEDY))
    finished = one(TurnFinished, events)
    assert finished.text.startswith("<think>\n")
    assert finished.text == "".join(event.text for event in events if hasattr(event, "text") and event is not finished)
    stop = threading.Event()
    stop.set()
    assert one(TurnFinished, drive(engine, Generate("d", "r", transcript(LONG), "turbo4", GREEDY), stop)).text == ""


@pytest.mark.parametrize("scheme", [pytest.param("none", marks=pytest.mark.slow), "turbo4"])
@pytest.mark.parametrize("template", [KEEPS_THOUGHTS, DEEPSEEK_R1])
def test_five_turns_of_thoughts_compute_the_tail_only(
    models: Callable[[str | None], Path], tmp_path: Path, template: str, scheme: str
) -> None:
    """Where thoughts stay in the history, only the new message; where the template drops them, the answer too."""
    engine = ready_engine(models(template), tmp_path / "snapshots")
    tokenizer, texts = loaded_of(engine).tokenizer, [LONG]
    for number in range(5):
        answer = f"</think>\n\nAnswer {number}: {LONG[:50]}"
        events = drive(engine, Generate("c", "r", transcript(*texts), scheme, GREEDY))
        begun = one(PrefillStarted, events)
        if number:
            tail = texts[-1] if template == KEEPS_THOUGHTS else answer + texts[-1]
            assert begun.prompt_tokens - begun.reused_tokens <= len(prompt.encode(tokenizer, tail)) + 24
        # The tiny model never closes its thoughts: what it said stays, as it was sampled, and the rest is put to it.
        texts += [one(TurnFinished, events).text + answer, f"Question {number}: {LONG[: 40 * number]}"]
        if template == KEEPS_THOUGHTS:
            texts[-2] = texts[-2].removesuffix(answer)


@pytest.mark.parametrize("scheme", [pytest.param("none", marks=pytest.mark.slow), "turbo4"])
def test_a_cache_that_cant_be_cut_back_keeps_the_thoughts(
    models: Callable[[str | None], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """As states and moved windows are: else the template's dropping of thoughts had all of it read again each turn."""
    monkeypatch.setattr(session, "trim_prompt_cache", lambda caches, count: 0)
    monkeypatch.setattr(session, "can_trim_prompt_cache", lambda caches: False)
    engine, texts, held = ready_engine(models(DEEPSEEK_R1), tmp_path / "snapshots"), [LONG], 0
    for number in range(5):
        finished = ask(engine, transcript(*texts), scheme)
        assert finished.reused_tokens == held
        held = len(held_tokens(engine))
        texts += [finished.text, f"Question {number}?"]


def test_a_base_model_talks_and_stops_at_the_users_next_line(
    models: Callable[[str | None], Path], tmp_path: Path
) -> None:
    engine = ready_engine(models(None), tmp_path / "snapshots")
    assert "base model" in loaded_of(engine).info.format_notice
    first = ask(engine, transcript(LONG))
    assert "Assistant:" not in first.text
    assert ask(engine, transcript(LONG, first.text, "more")).reused_tokens >= first.prompt_tokens


# ---------------------------------------------------------------- counting


def test_tokens_are_counted_by_the_models_tokenizer(engine: Engine, tmp_path: Path) -> None:
    counted = one(TokensCounted, drive(engine, CountTokens(7, "hello")))
    assert (counted.request, counted.tokens) == (7, 1)
    assert one(TokensCounted, drive(Engine(tmp_path / "none"), CountTokens(8, "hello"))).tokens is None


def test_counting_between_a_replys_tokens_changes_nothing_of_it(engine: Engine) -> None:
    expected = ask(engine, transcript(LONG), params=SEEDED, conversation="alone").text
    text, counts = "", []
    for event in engine.run(Generate("c", "r", transcript(LONG), "turbo4", SEEDED), threading.Event()):
        counts.append(one(TokensCounted, drive(engine, CountTokens(1, LONG))).tokens)
        text = getattr(event, "text", text)
    assert text == expected
    assert len(set(counts)) == 1
