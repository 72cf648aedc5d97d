"""The real starter model through the engine: sense, reuse and reopening at depth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.events import (
    CachePlanned,
    ChatMessage,
    Generate,
    OpenConversation,
    SchemeSwitched,
    SnapshotLoaded,
    SwitchScheme,
    TurnFinished,
)
from tests.engine_kit import GREEDY, ask, drive, one, ready_engine, transcript
from turboquant.schemes import SCHEMES

TEXT = (
    "The harbour town lay quiet in the morning. Boats came in with the tide, and the fishermen sold herring on the "
    "quay. Anna kept the lighthouse, and each evening she wrote the name of every ship into a blue book. "
)
QUESTION = TEXT * 3 + "\nWhat did Anna keep? Answer in one short sentence."


def test_it_answers_and_goes_on_after_reopening(starter_model_path: Path, tmp_path: Path) -> None:
    engine = ready_engine(starter_model_path, tmp_path)
    params = replace(GREEDY, max_tokens=12)
    events = drive(engine, Generate("c", "r", transcript(QUESTION), "turbo4", params))
    assert {layer.scheme for layer in one(CachePlanned, events).layers} == {"turbo4"}
    first = ask(engine, transcript(QUESTION), params=params)
    words = set(first.text.lower().strip(".").split())
    assert len(words & set(TEXT.lower().replace(".", "").split())) >= len(words) / 2  # it speaks of the text
    list(engine.close())
    reopened = ready_engine(starter_model_path, tmp_path)
    more = transcript(QUESTION, first.text, "And what did she write?")
    tokens = one(SnapshotLoaded, drive(reopened, OpenConversation("c", more[:2], "turbo4"))).tokens
    assert ask(reopened, more, params=params).reused_tokens == tokens


@pytest.mark.parametrize(
    "scheme",
    [  # test_reopen does it with every scheme and a tiny model
        pytest.param(scheme.name, marks=pytest.mark.slow if scheme.name in ("turbo4", "turbo0v2") else pytest.mark.long)
        for scheme in SCHEMES
    ],
)
def test_the_reply_after_reopening_is_the_reply_without(starter_model_path: Path, tmp_path: Path, scheme: str) -> None:
    engine = ready_engine(starter_model_path, tmp_path)
    messages = transcript(QUESTION, "Anna kept the lighthouse.", "Tell me more about the town.")
    reply = ask(engine, messages, scheme).text
    list(engine.close())
    stays = ready_engine(starter_model_path, tmp_path / "stays")
    assert ask(stays, messages, scheme).text == reply
    reopened = ready_engine(starter_model_path, tmp_path)
    more = transcript(*(message.content for message in messages), reply, "And who lived there?")
    with_it, without = ask(reopened, more, scheme), ask(stays, more, scheme)
    assert with_it.text == without.text
    assert with_it.reused_tokens == without.reused_tokens > 100


@pytest.mark.slow
def test_switching_back_and_forth_keeps_the_thread(starter_model_path: Path, tmp_path: Path) -> None:
    engine = ready_engine(starter_model_path, tmp_path)
    messages = [QUESTION, ask(engine, transcript(QUESTION), "turbo0v4").text]
    sizes = {}
    for scheme in ("turbo2", "turbo4", "none", "turbo3"):
        switched = one(SchemeSwitched, drive(engine, SwitchScheme("c", scheme, transcript(*messages))))
        sizes[scheme] = switched.bytes_after
        messages.append("And what else?")
        turn = ask(engine, transcript(*messages), scheme)
        assert turn.reused_tokens == switched.tokens
        messages.append(turn.text)
    assert sizes["turbo2"] < sizes["turbo3"] < sizes["none"]


@pytest.mark.slow
def test_a_cut_reply_goes_on_to_what_it_would_have_said(starter_model_path: Path, tmp_path: Path) -> None:
    """After a restart, over the saved cache, of which only the last token is read again."""
    params = replace(GREEDY, max_tokens=40)
    whole = ask(ready_engine(starter_model_path, tmp_path / "whole"), transcript(QUESTION), "none", params)
    engine = ready_engine(starter_model_path, tmp_path)
    half = ask(engine, transcript(QUESTION), "none", replace(params, max_tokens=5))
    assert whole.text.startswith(half.text)
    assert whole.text != half.text
    list(engine.close())
    reopened = ready_engine(starter_model_path, tmp_path)
    messages = (*transcript(QUESTION), ChatMessage("reply", "assistant", half.text))
    drive(reopened, OpenConversation("c", messages, "none"))
    rest = one(TurnFinished, drive(reopened, Generate("c", "reply", messages, "none", params)))
    assert rest.text == whole.text
    assert rest.reused_tokens == rest.prompt_tokens - 1
    assert rest.reason == whole.reason
