"""Markdown written straight into a QTextDocument: no HTML in between, so nothing in a reply can be run or fetched.

A reply arrives in pieces. Blocks that can't change any more are written once; only the open tail is written again. What
the document's own formats can't draw (rounded code boxes, quote bars, list markers) is left as block properties, which
`text_pane.TextPane` paints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String
from pygments.token import _TokenType as TokenType
from pygments.util import ClassNotFound
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTableFormat,
)

from app.ui import theme

INDENT = 22.0
CODE_PADDING = 11.0
CODE_HEADER = 24.0  # the strip above the code, for its language and the copy button
# Highlighting costs about a microsecond a character: beyond this a block stays plain rather than hold up the window.
HIGHLIGHT_LIMIT = 16_000
# An open block is written again with each piece, so it is highlighted only while that is cheap.
OPEN_HIGHLIGHT_LIMIT = 3_000


class Property(IntEnum):
    """Block properties for the painter."""

    CODE = QTextFormat.Property.UserProperty + 1  # True: a code box
    QUOTE = QTextFormat.Property.UserProperty + 2  # depth of the quote
    MARKER = QTextFormat.Property.UserProperty + 3  # "•" or "3." left of the block
    RULE = QTextFormat.Property.UserProperty + 4  # True: a horizontal line
    LANGUAGE = QTextFormat.Property.UserProperty + 5  # of a code box, may be empty


@dataclass(frozen=True)
class _Place:
    """Where a block stands: depth of lists and quotes, and the marker that its first line still owes."""

    indent: int = 0
    quote: int = 0
    marker: str = ""
    tight: bool = False


def parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class MarkdownWriter:
    """Writes one message into `document`. `add` pieces, then `finish`; `rewrite` after the colours have changed."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._parser = parser()
        self.source = ""
        self._complete = False
        self._start()

    def _start(self) -> None:
        self._document.clear()
        self._document.setDefaultFont(theme.font(1.06))
        self._document.setDocumentMargin(0)
        self._open = self.source
        self._environment: dict[str, object] = {}
        self._tail_position = 0
        self._tail_fresh = True
        self._tail_format = QTextBlockFormat()

    def add(self, text: str) -> None:
        self.source += text
        self._open += text
        self._write_tail(final=False)

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
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        cursor.setPosition(self._tail_position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.setBlockFormat(self._tail_format)  # an empty block would take that of the removed one behind it
        scribe = _Scribe(cursor, self._tail_fresh)
        blocks = list(_top_level(self._parser.parse(self._open, self._environment)))
        lines = self._open.splitlines(keepends=True)
        closed = len(blocks) if final else _closed_blocks(blocks, lines)
        for index, tokens in enumerate(blocks):
            if index == closed:
                self._mark_tail(scribe, lines, _first_line(tokens))
                scribe.highlight_limit = OPEN_HIGHLIGHT_LIMIT
            scribe.write(tokens)
        if final:
            self._mark_tail(scribe, lines, len(lines))
        self._make_room_for_boxes()
        cursor.endEditBlock()

    def _make_room_for_boxes(self) -> None:
        """A document leaves out the margins of its first and last block; a code box there needs them."""
        root = self._document.rootFrame()
        style = root.frameFormat()
        top = CODE_HEADER if self._document.firstBlock().blockFormat().hasProperty(Property.CODE) else 0.0
        bottom = CODE_PADDING if self._document.lastBlock().blockFormat().hasProperty(Property.CODE) else 0.0
        if (style.topMargin(), style.bottomMargin()) != (top, bottom):
            style.setTopMargin(top)
            style.setBottomMargin(bottom)
            root.setFrameFormat(style)

    def _mark_tail(self, scribe: _Scribe, lines: list[str], line: int) -> None:
        self._tail_position = scribe.cursor.position()
        self._tail_fresh = scribe.fresh
        self._tail_format = scribe.cursor.blockFormat()
        self._open = "".join(lines[line:])


def code_blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        if block.blockFormat().hasProperty(Property.CODE):
            yield block
        block = block.next()


def code_text(block: QTextBlock) -> str:
    return block.text().replace("\u2028", "\n")


def plain_text(cursor: QTextCursor) -> str:
    """The selection as text for the clipboard, with list markers, which are painted and not part of the document."""
    if not cursor.hasSelection():
        return ""
    document = cursor.document()
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    pieces = []
    block = document.findBlock(start)
    while block.isValid() and block.position() <= end:
        first = max(start - block.position(), 0)
        text = block.text()[first : end - block.position()]
        marker = block.blockFormat().property(Property.MARKER)
        if marker and first == 0 and text:
            text = f"{marker} {text}"
        pieces.append(text)
        block = block.next()
    return "\n".join(pieces).replace("\u2028", "\n").replace("\u00a0", " ")


def _top_level(tokens: list[Token]) -> Iterator[list[Token]]:
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _first_line(tokens: list[Token]) -> int:
    position = tokens[0].map
    assert position is not None
    return position[0]


def _closed_blocks(blocks: list[list[Token]], lines: list[str]) -> int:
    """How many blocks no later text can change: all before the last, once the last one's first line is whole.

    ("a\\n#" reads as a heading below a paragraph, "a\\n#b" as one paragraph.)
    """
    if not blocks:
        return 0
    last = len(blocks) - 1
    while last > 0 and not lines[_first_line(blocks[last])].endswith("\n"):
        last -= 1
    return last


class _Scribe:
    """Puts parsed blocks at a cursor. `fresh`: the cursor's block is empty and takes the next text."""

    def __init__(self, cursor: QTextCursor, fresh: bool) -> None:
        self.cursor = cursor
        self.fresh = fresh
        self.highlight_limit = HIGHLIGHT_LIMIT
        self._colors = theme.colors()
        self._base = QTextCharFormat()
        self._base.setFont(theme.font(1.06))
        self._base.setForeground(QColor(self._colors.text))

    def write(self, tokens: list[Token]) -> None:
        self._blocks(tokens, _Place())

    # ------------------------------------------------------------ blocks

    def _blocks(self, tokens: list[Token], place: _Place) -> None:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            end = _closing(tokens, index)
            inner = tokens[index + 1 : end]
            kind = token.type
            if kind == "paragraph_open":
                self._begin(place, tight=place.tight or token.hidden)
                self._inline(inner[0], self._base)
                place = replace(place, marker="")
            elif kind == "heading_open":
                self._heading(int(token.tag[1]), inner[0], place)
            elif kind in ("fence", "code_block"):
                self._code(token, place)
                place = replace(place, marker="")
            elif kind == "blockquote_open":
                self._blocks(inner, replace(place, quote=place.quote + 1, indent=place.indent + 1))
            elif kind in ("bullet_list_open", "ordered_list_open"):
                self._list(token, inner, place)
            elif kind == "table_open":
                self._table(inner)
            elif kind == "hr":
                self._begin(place, rule=True)
            index = end + 1

    def _begin(self, place: _Place, *, tight: bool = False, above: float = 0, rule: bool = False) -> None:
        """Start a text block; its format says what the painter adds."""
        block = QTextBlockFormat()
        block.setLineHeight(128, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        block.setTopMargin(above)
        block.setBottomMargin(3 if tight else 9)
        block.setLeftMargin(place.indent * INDENT)
        if place.quote:
            block.setProperty(Property.QUOTE, place.quote)
        if place.marker:
            block.setProperty(Property.MARKER, place.marker)
        if rule:
            block.setLineHeight(8, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            block.setBottomMargin(14)
            block.setProperty(Property.RULE, True)
        self._place(block, self._base)

    def _place(self, block: QTextBlockFormat, text: QTextCharFormat) -> None:
        if self.fresh:
            self.cursor.setBlockFormat(block)
            self.cursor.setBlockCharFormat(text)
        else:
            self.cursor.insertBlock(block, text)
        self.fresh = False

    def _heading(self, level: int, inline: Token, place: _Place) -> None:
        self._begin(place, above=0 if self.cursor.position() == 0 else 8)
        text = QTextCharFormat(self._base)
        text.setFont(theme.font({1: 1.45, 2: 1.28, 3: 1.14}.get(level, 1.06), bold=True))
        self._inline(inline, text)

    def _list(self, token: Token, inner: list[Token], place: _Place) -> None:
        number = int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None
        index = 0
        while index < len(inner):
            end = _closing(inner, index)
            marker = "•" if number is None else f"{number}."
            item = inner[index + 1 : end]
            inside = replace(place, indent=place.indent + 1, marker=marker)
            if item:
                self._blocks(item, inside)
            else:
                self._begin(inside, tight=True)
            number = None if number is None else number + 1
            index = end + 1
        # A list's last line keeps a paragraph's distance from what follows.
        last = self.cursor.blockFormat()
        last.setBottomMargin(9 if place.indent == 0 else 3)
        self.cursor.setBlockFormat(last)

    def _code(self, token: Token, place: _Place) -> None:
        block = QTextBlockFormat()
        left = place.indent * INDENT
        block.setLeftMargin(left + CODE_PADDING)
        block.setRightMargin(CODE_PADDING)
        block.setTopMargin(CODE_HEADER + 5)
        block.setBottomMargin(CODE_PADDING + 12)
        block.setLineHeight(122, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        block.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        block.setAlignment(Qt.AlignmentFlag.AlignLeft)
        block.setProperty(Property.CODE, True)
        language = next(iter(token.info.split()), "")
        block.setProperty(Property.LANGUAGE, language)
        text = QTextCharFormat(self._base)
        text.setFont(theme.mono_font(0.97))
        self._place(block, text)
        source = token.content.removesuffix("\n")
        lexer = _lexer(language) if language else None
        if lexer is None or len(source) > self.highlight_limit:
            self.cursor.insertText(source.replace("\n", "\u2028"), text)
            return
        for kind, piece in lexer.get_tokens(source):
            shade = QTextCharFormat(text)
            shade.setForeground(QColor(self._shade(kind)))
            self.cursor.insertText(piece.replace("\n", "\u2028"), shade)

    def _shade(self, kind: TokenType) -> str:
        c = self._colors
        if kind in Comment:
            return c.comment
        if kind in Keyword or kind in Operator.Word:
            return c.keyword
        if kind in String:
            return c.string
        if kind in Number:
            return c.number
        if kind in Name.Function or kind in Name.Class or kind in Name.Decorator or kind in Name.Tag:
            return c.name
        return c.text

    def _table(self, tokens: list[Token]) -> None:
        rows: list[list[Token]] = []
        for position, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                rows[-1].append(token)
                token.children = tokens[position + 1].children
                token.meta["inline"] = tokens[position + 1]
        style = QTextTableFormat()
        style.setBorder(1)
        style.setBorderCollapse(True)
        style.setBorderBrush(QBrush(QColor(self._colors.line)))
        style.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        style.setCellPadding(6)
        style.setTopMargin(2)
        style.setBottomMargin(10)
        columns = max(len(row) for row in rows)
        style.setColumnWidthConstraints([QTextLength()] * columns)
        table = self.cursor.insertTable(len(rows), columns, style)
        for row_index, row in enumerate(rows):
            for column, cell in enumerate(row):
                self.cursor = table.cellAt(row_index, column).firstCursorPosition()
                block = QTextBlockFormat()
                if "right" in str(cell.attrs.get("style", "")):
                    block.setAlignment(Qt.AlignmentFlag.AlignRight)
                elif "center" in str(cell.attrs.get("style", "")):
                    block.setAlignment(Qt.AlignmentFlag.AlignHCenter)
                self.cursor.setBlockFormat(block)
                text = QTextCharFormat(self._base)
                if cell.type == "th_open":
                    text.setFontWeight(QFont.Weight.DemiBold)
                self._inline(cell.meta["inline"], text)
        self.cursor = table.lastCursorPosition()
        self.cursor.movePosition(QTextCursor.MoveOperation.NextBlock)
        # A document can't end with a table: the empty line behind it takes no room until text comes.
        block = QTextBlockFormat()
        block.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self.cursor.setBlockFormat(block)
        self.fresh = True

    # ------------------------------------------------------------ text inside a block

    def _inline(self, inline: Token, base: QTextCharFormat) -> None:
        formats = [base]
        for token in inline.children or []:
            current = formats[-1]
            if token.nesting == 1:
                formats.append(self._entered(token, current))
            elif token.nesting == -1:
                formats.pop()
            elif token.type == "code_inline":
                code = QTextCharFormat(current)
                code.setFontFamilies(theme.mono_font().families())
                code.setFontFixedPitch(True)
                code.setBackground(QColor(self._colors.code))
                self.cursor.insertText(token.content, code)
            elif token.type in ("softbreak", "hardbreak"):  # as in other chats: models write verses without two spaces
                self.cursor.insertText("\u2028", current)
            elif token.type == "image":
                # Never fetched: the address is a link that the reader may follow.
                link = self._link(str(token.attrs.get("src", "")), current)
                self.cursor.insertText(token.content or str(token.attrs.get("src", "")), link)
            else:
                self.cursor.insertText(token.content, current)

    def _entered(self, token: Token, current: QTextCharFormat) -> QTextCharFormat:
        made = QTextCharFormat(current)
        if token.type == "strong_open":
            made.setFontWeight(QFont.Weight.Bold)
        elif token.type == "em_open":
            made.setFontItalic(True)
        elif token.type == "s_open":
            made.setFontStrikeOut(True)
        elif token.type == "link_open":
            made = self._link(str(token.attrs.get("href", "")), current)
        return made

    def _link(self, address: str, current: QTextCharFormat) -> QTextCharFormat:
        made = QTextCharFormat(current)
        made.setAnchor(True)
        made.setAnchorHref(address)
        made.setToolTip(address)
        made.setForeground(QColor(self._colors.accent))
        made.setFontUnderline(True)
        return made


def _closing(tokens: list[Token], index: int) -> int:
    """The index of the token that closes the one at `index`; its own when it opens nothing."""
    opening = tokens[index]
    if opening.nesting == 0:
        return index
    end = index + 1
    while tokens[end].level != opening.level or tokens[end].nesting != -1:
        end += 1
    return end


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(name, ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None
