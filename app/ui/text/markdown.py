"""Markdown written straight into a QTextDocument: no HTML in between, so nothing in a reply can be run or fetched.

A reply arrives in pieces. Blocks, and a list's items, that can't change any more are written once; only the open tail
is written again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.token import Token
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument

from app.ui.shared import theme
from app.ui.text import formula
from app.ui.text.document_text import Property, Shown
from app.ui.text.markdown_scribe import CODE_HEADER, QUIET_SIZE, SIZE, Scribe, closing
from app.ui.text.markdown_syntax import OPEN_FORMULA, parser

# An open block is written again with each piece, so it is highlighted only while that is cheap.
OPEN_HIGHLIGHT_LIMIT = 3_000
_LINES = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Unit:
    """What is written in one go: a block, or one item of a list with its number. `first` and `end`: its lines."""

    tokens: list[Token]
    first: int
    end: int
    number: int | None = None
    ends_list: bool = True


class MarkdownWriter:
    """Writes one text into `document`. `add` pieces, then `complete`, after which it may go on; `rewrite` after the
    colours have changed.

    Each time formulas are set for about `setting_s` seconds; the others stay their source. `quiet`: for thoughts.
    """

    def __init__(self, document: QTextDocument, *, setting_s: float = math.inf, quiet: bool = False) -> None:
        self._document, self._setting_s, self._quiet = document, setting_s, quiet
        self.left_out: list[tuple[str, bool]] = []  # formulas that are still their source, for want of time
        self._parser = parser()
        self.source = ""
        self._complete = False
        if setting_s:
            document.documentLayout().registerHandler(formula.KIND, formula.FormulaObject(document))
        self._start()

    def _start(self) -> None:
        self._document.clear()
        self._document.setDefaultFont(theme.font(QUIET_SIZE if self._quiet else SIZE))
        self._document.setDocumentMargin(0)
        self._open = self.source
        self.left_out.clear()
        self._environment: dict[str, object] = {}
        self._tail_position = 0
        self._tail_fresh = True
        self._tail_format = QTextBlockFormat()
        self._tail_number: int | None = None
        self._plain_code: str | None = None  # of an open code block at the tail, as far as it is written

    def add(self, text: str) -> None:
        self._complete = False
        self.source += text
        self._open += text
        self._write_tail(final=False)

    def put(self, text: str, *, final: bool) -> None:
        """The text is `text` so far, or altogether."""
        if final:
            self.complete(text)
        elif text.startswith(self.source):
            self.add(text[len(self.source) :])
        else:
            self.source, self._complete = text, False
            self.rewrite()

    def complete(self, text: str) -> None:
        """The whole text is `text`. What was added goes on, or is written again where it says something else.

        A link that is defined below its use is only known now: then everything is written again too.
        """
        self._complete = True
        if not text.startswith(self.source):
            self.source = text
            self.rewrite()
            return
        added = text[len(self.source) :]
        self.source = text
        self._open += added
        self._write_tail(final=True)
        if self._environment.get("references"):
            self.rewrite(references=self._environment["references"])

    def rewrite(self, references: object = None) -> None:
        """Write everything again: the colours have changed, or a link's address is known now."""
        self._start()
        if references:
            self._environment["references"] = references
        self._write_tail(final=self._complete)

    def _write_tail(self, final: bool) -> None:
        self._environment.pop(OPEN_FORMULA, None)
        units = list(_units(self._parser.parse(self._open, self._environment), self._tail_number))
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        if final or not self._add_code(cursor, units):
            self._write_units(cursor, units, final)
        cursor.endEditBlock()

    def _write_units(self, cursor: QTextCursor, units: list[Unit], final: bool) -> None:
        cursor.setPosition(self._tail_position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.setBlockFormat(self._tail_format)  # an empty block would take that of the removed one behind it
        scribe = Scribe(cursor, self._tail_fresh, setting_s=self._setting_s, quiet=self._quiet)
        lines = _LINES.findall(self._open)
        closed = self._closed(units, lines)
        for index, unit in enumerate(units):
            if index == closed:
                self._mark_tail(scribe, lines, unit.first)
                self._tail_number = unit.number
                if not final:
                    scribe.highlight_limit = OPEN_HIGHLIGHT_LIMIT
            scribe.write(unit.tokens, unit.number, ends_list=unit.ends_list)
        self.left_out += scribe.left_out
        self._make_room_for_box()
        self._plain_code = None if final else _code(units[closed:])

    def _closed(self, units: list[Unit], lines: list[str]) -> int:
        """How many units no later text can change: all before the last, once the last one's first line is whole.

        ("a\\n#" reads as a heading below a paragraph, "a\\n#b" as one paragraph.) A formula that hasn't ended may yet
        take in what looks like blocks of their own.
        """
        if not units:
            return 0
        last = len(units) - 1
        while last > 0 and not lines[units[last].first].endswith(("\n", "\r")):
            last -= 1
        begun = self._environment.get(OPEN_FORMULA)
        if isinstance(begun, int):
            last = min(last, next((i for i, unit in enumerate(units) if unit.end > begun), last))
        return last

    def _add_code(self, cursor: QTextCursor, units: list[Unit]) -> bool:
        """Put what is new behind an open code block that is too long to be coloured with each piece."""
        source = _code(units)
        if source is None or self._plain_code is None or not source.startswith(self._plain_code):
            return False
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(source[len(self._plain_code) :].replace("\n", "\u2028"))
        self._plain_code = source
        return True

    def _make_room_for_box(self) -> None:
        """A document leaves out the margin above its first block; a code box there needs it."""
        root = self._document.rootFrame()
        style = root.frameFormat()
        top = CODE_HEADER if self._document.firstBlock().blockFormat().hasProperty(Property.CODE) else 0.0
        if style.topMargin() != top:
            style.setTopMargin(top)
            root.setFrameFormat(style)

    def _mark_tail(self, scribe: Scribe, lines: list[str], line: int) -> None:
        self._tail_position = scribe.cursor.position()
        self._tail_fresh = scribe.fresh
        self._tail_format = scribe.cursor.blockFormat()
        self._open = "".join(lines[line:])


def shown(text: str) -> str:
    """The text that a reader finds in it, without laying it out."""
    document = QTextDocument()
    MarkdownWriter(document, setting_s=0.0).complete(text)
    return Shown(document).text


def _code(units: list[Unit]) -> str | None:
    """The source of a single code block that is too long to be coloured while it is open."""
    if len(units) != 1 or units[0].tokens[0].type != "fence":
        return None
    source = units[0].tokens[0].content.removesuffix("\n")
    return source if len(source) > OPEN_HIGHLIGHT_LIMIT else None


def _units(tokens: list[Token], number: int | None) -> Iterator[Unit]:
    """`number`: of a list's item that the first token begins, where the list has begun before."""
    index = 0
    while index < len(tokens):
        end = closing(tokens, index)
        block = tokens[index : end + 1]
        position = block[0].map
        assert position is not None
        if block[0].type in ("bullet_list_open", "ordered_list_open"):
            yield from _items(block, number)
        else:
            yield Unit(block, position[0], position[1])
        index, number = end + 1, None


def _items(tokens: list[Token], number: int | None) -> Iterator[Unit]:
    if tokens[0].type == "ordered_list_open" and number is None:
        number = int(tokens[0].attrs.get("start", 1))
    index = 1
    while index < len(tokens) - 1:
        end = closing(tokens, index)
        position = tokens[index].map
        assert position is not None
        item = [tokens[0], *tokens[index : end + 1], tokens[-1]]
        yield Unit(item, position[0], position[1], number, ends_list=end == len(tokens) - 2)
        index, number = end + 1, None if number is None else number + 1
