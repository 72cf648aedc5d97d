"""Files in a message's text, and what counts as a text file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import attachments
from app.attachments import Attachment
from app.errors import AppError
from app.library import titles

PIECES = st.lists(st.sampled_from(["```", "````", "\n", "a", 'title="x"', " ", "def f():", "~~~", "“é”"]), max_size=12)


@given(st.lists(PIECES.map("".join), max_size=3), PIECES.map("".join).map(str.strip))
def test_what_is_joined_is_split_again(texts: list[str], words: str) -> None:
    files = tuple(Attachment(f"file {number}.py", text) for number, text in enumerate(texts))
    if not words.startswith("```"):
        assert attachments.split(attachments.join(words, files)) == (words, files)


@given(st.text(max_size=20))
def test_whatever_a_file_is_called_its_message_is_split_again(name: str) -> None:
    files = (Attachment(name, "text"),)
    assert attachments.split(attachments.join("words", files)) == ("words", files)
    attachments.join("", files).encode()


def test_a_name_shows_its_true_ending() -> None:
    assert Attachment("invoice\u202egpj.exe", "").name == "invoice_gpj.exe"
    assert Attachment("a\udcff.txt", "").name == "a_.txt"


def test_a_file_stands_fenced_under_its_name() -> None:
    files = (Attachment("a b.py", "print('```')\n"), Attachment('odd"na\nme', "x"))
    assert attachments.join("What is it?", files) == (
        '````python title="a b.py"\nprint(\'```\')\n\n````\n\n```title="odd_na_me"\nx\n```\n\nWhat is it?'
    )
    assert titles.propose(attachments.join("What is it?", files)) == "What is it?"
    assert titles.propose(attachments.join("", files)) == "a b.py"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße\r\n".encode(), "Grüße\n"),
        ("\ufeffGrüße".encode(), "Grüße"),
        ("\ufeffGrüße".encode("utf-16-le"), "Grüße"),
        ("\ufeffGrüße".encode("utf-16-be"), "Grüße"),
        ("Grüße – “so”".encode("cp1252"), "Grüße – “so”"),
        ("Grüße, 日本".encode()[:-1], "Grüße, 日\ufffd"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ],
)
def test_text_in_the_usual_encodings_is_read(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "note.txt").write_bytes(data)
    assert attachments.read_file(tmp_path / "note.txt") == Attachment("note.txt", text)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\x00\x00", "isn't a text file"),
        ("a.bin", bytes(range(256)), "isn't a text file"),
        ("a.txt", b" \n", "is empty"),
        ("a.txt", b"x" * (attachments.LIMIT_BYTES + 1), "too large"),
        ("a.txt", None, "no file"),
    ],
)
def test_what_cant_be_attached_says_why(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    if data is None:
        os.mkfifo(tmp_path / name)  # opening it would wait for ever
    else:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AppError, match=said):
        attachments.read_file(tmp_path / name)
