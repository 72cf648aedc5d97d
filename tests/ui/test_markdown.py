"""Replies as text: streamed and canonical are the same, nothing is hidden, nothing is fetched."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QUrl
from PySide6.QtGui import QGuiApplication, QTextCursor, QTextDocument
from pytestqt.qtbot import QtBot

from app.ui import markdown
from app.ui.markdown import MarkdownWriter, Property
from app.ui.text_pane import CopyButton, TextPane

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

#hashtag
==
tail
"""  # noqa: W291


def blocks(document: QTextDocument) -> list[tuple[str, float, object, object, bool]]:
    """What is drawn: each block's text, indent and marks."""
    found = []
    block = document.begin()
    while block.isValid():
        style = block.blockFormat()
        found.append(
            (
                block.text(),
                style.leftMargin(),
                style.property(Property.MARKER),
                style.property(Property.QUOTE),
                style.hasProperty(Property.CODE),
            )
        )
        block = block.next()
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
         "*", "[r]: /u", "[r]", "<b>", "a<b", "**x", "~~~", "\t- t", "text  "]
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=150)
@given(LINES, st.integers(1, 9))
def test_any_pieces_give_the_canonical_text(qapp: object, lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert blocks(streamed(pieces)) == blocks(written(text))


def test_raw_html_is_text(qtbot: QtBot) -> None:
    text = written(REPLY).toPlainText()
    for visible in ("<script>alert(1)</script>", "a<b", "<pre>x</pre>", "picture", "#hashtag"):
        assert visible in text


def test_nothing_is_fetched_and_only_web_addresses_are_opened(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    opened: list[str] = []
    monkeypatch.setattr("app.ui.text_pane.QDesktopServices.openUrl", lambda url: opened.append(url.toString()))
    assert pane.loadResource(2, QUrl("https://example.org/x.png")) is None
    for address in ("file:///etc/passwd", "javascript:alert(1)", "smb://host/x", "https://example.org"):
        pane.on_anchor_clicked(QUrl(address))
    assert opened == ["https://example.org"]


def test_code_is_highlighted_and_copied_as_it_stands(qtbot: QtBot) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    pane.resize(400, 100)
    MarkdownWriter(pane.document()).complete("x\n\n```python\ndef f():\n\treturn 1\n```\n\n~~~\nplain\n~~~")
    pane.show()
    pane.fit_height()
    first, second = markdown.code_blocks(pane.document())
    assert len({fragment.foreground().color().name() for fragment in formats_of(first)}) > 1
    buttons = pane.findChildren(CopyButton)
    buttons[0].click()
    assert QGuiApplication.clipboard().text() == "def f():\n\treturn 1"
    assert buttons[0].text() == "Copied"
    buttons[1].click()
    assert QGuiApplication.clipboard().text() == "plain"
    assert markdown.code_text(second) == "plain"


def formats_of(block: object) -> list:
    return [entry.format for entry in block.layout().formats()] or [  # type: ignore[attr-defined]
        fragment.fragment().charFormat()
        for fragment in block  # type: ignore[attr-defined]
    ]


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
    write = markdown._Scribe.write

    def counting(self: object, tokens: list) -> None:
        scribed.append(1)
        write(self, tokens)  # type: ignore[arg-type]

    monkeypatch.setattr(markdown._Scribe, "write", counting)
    writer = MarkdownWriter(QTextDocument())
    for number in range(200):
        writer.add(f"Paragraph {number}.\n\n")
    scribed.clear()
    writer.add("word ")
    assert len(scribed) <= 2


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
    (block,) = markdown.code_blocks(pane.document())
    box = pane._code_box(block)
    assert box.top() >= 0
    assert box.bottom() <= pane.height()


def test_lines_of_a_verse_stay_lines(qtbot: QtBot) -> None:
    pane = TextPane()
    qtbot.addWidget(pane)
    MarkdownWriter(pane.document()).complete("In the depths,\na beast.\n\n- one\n  more")
    assert [block[0] for block in blocks(pane.document())] == ["In the depths,\u2028a beast.", "one\u2028more"]
