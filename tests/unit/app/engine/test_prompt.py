"""Reuse of cached tokens, streamed text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine import prompt
from app.engine.chat_format import ChatFormat
from app.events import GenerationParams
from tests.engine_kit import CHATML, make_tokenizer, transcript

LETTERS = "🇨🇭 👩‍👩‍👧‍👦 e\u0301 é שלום 日本 hello the\n"


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from mlx_lm.tokenizer_utils import load as load_tokenizer

    def make(template: str | None = CHATML) -> Any:
        folder = tmp_path_factory.mktemp("tokenizer")
        make_tokenizer(folder, template)
        return load_tokenizer(folder)

    return make


@pytest.fixture(scope="module")
def tokenizer(load: Any) -> Any:
    return load()


def rendered(tokenizer: Any, *contents: str, system: str = "") -> str:
    return ChatFormat(tokenizer).render(transcript(*contents), GenerationParams(system_prompt=system)).text


def test_the_template_and_its_reply_header(tokenizer: Any) -> None:
    text = rendered(tokenizer, "hi", system="Be brief.")
    assert text == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert prompt.decode(tokenizer, prompt.encode(tokenizer, text)) == text


def test_sampled_tokens_are_kept_where_the_text_would_encode_to_others(tokenizer: Any) -> None:
    first = prompt.encode(tokenizer, rendered(tokenizer, "hi"))
    sampled = tokenizer.convert_tokens_to_ids(["h", "e", "l", "l", "o"])
    assert prompt.encode(tokenizer, "hello") != sampled
    text = rendered(tokenizer, "hi", "hello", "more")
    tokens = prompt.continue_from(tokenizer, [*first, *sampled], text)
    assert tokens[: len(first) + 5] == [*first, *sampled]
    assert prompt.decode(tokenizer, tokens) == text
    # The same prompt once more: all of it is there, what follows in the cache isn't part of it.
    again = prompt.continue_from(tokenizer, [*tokens, 5, 6, 7], text)
    assert again == tokens


def test_a_seam_never_cuts_the_users_words(tokenizer: Any) -> None:
    """The cache knows “he”, typed; the edited message says “hello”: it is encoded as it would be afresh."""
    held = prompt.encode(tokenizer, "<|im_start|>user\nhe")
    held += tokenizer.convert_tokens_to_ids(["h", "e"])
    text = "<|im_start|>user\nhehello<|im_end|>"
    assert prompt.continue_from(tokenizer, held, text) == prompt.encode(tokenizer, text)


@given(st.data())
def test_whatever_is_cached_the_tokens_spell_the_text(tokenizer: Any, data: st.DataObject) -> None:
    pieces = st.lists(st.sampled_from([*LETTERS, "hello", *("<|im_start|>", "<|im_end|>")]), max_size=12)
    text = "".join(data.draw(pieces))
    # Cached: a part of the text in single bytes, then something else.
    cut = data.draw(st.integers(0, len(text)))
    cached = [
        i
        for piece in prompt.encode(tokenizer, text[:cut])
        for i in (
            [piece]
            if piece in tokenizer.get_added_vocab().values()
            else tokenizer.convert_tokens_to_ids(list(tokenizer.convert_ids_to_tokens(piece)))
        )
    ]
    cached += data.draw(st.lists(st.integers(0, 255), max_size=3))
    assert prompt.decode(tokenizer, prompt.continue_from(tokenizer, cached, text)) == text


@given(st.lists(st.one_of(st.sampled_from([LETTERS, "👩‍👩‍👧‍👦", "the"]), st.integers(0, 255)), max_size=8))
def test_streamed_pieces_joined_are_the_whole_text(tokenizer: Any, parts: list[str | int]) -> None:
    tokens: list[int] = []
    for part in parts:
        tokens += [part] if isinstance(part, int) else prompt.encode(tokenizer, part)
    stream = prompt.TextStream(tokenizer)
    joined = "".join([*(stream.push(token) for token in tokens), stream.finish()])
    assert joined == prompt.decode(tokenizer, tokens)


def test_no_piece_ends_inside_a_letter(tokenizer: Any) -> None:
    stream = prompt.TextStream(tokenizer)
    pieces = [stream.push(token) for token in prompt.encode(tokenizer, LETTERS)]
    assert "\ufffd" not in "".join(pieces)
    assert "👩" in pieces
    assert stream.finish() == ""


def test_special_tokens_are_never_shown(tokenizer: Any) -> None:
    stream = prompt.TextStream(tokenizer, ChatFormat(tokenizer).hidden)
    tokens = prompt.encode(tokenizer, "a<|endoftext|>b")
    assert "".join(map(stream.push, tokens)) + stream.finish() == "ab"
