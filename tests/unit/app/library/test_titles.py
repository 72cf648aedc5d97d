"""A title proposed from the first message."""

from __future__ import annotations

import pytest

from app.library.titles import LETTERS, propose


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("What is a barometer? Answer in two sentences.", "What is a barometer?"),
        ("Explain this code.\n\n```python\nprint(1)\n```", "Explain this code"),
        ("```python\nprint(1)\n```\nWhy does it print 1?", "Why does it print 1?"),
        ("```\nnever closed", "never closed"),
        ('```python title="parse.py"\nimport re. Now.\n```\n\nWhat does it do?', "What does it do?"),
        ('```python title="parse.py"\nimport re\n```', "parse.py"),
        ("# **Plan** for [Rome](https://example.org)\n\nWe go by train.", "Plan for Rome"),
        ("- [ ] buy `milk`\n- eggs", "buy milk eggs"),
        ("> somebody said this\n\nIs it true?", "Is it true?"),
        ("> only a quote", "only a quote"),
        ("Version 3.11 of Python, e.g. on a Mac, is slow! Why?", "Version 3.11 of Python, e.g. on a Mac, is slow!"),
        ("什么是气压计？请用两句话回答。", "什么是气压计？"),
        ("snake_case_name and 2*3*4 stay", "snake_case_name and 2*3*4 stay"),
        ("What does vector<int> mean?", "What does vector<int> mean?"),
        ("Summarise the following:\n\nA long text.", "Summarise the following"),
        ("   \n\n  Hello\nthere  ", "Hello there"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |"),
        ("Hi! Name three fruits. Be brief.", "Hi! Name three fruits"),
        ("Hello.\n\nName three fruits.", "Hello. Name three fruits"),
        ("Hi!", "Hi!"),
        ("# Plan\n\nWe go by train.", "Plan"),
        ("你好！什么是气压计？请用两句话回答。", "你好！什么是气压计？"),
        ("...", "..."),
        ("🙂", "🙂"),
    ],
)
def test_the_first_sentence_as_plain_words(message: str, title: str) -> None:
    assert propose(message) == title


def test_it_is_short_and_quick_whatever_is_pasted() -> None:
    for text in (
        "word " * 100_000,
        "x" * 1_000_000,
        "`" * 50_000,
        "*a" * 50_000,
        "[" * 50_000,
        "> " * 50_000,
        "<!--" * 9999,
    ):
        assert 0 < len(propose(text)) <= LETTERS
