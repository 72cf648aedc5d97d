"""A conversation under a model with sliding windows: cut back where they still hold what is needed, else anew."""

from __future__ import annotations

import threading
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models import gemma3_text

from app.engine.loader import LoadedModel
from app.engine.session import Session
from app.events import ModelInfo
from turboquant.snapshot import fingerprint

TOKENS = [i * 7 % 61 for i in range(300)]


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    mx.random.seed(3)
    arguments = gemma3_text.ModelArgs(
        model_type="gemma3_text", hidden_size=64, num_hidden_layers=2, intermediate_size=64, num_attention_heads=2,
        head_dim=64, num_key_value_heads=1, query_pre_attn_scalar=2048, vocab_size=64, sliding_window=128,
        sliding_window_pattern=2,
    )  # fmt: skip
    model = gemma3_text.Model(arguments)
    mx.eval(model.parameters())
    info = ModelInfo("tiny", "", fingerprint(model), "", 0, 4096, 2, 1, 64)
    return LoadedModel(model, None, info, frozenset(), "", None)  # type: ignore[arg-type]


def talked(loaded: LoadedModel, decoded: int = 40) -> Session:
    session = Session(loaded, "c", "turbo4")
    for _ in session.prefill(TOKENS[:-decoded], session.caches, threading.Event()):
        pass
    for token in TOKENS[-decoded:]:
        loaded.model(mx.array([[token]]), cache=session.caches)
    session.settle(list(TOKENS), len(TOKENS))
    return session


def test_a_few_tokens_are_cut_back(loaded: LoadedModel) -> None:
    session = talked(loaded)
    session.rewind(len(TOKENS) - 5)
    assert session.tokens == TOKENS[:-5]
    assert {cache.offset for cache in session.caches} == {len(TOKENS) - 5}


@pytest.mark.parametrize("keep", [100, 200])
def test_further_back_than_a_window_holds_begins_anew(loaded: LoadedModel, keep: int) -> None:
    session = talked(loaded)
    session.rewind(keep)
    assert session.tokens == []
    assert all(cache.empty() for cache in session.caches)


def test_what_cant_be_forgotten_stays_known(loaded: LoadedModel) -> None:
    session = talked(loaded)
    session.settle(list(TOKENS), 100)
    assert session.tokens == TOKENS
    assert {cache.offset for cache in session.caches} == {len(TOKENS)}


def test_predicted_curves_bend_where_a_window_is_full(loaded: LoadedModel) -> None:
    curves = dict(talked(loaded).sample().curves)
    counts = [tokens for tokens, _ in curves["none"]]
    assert 128 in counts
    raw = dict(curves["none"])
    per_token = 2 * 2 * 64
    assert raw[128] == 2 * 128 * per_token
    assert raw[counts[-1]] == (128 + counts[-1]) * per_token


def test_a_session_is_stored_and_read(loaded: LoadedModel, tmp_path: Any) -> None:
    session = talked(loaded)
    session.write(tmp_path / "cache")
    again = Session.read(loaded, "c", "turbo4", tmp_path / "cache")
    assert again.tokens == TOKENS
    step = mx.array([[5]])
    assert mx.array_equal(loaded.model(step, cache=session.caches), loaded.model(step, cache=again.caches))
