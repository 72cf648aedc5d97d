"""Replies as text: streamed and canonical are the same, nothing is hidden, nothing is fetched."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication, QTextBlock, QTextCharFormat, QTextCursor, QTextDocument
from pytestqt.qtbot import QtBot

from app.ui.text import document_text
from app.ui.text.document_text import Property
from app.ui.text.formula import SOURCE
from app.ui.text.markdown import MarkdownWriter
from app.ui.text.markdown_scribe import Scribe
from app.ui.text.text_pane import CopyButton, TextPane

REPLY = """# Title *two*

A paragraph with `code`, **bold** and [a link](https://example.org) ~~gone~~.
Second line  
after a break.

- one
- two
  - inner

    more
1. first
2. second

```python
def f(x):
    return "a<b"  # ok
```

> quoted
> text

| a | b |
|---|--:|
| 1 | `2` |

***

<script>alert(1)</script> a<b <pre>x</pre> ![picture](https://example.org/x.png)

The root \\(\\sqrt{2}\\) costs $5 and $6, $a_1$ doesn't:

$$
\\frac{a}{b}
- c
$$

\\[ x \\], then

- [x] done
- [ ] not *yet*

3. three
4. four

#hashtag
==
tail
"""  # noqa: W291


def blocks(document: QTextDocument) -> list[tuple[object, ...]]:
    """What is drawn: each block's text, indent and marks."""
    found = []
    block = document.begin()
    while block.isValid():
        style = block.blockFormat()
        found.append(
            (
                block.text(),
                [entry.property(SOURCE) for entry in pieces_of(block)],
                style.leftMargin(),
                style.bottomMargin(),
                style.property(Property.MARKER),
                style.property(Property.QUOTE),
                style.hasProperty(Property.CODE),
            )
        )
        block = block.next()
    return found


def pieces_of(block: QTextBlock) -> list[QTextCharFormat]:
    found, place = [], block.begin()
    while not place.atEnd():
        found.append(place.fragment().charFormat())
        place += 1
    return found


def written(text: str) -> QTextDocument:
    document = QTextDocument()
    MarkdownWriter(document).complete(text)
    return document


def streamed(pieces: list[str]) -> QTextDocument:
    document = QTextDocument()
    writer = MarkdownWriter(document)
    for piece in pieces:
        writer.add(piece)
    writer.complete("".join(pieces))
    return document


def test_each_prefix_streams_to_what_it_says(qtbot: QtBot) -> None:
    """Letter by letter, and each prefix completed, equals the canonical writing of that prefix."""
    document = QTextDocument()
    writer = MarkdownWriter(document)
    for end, letter in enumerate(REPLY, 1):
        writer.add(letter)
        if end % 7 == 0 or REPLY[end - 1] == "\n":
            assert blocks(document) == blocks(written(REPLY[:end])), REPLY[:end]


LINES = st.lists(
    st.sampled_from(
        ["a", "# h", "#", "- x", "  - y", "1. n", "> q", "```", "```py", "    code", "", "---", "===", "|a|b|", "|-|-|",
         "*", "[r]: /u", "[r]", "<b>", "a<b", "**x", "~~~", "\t- t", "text  ", "$$", "$x$", "\\[", "\\]", "> $$",
         "- $$", "\\begin{align}", "- [x] t", "  $$", "2. m", "\u2028", "\x0c", "😀", "\r", "https://x.org"]
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(LINES, st.integers(1, 9))
def test_any_pieces_give_the_canonical_text(qapp: object, lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert blocks(streamed(pieces)) == blocks(written(text))


@settings(max_examples=100, deadline=None)
@given(LINES, st.integers(0, 40), st.integers(1, 9))
def test_what_was_complete_can_go_on(qapp: object, lines: list[str], cut: int, size: int) -> None:
    text = "\n".join(lines)
    document = QTextDocument()
    writer = MarkdownWriter(document)
    writer.complete(text[:cut])
    for start in range(cut, len(text), size):
        writer.add(text[start : start + size])
    writer.complete(text)
    assert blocks(document) == blocks(written(text))


def test_raw_html_is_text(qtbot: QtBot) -> None:
    text = written(REPLY).toPlainText()
    for visible in ("<script>alert(1)</script>", "a<b", "<pre>x</pre>", "picture", "#hashtag"):
        assert visible in text


def test_code_is_highlighted_and_copied_as_it_stands(qtbot: QtBot) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    pane.resize(400, 100)
    MarkdownWriter(pane.document()).complete("x\n\n```python\ndef f():\n\treturn 1\n```\n\n~~~\nplain\n~~~")
    pane.show()
    pane.fit_height()
    first, second = document_text.code_blocks(pane.document())
    assert len({piece.foreground().color().name() for piece in pieces_of(first)}) > 1
    buttons = pane.findChildren(CopyButton)
    buttons[0].click()
    assert QGuiApplication.clipboard().text() == "def f():\n\treturn 1"
    assert buttons[0].text() == "Copied"
    buttons[1].click()
    assert QGuiApplication.clipboard().text() == "plain"
    assert document_text.code_text(second) == "plain"


def test_a_selection_is_copied_with_its_list_markers(qtbot: QtBot) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    MarkdownWriter(pane.document()).complete("Two:\n\n1. one\n2. two\n\n- x\n")
    cursor = QTextCursor(pane.document())
    cursor.select(QTextCursor.SelectionType.Document)
    pane.setTextCursor(cursor)
    assert pane.createMimeDataFromSelection().text() == "Two:\n1. one\n2. two\n• x"


def test_a_link_defined_below_is_known_in_the_end(qtbot: QtBot) -> None:
    document = streamed(["See [the page][p].\n\n", "More.\n\n", "[p]: https://example.org\n"])
    assert document.toPlainText().startswith("See the page.")


def test_closed_blocks_are_not_written_again(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for one more piece doesn't grow with the reply."""
    scribed: list[int] = []
    write = Scribe.write

    def counting(self: object, *given: object, **named: object) -> None:
        scribed.append(1)
        write(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Scribe, "write", counting)
    writer = MarkdownWriter(QTextDocument())
    for number in range(200):
        writer.add(f"Paragraph {number}.\n\n")
    scribed.clear()
    writer.add("word ")
    assert len(scribed) <= 2


def test_items_of_a_list_and_lines_of_a_program_are_not_written_again(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_letters: list[int] = []
    put = Scribe._put

    def counting(self: Scribe, text: str, *given: object) -> None:
        written_letters.append(len(text))
        put(self, text, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Scribe, "_put", counting)
    writer = MarkdownWriter(QTextDocument())
    for number in range(1, 200):
        writer.add(f"{number}. An item.\n   - with another\n\n")
    written_letters.clear()
    writer.add("200. The last")
    assert sum(written_letters) < 60
    assert blocks(writer._document)[-1][3:5] == (9.0, "200.")
    writer = MarkdownWriter(QTextDocument())
    writer.add("```python\n")
    for number in range(600):
        writer.add(f"line_{number} = 1\n")
    written_letters.clear()
    writer.add("end = 1")
    assert written_letters == []
    assert writer._document.toPlainText().endswith("line_599 = 1\nend = 1")


def test_colours_change_in_the_middle_of_a_reply(qtbot: QtBot) -> None:
    document = QTextDocument()
    writer = MarkdownWriter(document)
    writer.add("One para")
    writer.rewrite()
    writer.add("graph.")
    writer.complete("One paragraph.")
    assert document.toPlainText() == "One paragraph."


@pytest.mark.parametrize("text", ["```\nx\n```", "a\n\n```\nx\n```", "```\nx\n```\n\nb", "- a\n\n  ```\n  x\n  ```"])
def test_code_boxes_are_not_cut_off(qtbot: QtBot, text: str) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    pane.resize(300, 50)
    MarkdownWriter(pane.document()).complete(text)
    pane.show()
    pane.fit_height()
    (block,) = document_text.code_blocks(pane.document())
    box = pane._code_box(block)
    assert box.top() >= 0
    assert box.bottom() <= pane.height()


@pytest.mark.parametrize("after", ["```\nx\n```", "# head", "text", "| a |\n|---|"])
@pytest.mark.parametrize("before", ["```\nx\n```", "# head", "text", "| a |\n|---|", "> q", "- l", "***"])
def test_blocks_keep_their_distance(qtbot: QtBot, before: str, after: str) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    pane.resize(300, 50)
    MarkdownWriter(pane.document()).complete(f"{before}\n\n{after}")
    pane.show()
    pane.fit_height()
    layout, rects = pane.document().documentLayout(), []
    block = pane.document().begin()
    while block.isValid():
        if block.length() > 1 or block.blockFormat().hasProperty(Property.RULE):
            code = block.blockFormat().hasProperty(Property.CODE)
            rect = pane._code_box(block) if code else layout.blockBoundingRect(block)
            rule = block.blockFormat().hasProperty(Property.RULE)
            rects.append((rect.top(), rect.center().y() if rule else rect.bottom()))
        block = block.next()
    (_, upper), (lower, _) = rects
    assert lower - upper >= 4


def test_lines_of_a_verse_stay_lines(qtbot: QtBot) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    MarkdownWriter(pane.document()).complete("In the depths,\na beast.\n\n- one\n  more")
    assert [block[0] for block in blocks(pane.document())] == ["In the depths,\u2028a beast.", "one\u2028more"]
