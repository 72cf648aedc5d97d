"""A reply that was cut goes on from its end: as if it had never stopped, over the cache that it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine import prompt
from app.engine.chat_format import ChatFormat
from app.engine.engine import Engine
from app.events import (
    ChatMessage,
    ContextFull,
    Generate,
    GenerationParams,
    OpenConversation,
    TokenBatch,
    TurnFinished,
)
from tests.engine_kit import (
    CHATML,
    GREEDY,
    add_special_tokens,
    ask,
    drive,
    held_tokens,
    load_tokenizer,
    loaded_of,
    make_model,
    make_tokenizer,
    of,
    one,
    ready_engine,
    transcript,
)
from tests.unit.app.engine import chat_templates as templates

LONG = "In the beginning God created the heaven and the earth. " * 12
SHORT = replace(GREEDY, max_tokens=9)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    return ready_engine(model, tmp_path / "snapshots")


def going_on(text: str, conversation: str = "c", params: GenerationParams = GREEDY, scheme: str = "none") -> Generate:
    messages = (*transcript(LONG), ChatMessage("reply", "assistant", text))
    return Generate(conversation, "reply", messages, scheme, params)


def test_in_two_halves_it_says_what_it_says_in_one(engine: Engine) -> None:
    whole = ask(engine, transcript(LONG), "none", conversation="whole")
    half = ask(engine, transcript(LONG), "none", SHORT)
    assert half.reason == "length"
    events = drive(engine, going_on(half.text, params=replace(GREEDY, max_tokens=24 - 9)))
    rest = one(TurnFinished, events)
    assert rest.text == whole.text
    assert half.text + "".join(batch.text for batch in of(TokenBatch, events)) == whole.text
    assert rest.reused_tokens == rest.prompt_tokens - 1, "only the last token is read again: it leads to the next"
    assert held_tokens(engine) == held_tokens(engine, "whole")
    assert rest.generated_tokens == whole.generated_tokens


@pytest.mark.parametrize("scheme", ["turbo4", pytest.param("turbo0v2", marks=pytest.mark.slow)])
def test_after_a_restart_it_goes_on_over_the_saved_cache(model: Path, tmp_path: Path, scheme: str) -> None:
    first = ready_engine(model, tmp_path)
    half = ask(first, transcript(LONG), scheme, SHORT)
    held = held_tokens(first)
    list(first.close())
    again = ready_engine(model, tmp_path)
    messages = (*transcript(LONG), ChatMessage("reply", "assistant", half.text))
    drive(again, OpenConversation("c", messages, scheme))
    assert held_tokens(again) == held, "opening cuts nothing off"
    rest = one(TurnFinished, drive(again, going_on(half.text, scheme=scheme)))
    assert rest.text.startswith(half.text)
    assert len(rest.text) > len(half.text)
    assert rest.reused_tokens == len(held) - 1


def test_without_a_cache_all_is_read_and_nothing_of_the_reply_is_lost(engine: Engine) -> None:
    rest = one(TurnFinished, drive(engine, going_on("In the beg", params=SHORT)))
    assert rest.reused_tokens == 0
    assert rest.text.startswith("In the beg")
    spelled = prompt.decode(loaded_of(engine).tokenizer, held_tokens(engine))
    assert spelled.endswith(f"<|im_start|>assistant\n{rest.text}")


def test_stopped_before_its_first_word_it_says_what_it_said(engine: Engine) -> None:
    command = going_on("In the beg")
    events = drive(engine, command, stop_when=lambda event: True)
    finished = one(TurnFinished, events)
    assert (finished.reason, finished.text) == ("interrupted", "In the beg")
    assert not of(TokenBatch, events)


def test_a_stop_string_that_the_cut_divides_ends_it_and_is_not_shown(engine: Engine) -> None:
    whole = ask(engine, transcript(LONG), "none", conversation="whole").text
    half = ask(engine, transcript(LONG), "none", replace(GREEDY, max_tokens=12)).text
    cut = len(half)
    assert "\ufffd" not in whole[cut - 2 : cut + 2]
    stop = whole[cut - 2 : cut + 2]
    ended = one(TurnFinished, drive(engine, going_on(half, params=replace(GREEDY, stop=("never", stop)))))
    assert (ended.reason, ended.text) == ("stop", whole[: cut - 2])


def test_what_only_begins_like_a_stop_string_at_the_cut_is_told_once(engine: Engine) -> None:
    whole = ask(engine, transcript(LONG), "none", conversation="whole").text
    half = ask(engine, transcript(LONG), "none", replace(GREEDY, max_tokens=12)).text
    params = replace(GREEDY, max_tokens=12, stop=(whole[len(half) - 2 : len(half) + 2] + "never",))
    events = drive(engine, going_on(half, params=params))
    assert one(TurnFinished, events).text == whole
    assert half + "".join(batch.text for batch in of(TokenBatch, events)) == whole


def test_a_seeded_reply_that_went_on_can_still_be_repeated(engine: Engine) -> None:
    params = replace(SHORT, temperature=1.2, seed=5)
    first = ask(engine, transcript(LONG), "turbo4", params)
    drive(engine, going_on(first.text, params=params, scheme="turbo4"))
    assert ask(engine, transcript(LONG), "turbo4", params).text == first.text


def test_where_the_context_is_full_that_is_said(model: Path, tmp_path: Path) -> None:
    small = ready_engine(make_model(tmp_path / "small", context=256), tmp_path / "snapshots")
    messages = (*transcript("hello"), ChatMessage("reply", "assistant", "the " * 400))
    one(ContextFull, drive(small, Generate("c", "reply", messages, "none", GREEDY)))


# ---------------------------------------------------------------- templates


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], ChatFormat]:
    def make(template: str) -> ChatFormat:
        make_tokenizer(tmp_path, template)
        add_special_tokens(tmp_path, *templates.SPECIAL.get(template, ()))
        return ChatFormat(load_tokenizer(tmp_path))

    return make


@pytest.mark.parametrize(
    "name", [name for name, value in vars(templates).items() if name.isupper() and isinstance(value, str)]
)
def test_the_prompt_ends_with_the_reply_as_it_is(make: Callable[[str], ChatFormat], name: str) -> None:
    """No mark behind it, no thoughts dropped, whatever the template does with a reply that has ended."""
    chat_format = make(getattr(templates, name))
    begun = "<think>\nFirst I look at\n</think>\n\nIt is "
    messages = (*transcript("one", "two", "three"), ChatMessage("reply", "assistant", begun))
    text = chat_format.prompt(Generate("c", "reply", messages, "none", GREEDY)).text
    assert text.endswith(begun)
    header = chat_format.render(messages[:-1], GREEDY)
    assert text == header.text.removesuffix(header.head) + begun


def test_thoughts_that_were_cut_go_on_as_thoughts(make: Callable[[str], ChatFormat]) -> None:
    """The template has written the opening mark: it stands there once."""
    chat_format = make(CHATML.replace("assistant\\n' }}", "assistant\\n<think>\\n' }}"))
    begun = "<think>\nFirst I look"
    messages = (*transcript("one"), ChatMessage("reply", "assistant", begun))
    rendered = chat_format.prompt(Generate("c", "reply", messages, "none", GREEDY))
    assert rendered.text.count("<think>") == 1
    assert rendered.text.endswith(begun)
    assert rendered.head == ""
