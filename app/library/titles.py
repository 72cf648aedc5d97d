"""A conversation's title, proposed from its first message."""

from __future__ import annotations

import re
import textwrap

from app import attachments

LETTERS = 120  # whoever shows it cuts it to the room there is
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
    """The first sentence, without markdown, code, quotes and attachments; where nothing else is said, their first
    line, or the name of the first file. At most LETTERS long, cut between words.
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
    paragraph = next((part for part in re.split(r"\n\s*\n", plain) if re.search(r"\w", part)), "")
    if not paragraph:
        lines = (line.strip("`~>| \t") for line in text.splitlines())
        paragraph = next((line for line in lines if re.search(r"\w", line)), text)
    sentence = " ".join(paragraph.split())
    end = _END.search(sentence)
    sentence = sentence[: end.end()] if end else sentence
    sentence = sentence.rstrip(".。:") or sentence
    return textwrap.shorten(sentence, LETTERS, placeholder="") or sentence[:LETTERS]
