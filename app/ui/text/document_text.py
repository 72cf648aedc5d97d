"""What stands in a written document besides its letters, and how its text is read back: copied, searched."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum

from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextFormat

from app.ui.text import formula

LINE = "\u2028"  # a line's end inside a block
OBJECT = "\ufffc"
# What a document puts between blocks and around a table's cells.
_BREAKS = {0x2028: "\n", 0x2029: "\n", 0xFDD0: "\n", 0xFDD1: "\n", 0xA0: " "}


class Property(IntEnum):
    """Block properties for the painter."""

    CODE = QTextFormat.Property.UserProperty + 1  # True: a code box
    QUOTE = QTextFormat.Property.UserProperty + 2  # depth of the quote
    MARKER = QTextFormat.Property.UserProperty + 3  # "•" or "3." left of the block
    RULE = QTextFormat.Property.UserProperty + 4  # True: a horizontal line
    LANGUAGE = QTextFormat.Property.UserProperty + 5  # of a code box, may be empty


class Shown:
    """A document's text as a reader searches it: a formula is its source, a line's end a line feed."""

    def __init__(self, document: QTextDocument) -> None:
        self._pieces: list[str] = []
        self._starts: list[tuple[int, int]] = []  # where each piece begins: in the text, in the document
        text = place = 0
        cursor = QTextCursor(document)
        for number, piece in enumerate(document.toRawText().translate(_BREAKS).split(OBJECT)):
            if number:
                cursor.setPosition(place + 1)
                source = str(cursor.charFormat().property(formula.SOURCE) or OBJECT)
                self._add(source, text, place)
                text, place = text + len(source), place + 1
            self._add(piece, text, place)
            text, place = text + len(piece), place + _units(piece)
        self.text = "".join(self._pieces)

    def _add(self, piece: str, text: int, place: int) -> None:
        self._pieces.append(piece)
        self._starts.append((text, place))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions in the document between which text[start:end] is shown, whole formulas at its ends."""
        return self._position(start, 0), self._position(end - 1, 1)

    def _position(self, index: int, more: int) -> int:
        number = bisect_right(self._starts, index, key=lambda start: start[0]) - 1
        text, place = self._starts[number]
        if number % 2:  # a formula
            return place + more
        return place + _units(self._pieces[number][: index + more - text])


def _units(text: str) -> int:
    """A document counts in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def code_blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        if block.blockFormat().hasProperty(Property.CODE):
            yield block
        block = block.next()


def code_text(block: QTextBlock) -> str:
    return block.text().replace(LINE, "\n")


def plain_text(cursor: QTextCursor) -> str:
    """The selection as text for the clipboard: with list markers, which are painted and not part of the document,
    formulas as their source, and tabs between a table's columns.
    """
    if not cursor.hasSelection():
        return ""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    text, row = "", None
    block = cursor.document().findBlock(start)
    while block.isValid() and block.position() <= end:
        inside = QTextCursor(block)
        table = inside.currentTable()
        before, row = row, (table.firstPosition(), table.cellAt(inside).row()) if table else None
        if text or block.position() > start:
            text += "\t" if row is not None and row == before else "\n"
        marker = block.blockFormat().property(Property.MARKER)
        if marker and start <= block.position() < end:
            text += f"{marker} "
        inside.setPosition(max(start, block.position()))
        inside.setPosition(min(end, block.position() + block.length() - 1), QTextCursor.MoveMode.KeepAnchor)
        text += _with_sources(inside)
        block = block.next()
    return text.translate(_BREAKS)


def _with_sources(cursor: QTextCursor) -> str:
    text, place = cursor.selectedText(), QTextCursor(cursor)
    pieces = text.split(OBJECT)
    position = cursor.selectionStart()
    for number, piece in enumerate(pieces[:-1]):
        position += _units(piece) + 1
        place.setPosition(position)
        pieces[number] = piece + str(place.charFormat().property(formula.SOURCE) or OBJECT)
    return "".join(pieces)
