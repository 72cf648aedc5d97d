"""Thoughts and answer, told apart by the marks that models write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.thinking import KNOWN, Part, split


def parts(text: str, final: bool = True) -> list[tuple[str, str]]:
    return [("T" if part.thinking else "A", part.text.strip()) for part in split(text, final=final)]


@pytest.mark.parametrize("marks", KNOWN, ids=lambda marks: marks.opening.strip())
def test_every_known_way_of_writing(marks: object) -> None:
    opening, closing, answer = marks.opening, marks.closing, marks.answer  # type: ignore[attr-defined]
    assert parts(f"{opening}\nwhy\n{closing}\n\n{answer}because") == [("T", "why"), ("A", "because")]
    assert split(f"{opening}why") == [Part(True, "why", closed=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("A", "plain")]),
        ("", []),
        ("  \n<think>a</think>b", [("T", "a"), ("A", "b")]),
        ("<think>\n\n</think>\n\nb", [("A", "b")]),  # a model told not to think
        ("a\n</think>\n\nb", [("T", "a"), ("A", "b")]),  # the opening mark stood in the prompt
        ("a</think>\nb", [("T", "a"), ("A", "b")]),
        ("<think>a</think>b\n<think>c</think>d", [("T", "a"), ("A", "b"), ("T", "c"), ("A", "d")]),
        ("<think>a</think><think>c</think>d", [("T", "a"), ("T", "c"), ("A", "d")]),
        ("b\n<think>never closed", [("A", "b"), ("T", "never closed")]),
        # quoted, or in prose
        ("Write `<think>` first.", [("A", "Write `<think>` first.")]),
        ("The <think> tag opens, the </think> tag closes.", [("A", "The <think> tag opens, the </think> tag closes.")]),
        ("```\n<think>\na\n</think>\n```\nb", [("A", "```\n<think>\na\n</think>\n```\nb")]),
        ("~~~\n<think>", [("A", "~~~\n<think>")]),
        ("x\n\n    <think>\n", [("A", "x\n\n    <think>")]),
        ("End with `</think>`\nb", [("A", "End with `</think>`\nb")]),
        ("<think>say `</think>` now</think>b", [("T", "say `</think>` now"), ("A", "b")]),
        ("<think>\n```\n</think>\n```\nso</think>b", [("T", "```\n</think>\n```\nso"), ("A", "b")]),
        ("<think>\n```\ncut off</think>b\n```\nx\n```", [("T", "```\ncut off"), ("A", "b\n```\nx\n```")]),
        # gpt-oss
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
         [("T", "a"), ("A", "b")]),
        ("<|channel|>final<|message|>b", [("A", "b")]),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|>"
         "<|start|>assistant<|channel|>analysis<|message|>d<|end|><|start|>assistant<|channel|>final<|message|>e",
         [("T", "a"), ("A", "c"), ("T", "d"), ("A", "e")]),
        ("<|channel|>commentary<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>e", [("A", "c\n\ne")]),
        ("Bye.<|end|>", [("A", "Bye.")]),
    ],
)  # fmt: skip
def test_where_thoughts_begin_and_end(text: str, expected: list[tuple[str, str]]) -> None:
    assert parts(text) == expected


def test_a_mark_that_is_still_coming_is_not_shown() -> None:
    text = "<think>a</think>b < c"
    shown = [parts(text[:end], final=False) for end in range(len(text) + 1)]
    assert all("<th" not in piece and "</" not in piece for state in shown for _, piece in state)
    assert parts("a <th", final=True) == [("A", "a <th")]
    assert shown[-1] == [("T", "a"), ("A", "b < c")]


PIECES = ["<think>", "</think>", "\n", "word ", "```\n", "`", "~~~\n", "    ", "<|channel|>analysis<|message|>",
          "<|end|>", "<|start|>assistant<|channel|>final<|message|>", "[THINK]", "[/THINK]", "<th"]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_word_is_ever_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    for final in (True, False):
        assert sum(part.text.count("word") for part in split(text, final=final)) == text.count("word")


def test_many_marks_take_no_time() -> None:
    assert len(split("<think>a</think>" * 3000)) == 3000
    assert len(split("`</think>` " * 5000)) == 1
