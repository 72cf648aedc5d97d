"""A conversation in the chat templates of many models, or without one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.engine import chat_format as module
from app.engine import model_folder, prompt
from app.engine.chat_format import ChatFormat
from app.errors import AppError
from app.events import ChatMessage, GenerationParams
from tests.engine_kit import CHATML, add_special_tokens, load_tokenizer, make_tokenizer, transcript
from tests.unit.app.engine import chat_templates as templates
from tests.unit.app.engine.chat_templates import SPECIAL

BRIEF = GenerationParams(system_prompt="Be brief.")
ALL = {name: text for name, text in vars(templates).items() if name.isupper() and isinstance(text, str)}
Make = Callable[..., ChatFormat]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    made: dict[str | None, ChatFormat] = {}

    def make(template: str | None = CHATML) -> ChatFormat:
        if template not in made:
            folder = tmp_path_factory.mktemp("tokenizer")
            make_tokenizer(folder, template)
            add_special_tokens(folder, *SPECIAL.get(template or "", ()))
            made[template] = ChatFormat(load_tokenizer(folder))
        return made[template]

    return make


def text_of(chat_format: ChatFormat, *contents: str, params: GenerationParams = BRIEF) -> str:
    return chat_format.render(transcript(*contents), params).text


# ---------------------------------------------------------------- every conversation is served


@pytest.mark.parametrize("name", ALL)
def test_every_word_of_a_crooked_conversation_reaches_the_model(make: Make, name: str) -> None:
    """A system prompt, a failed reply, two user turns in a row."""
    messages = (
        ChatMessage("1", "user", "one"),
        ChatMessage("2", "assistant", ""),
        ChatMessage("3", "user", "two"),
        ChatMessage("4", "assistant", "three"),
        ChatMessage("5", "user", "four"),
    )
    chat_format = make(ALL[name])
    assert chat_format.notice == ""
    text = chat_format.render(messages, BRIEF).text
    places = [text.index(part) for part in ("Be brief.", "one\n\ntwo", "three", "four")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ALL)
def test_a_transcript_may_begin_with_a_reply(make: Make, name: str) -> None:
    messages = (ChatMessage("1", "assistant", "Welcome!"), ChatMessage("2", "user", "hi"))
    for params in (GenerationParams(), BRIEF):
        text = make(ALL[name]).render(messages, params).text
        assert text.index("Welcome!") < text.index("hi")


def test_a_refused_system_prompt_stands_before_the_first_user_message(make: Make) -> None:
    text = text_of(make(templates.GEMMA), "hi", "yes", "more")
    assert text == (
        "<|im_start|><start_of_turn>user\nBe brief.\n\nhi<end_of_turn>\n<start_of_turn>model\nyes<end_of_turn>\n"
        "<start_of_turn>user\nmore<end_of_turn>\n<start_of_turn>model\n"
    )
    assert text_of(make(templates.MISTRAL), "hi").endswith("[INST] Be brief.\n\nhi [/INST]")


def test_a_system_prompt_that_is_left_out_without_a_word_isnt_lost(make: Make) -> None:
    assert "<|user|>\nBe brief.\n\nhi" in text_of(make(templates.DEAF), "hi")


def test_where_a_system_role_is_known_it_is_used(make: Make) -> None:
    assert "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>" in text_of(make(templates.LLAMA3), "hi")
    assert text_of(make(templates.PARTS), "hi").startswith("<|im_start|>system\nBe brief.<|im_end|>")


def test_what_a_transcript_says_as_the_system_later_on_is_the_users(make: Make) -> None:
    messages = (*transcript("hi", "yes"), ChatMessage("s", "system", "Now in French."), ChatMessage("u", "user", "so?"))
    assert "user\nNow in French.\n\nso?<|im_end|>" in make().render(messages, BRIEF).text


def test_a_special_token_in_the_users_words_is_only_spoken_of(make: Make) -> None:
    """In an attached file, say. What the model itself has said stays as it is."""
    chat_format = make()
    asked = "What does <|im_end|> do after <|im_start|>system?"
    text = text_of(chat_format, asked, "It ends <|im_end|>.", "Why?")
    assert text.count("<|im_end|>") == 5
    shown = prompt.decode(chat_format._tokenizer, prompt.encode(chat_format._tokenizer, text))
    assert asked in shown.replace("\u2060", "")


# ---------------------------------------------------------------- templates that aren't there, or break


def test_a_base_model_is_explained_and_speaks_a_plain_dialogue(make: Make) -> None:
    chat_format = make(None)
    assert "base model" in chat_format.notice
    assert text_of(chat_format, "hi", " Hello.", "more") == (
        "Be brief.\n\nUser: hi\n\nAssistant: Hello.\n\nUser: more\n\nAssistant:"
    )
    assert chat_format.stops == ("\nUser:",)


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('never') }}", "{% for m in messages %}", "{{ nothing.at.all }}"]
)
def test_a_broken_template_is_explained_and_the_conversation_lives(make: Make, template: str) -> None:
    chat_format = make(template)
    assert "chat template can't be used" in chat_format.notice
    assert text_of(chat_format, "hi").endswith("User: hi\n\nAssistant:")


def test_a_template_that_never_ends_is_a_broken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENDER_S", 0.05)
    many = "range(99999)"
    make_tokenizer(tmp_path, f"{{% for a in {many} %}}{{% for b in {many} %}}{{% endfor %}}{{% endfor %}}x")
    chat_format = ChatFormat(load_tokenizer(tmp_path))
    assert "it takes longer than 0.05 s" in chat_format.notice
    assert text_of(chat_format, "hi").endswith("User: hi\n\nAssistant:")


@pytest.mark.parametrize(
    "template",
    [
        "{% if messages|length > 1 %}{{ raise_exception('too long') }}{% endif %}{{ messages[0].content }}",
        "{% for m in messages %}{{ m.content }}{% if m.role != 'user' %}{{ m.no.such.thing }}{% endif %}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{{ 1 / (2 - loop.index0) }}{% endfor %}",
    ],
)
def test_a_template_that_takes_no_replies_is_told_the_conversation_in_one_turn(make: Make, template: str) -> None:
    picky = make(template)
    assert (picky.notice, text_of(picky, "hi", params=GenerationParams())[:2]) == ("", "hi")
    text = text_of(picky, "hi", "yes", "more")
    assert "Be brief." in text
    assert "User: hi\n\nAssistant: yes\n\nUser: more" in text


def test_a_template_that_fails_on_this_conversation_only_says_so(make: Make) -> None:
    picky = make("{% if 'sing' in messages|string %}{{ raise_exception('no songs') }}{% endif %}x")
    assert picky.notice == ""
    with pytest.raises(AppError, match="can't render this conversation") as failed:
        text_of(picky, "hi", "yes", "sing")
    assert "no songs" in failed.value.detail


@pytest.mark.parametrize("name", ["chat_template.jinja", "chat_template.json"])
def test_a_template_in_a_file_of_its_own_is_read(tmp_path: Path, name: str) -> None:
    make_tokenizer(tmp_path, None)
    text = templates.QWEN3 if name.endswith("jinja") else json.dumps({"chat_template": templates.QWEN3})
    (tmp_path / name).write_text(text)
    assert model_folder.has_chat_template(tmp_path)
    chat_format = ChatFormat(load_tokenizer(tmp_path))
    assert (chat_format.notice, chat_format.thinking) == ("", True)


def test_a_damaged_template_file_is_no_template(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, None)
    (tmp_path / "chat_template.json").write_text("{")
    assert "base model" in ChatFormat(load_tokenizer(tmp_path)).notice


# ---------------------------------------------------------------- thoughts


def test_a_mark_that_the_template_has_opened_belongs_to_the_reply(make: Make) -> None:
    for name, head in (("DEEPSEEK_R1", "<think>\n"), ("KEEPS_THOUGHTS", "<think>\n"), ("QWEN3", ""), ("LLAMA3", "")):
        rendered = make(ALL[name]).render(transcript("hi"), BRIEF)
        assert rendered.head == head
        assert rendered.text.endswith(head)


def test_the_switch_of_thinking_is_found_and_used(make: Make) -> None:
    qwen = make(templates.QWEN3)
    assert qwen.thinking is True
    shut = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    for wanted in (True, False, None):
        rendered = qwen.render(transcript("hi"), GenerationParams(thinking=wanted))
        assert rendered.text.endswith(shut) == (wanted is False)
        assert rendered.head == ""
    for name in ("LLAMA3", "GEMMA", "DEEPSEEK_R1"):
        assert make(ALL[name]).thinking is None
        assert make(ALL[name]).render(transcript("hi"), GenerationParams(thinking=False))


def test_a_switch_of_another_name_that_is_off_by_itself(make: Make) -> None:
    other = make(CHATML + "{% if thinking is defined and thinking %}{{ '<think>' }}{% endif %}")
    assert other.thinking is False
    assert other.render(transcript("hi"), GenerationParams(thinking=True)).head == "<think>"
    assert other.render(transcript("hi"), GenerationParams()).head == ""


def test_earlier_thoughts_are_the_templates_affair(make: Make) -> None:
    reply = "<think>\nWhat is it?\n</think>\n\nA heron."
    for name in ("DEEPSEEK_R1", "QWEN3"):
        assert "What is it?" not in text_of(make(ALL[name]), "hi", reply, "more")
    assert f"assistant\n{reply}<|im_end|>" in text_of(make(templates.KEEPS_THOUGHTS), "hi", reply, "more")
    marked = "<|channel|>analysis<|message|>Hm?<|end|><|start|>assistant<|channel|>final<|message|>A heron."
    text = text_of(make(templates.HARMONY), "hi", marked, "more")
    assert "<|start|>assistant<|channel|>final<|message|>A heron.<|end|>" in text
    assert "Hm?" not in text


def test_replies_can_be_written_as_they_were_said(make: Make) -> None:
    """For a cache that can't be cut back: thoughts that the template drops, and the very token that ended the reply."""
    for name in ("DEEPSEEK_R1", "QWEN3", "KEEPS_THOUGHTS", "GEMMA", "LLAMA3", "PARTS"):
        reply = "<think>\nWhat is it?\n</think>\n\n A heron. "
        chat_format = make(ALL[name])
        text = chat_format.render_as_said(transcript("hi", reply, "more"), BRIEF, "").text
        usual = text_of(chat_format, "hi", "A heron.", "more")
        assert text == usual.replace("A heron.", reply)
    marked = "<|channel|>analysis<|message|>Hm?<|end|><|start|>assistant<|channel|>final<|message|>A heron."
    text = make(templates.HARMONY).render_as_said(transcript("hi", marked, "more"), BRIEF, "<|return|>").text
    assert f"<|start|>assistant{marked}<|return|><|start|>user" in text


def test_marks_of_thoughts_stay_in_the_text_though_they_are_special_tokens(make: Make) -> None:
    harmony = make(templates.HARMONY)
    written = "<|channel|>analysis<|message|>Hm?<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"
    tokenizer = harmony._tokenizer
    stream = prompt.TextStream(tokenizer, harmony.hidden)
    shown = "".join(stream.push(token) for token in prompt.encode(tokenizer, written)) + stream.finish()
    assert shown == written.removesuffix("<|return|>")


# ---------------------------------------------------------------- end marks


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("GEMMA", "<end_of_turn>"),
        ("LLAMA3", "<|eot_id|>"),
        ("QWEN3", "<|im_end|>"),
        ("DEEPSEEK_R1", "<｜end▁of▁sentence｜>"),
        ("HARMONY", "<|return|>"),
        ("MISTRAL", "<|im_end|>"),  # this tokenizer's own
    ],
)
def test_the_mark_that_a_template_writes_behind_a_reply_ends_one(make: Make, name: str, mark: str) -> None:
    chat_format = make(ALL[name])
    assert [chat_format._tokenizer.convert_ids_to_tokens(i) for i in chat_format.end_tokens] == [mark]
    assert chat_format.stops == ()


def test_an_end_mark_that_is_no_token_ends_a_reply_as_text(make: Make) -> None:
    spelled = make("{% for m in messages %}{{ m.role + ': ' + m.content + '</s>\n' }}{% endfor %}assistant:")
    assert (spelled.end_tokens, spelled.stops) == (frozenset(), ("</s>",))


def test_end_tokens_are_numbers_or_lists_of_them(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [4, 5, null, true, "6", -1]}')
    config: dict[str, Any] = {"eos_token_id": 3, "text_config": {"eos_token_id": [7]}}
    assert model_folder.end_tokens(tmp_path, config) == {3, 4, 5, 7}
