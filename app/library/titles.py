"""A conversation's title, proposed from its first message."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

from app import attachments

LETTERS = 120  # whoever shows it cuts it to the room there is
_LEAST = 12  # as wide as so many Latin letters: a greeting alone names no conversation
_READ = 4000  # of a paste of megabytes the beginning says enough

_BLOCKS = (
    re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S),  # code, and what was attached
    re.compile(r"^(?: {4}|\t).*$", re.M),
    re.compile(r"^ {0,3}>.*$", re.M),  # quoted
    re.compile(r"^ {0,3}(?:[-*_] *){3,}$", re.M),
    re.compile(r"^[ \t|:-]*\|[ \t|:-]*-[ \t|:-]*$", re.M),  # below a table's head
    re.compile(r"<!--.*?-->", re.S),
)
_LINES = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+)", re.M)
_INLINE = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),  # links and images: their words
    (re.compile(r"`+([^`]+)`+"), r"\1"),
    (re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)", re.S), r"\2"),
    (re.compile(r"\\([^\w\s])"), r"\1"),
)
# A full stop behind one letter or a number is an abbreviation or a list.
_END = re.compile(r"(?<!\b\w)(?<!\d)(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+)")


def propose(text: str) -> str:
    """The first sentence, and more where that says little, without markdown, code, quotes and attachments; where
    nothing else is said, their first line, or the name of the first file. At most LETTERS long, cut between words.
    """
    words, files = attachments.split(text)
    text = words.strip() or (files[0].name if files else text)
    text = text[:_READ]
    plain = text
    for block in _BLOCKS:
        plain = block.sub("\n", plain)
    plain = _LINES.sub("", plain)
    for pattern, words in _INLINE:
        plain = pattern.sub(words, plain)
    paragraphs = [part for part in re.split(r"\n\s*\n", plain) if re.search(r"\w", part)]
    if not paragraphs:
        lines = (line.strip("`~>| \t") for line in text.splitlines())
        paragraphs = [next((line for line in lines if re.search(r"\w", line)), text)]
    sentence = _enough(paragraphs)
    sentence = sentence.rstrip(".。:") or sentence
    return textwrap.shorten(sentence, LETTERS, placeholder="") or sentence[:LETTERS]


def _enough(paragraphs: Sequence[str]) -> str:
    """As many whole sentences from the beginning as it takes to be _LEAST wide. A heading stands for itself."""
    said = ""
    for paragraph in paragraphs:
        said = " ".join([*said.split(), *paragraph.split()])
        for end in _END.finditer(said):
            if _width(said[: end.end()]) >= _LEAST:
                return said[: end.end()]
        if _width(said) >= _LEAST or said[-1] not in ".!?…。！？":
            break
    return said


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
