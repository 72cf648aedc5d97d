"""Another branch of a conversation: its cache is that of its own text, whatever was held before.

Compared with a cache that has read the same tokens from the first one on: in one model whose caches can be cut back, in
one with sliding windows and in one with recurrent layers, which can't.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

from app.engine import prompt
from app.engine.engine import Engine
from app.engine.session import Session
from app.events import ChatMessage, Generate, MemorySample, OpenConversation, PrefillStarted, TurnFinished
from tests.contract import families
from tests.engine_kit import (
    GREEDY,
    WRITTEN_TOKENS,
    ask,
    drive,
    make_model,
    make_tokenizer,
    one,
    ready_engine,
    transcript,
)

WORDS = "the inn of the lighthouse and the boats in the harbour "  # longer than a window of these models
FIRST = WORDS * 3 + "one?"


def make(name: str, folder: Path) -> Path:
    if name == "llama":
        return make_model(folder)
    folder.mkdir(parents=True)
    mx.random.seed(5)
    changes = {"vocab_size": 272}
    weights = dict(tree_flatten(families.tiny(name, **changes).parameters()))
    for head in ("lm_head.weight", "model.embed_tokens.weight"):  # special tokens get no logit, as in make_model
        if head in weights:
            weights[head] = mx.where(mx.arange(272)[:, None] < WRITTEN_TOKENS, weights[head], 0)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(families.config(name, **changes)))
    make_tokenizer(folder)
    return folder


@pytest.fixture(scope="module", params=["llama", "gemma3_text", "qwen3_next"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(request.param, tmp_path_factory.mktemp("models") / request.param)


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    return ready_engine(model, tmp_path)


def session_of(engine: Engine) -> Session:
    return engine.sessions.held["c"]


def next_logits(session: Session, caches: list[Any], probe: int = 1) -> mx.array:
    logits = session.loaded.model(mx.array([[probe]]), cache=copy.deepcopy(caches))[0, -1]
    return logits.astype(mx.float32)


def anew(session: Session, scheme: str) -> mx.array:
    """What a cache says that has read the same tokens and nothing else."""
    fresh = Session(session.loaded, "fresh", scheme)
    for _ in fresh.prefill(session.tokens, fresh.caches, threading.Event()):
        pass
    return next_logits(fresh, fresh.caches)


def check(engine: Engine, messages: Sequence[ChatMessage], reply: str, scheme: str) -> None:
    """The cache holds the branch's own text and no other, and answers as one does that never held another."""
    session = session_of(engine)
    tokenizer = session.loaded.tokenizer
    held = prompt.decode(tokenizer, session.tokens)
    rendered = session.loaded.format.render(messages, GREEDY).text
    assert held.removesuffix("<|im_end|>") == rendered + reply
    counted = [cache.offset for cache in session.caches if hasattr(cache, "offset")]
    assert set(counted) == {len(session.tokens)}
    exact, likewise = anew(session, "none"), anew(session, scheme)
    own = mx.abs(likewise - exact).max().item()  # the scheme's own error
    error = mx.abs(next_logits(session, session.caches) - exact).max().item()
    spread = (exact.max() - exact.min()).item()
    assert error <= 2 * own + 1e-3 * spread


@pytest.mark.parametrize("scheme", ["none", "turbo4"])
def test_an_edited_message_and_another_reply(engine: Engine, scheme: str) -> None:
    first = ask(engine, transcript(FIRST), scheme).text
    second = ask(engine, transcript(FIRST, first, WORDS + "two?"), scheme).text
    ask(engine, transcript(FIRST, first, WORDS + "two?", second, WORDS + "three?"), scheme)
    edited = transcript(FIRST, first, "Something else?")
    check(engine, edited, ask(engine, edited, scheme).text, scheme)
    again = transcript(FIRST)
    params = replace(GREEDY, temperature=2.0, seed=4)
    reply = ask(engine, again, scheme, params).text
    assert reply != first
    check(engine, again, reply, scheme)
    whole = transcript("All new?")
    check(engine, whole, ask(engine, whole, scheme).text, scheme)


def test_what_can_be_cut_back_is_and_the_rest_is_read_again(engine: Engine, model: Path) -> None:
    first = ask(engine, transcript(FIRST)).text
    held = len(session_of(engine).tokens)
    longer = transcript(FIRST, first, WORDS * 3 + "two?")
    second = ask(engine, longer).text
    events = drive(engine, Generate("c", "r", transcript(FIRST, first, "Other?"), "turbo4", GREEDY))
    reused = one(PrefillStarted, events).reused_tokens
    if model.name == "llama":
        assert held <= reused <= held + 8, "all up to the edited words"
    else:
        assert reused in (0, held), "nothing, or what was kept for this branch"
    back = transcript(FIRST, first, WORDS * 3 + "two?", second, "three?")
    check(engine, back, ask(engine, back).text, "turbo4")


def test_a_raw_cache_is_cut_back_however_short_it_is(tmp_path: Path) -> None:
    engine = ready_engine(make("llama", tmp_path / "llama"), tmp_path)
    ask(engine, transcript("Hi?"), "none")
    assert len(session_of(engine).tokens) < 64
    edited = transcript("Hi!")
    events = drive(engine, Generate("c", "r", edited, "none", GREEDY))
    reused = one(PrefillStarted, events).reused_tokens
    assert prompt.decode(session_of(engine).loaded.tokenizer, session_of(engine).tokens[:reused]).endswith("Hi")
    check(engine, edited, one(TurnFinished, events).text, "none")
    last = [event for event in events if isinstance(event, MemorySample)][-1]
    assert last.used_bytes == last.fp16_bytes > 0, "under none nothing is larger than uncompressed"


def test_showing_another_branch_leaves_nothing_of_the_old_one(engine: Engine) -> None:
    def branch(*texts: str) -> tuple[ChatMessage, ...]:
        return tuple(ChatMessage(f"m{'.'.join(texts[: n + 1])}", "assistant" if n % 2 else "user", text)
                     for n, text in enumerate(texts))  # fmt: skip

    first = ask(engine, branch(FIRST)).text
    ask(engine, branch(FIRST, first, WORDS + "two?"))
    other = branch(FIRST, first, "Else?")
    reply = ask(engine, other).text
    old = branch(FIRST, first, WORDS + "two?")
    drive(engine, OpenConversation("c", old, "turbo4"))
    session = session_of(engine)
    held = prompt.decode(session.loaded.tokenizer, session.tokens)
    rendered = session.loaded.format.render(old, GREEDY).text
    assert "Else?" not in held
    assert rendered.startswith(held) or held.startswith(rendered)
    more = (*other, ChatMessage("r", "assistant", reply), ChatMessage("u", "user", "And?"))
    check(engine, more, ask(engine, more).text, "turbo4")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["none", "turbo4"])
def test_the_starter_model_in_another_branch(starter_model_path: Path, tmp_path: Path, scheme: str) -> None:
    engine = ready_engine(starter_model_path, tmp_path)
    text = "Anna keeps the lighthouse, and each evening she writes the name of every ship into a blue book. " * 4
    first = ask(engine, transcript(text + "What does Anna keep?"), scheme).text
    more = transcript(text + "What does Anna keep?", first, "And which colour has the book?")
    ask(engine, more, scheme)
    edited = transcript(text + "What does Anna keep?", first, "And when does she write?")
    events = drive(engine, Generate("c", "r", edited, scheme, GREEDY))
    assert one(PrefillStarted, events).reused_tokens > 80
    check(engine, edited, one(TurnFinished, events).text, scheme)
    other = transcript("Name a bird.")
    check(engine, other, ask(engine, other, scheme).text, scheme)
