"""Parsed markdown put into a QTextDocument. What its formats can't draw is left as properties for `text_pane`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)

from app.ui.shared import formats, theme
from app.ui.text import formula
from app.ui.text.code_colors import colored
from app.ui.text.document_text import LINE, OBJECT, Property

SIZE, QUIET_SIZE = 1.06, 0.97  # of running text, of thoughts
INDENT = 22
DEEPEST = 10  # levels that are moved in; more would leave no room for the text
CODE_PADDING = 11.0
CODE_HEADER = 26.0  # the strip above the code, for its language and the copy button
# Highlighting costs about a microsecond a character: beyond this a block stays plain rather than hold up the window.
HIGHLIGHT_LIMIT = 40_000
BULLETS = "•◦▪"
LONGEST_ADDRESS = 120
# Letters that would break a document's structure: a paragraph's end, a table's edges, an object's place.
_UNSAFE = {ord("\n"): LINE, 0x2029: LINE, 0xFDD0: "\ufffd", 0xFDD1: "\ufffd", ord(OBJECT): "\ufffd"}


@dataclass(frozen=True)
class Place:
    """Where a block stands: levels of lists and quotes, the levels that have a quote's bar, the bullets' depth, and the
    marker that its first line still owes.
    """

    indent: int = 0
    quotes: tuple[int, ...] = ()
    bullets: int = 0
    marker: str = ""

    @property
    def left(self) -> float:
        return min(self.indent, DEEPEST) * theme.at_scale(INDENT)


class Scribe:
    """Puts parsed blocks at a cursor. `fresh`: the cursor's block is empty and takes the next text.

    Formulas are set for about `setting_s` seconds; the others stay their source. `quiet`: for thoughts.
    """

    def __init__(self, cursor: QTextCursor, fresh: bool, *, setting_s: float, quiet: bool = False) -> None:
        self.cursor, self.fresh = cursor, fresh
        self.left_out: list[tuple[str, bool]] = []  # formulas for which there was no time, and whether for display
        self.highlight_limit = HIGHLIGHT_LIMIT
        self._setting_s = setting_s
        self._colors = theme.colors()
        self._base = QTextCharFormat()
        self._base.setFont(theme.font(QUIET_SIZE if quiet else SIZE))
        self._base.setForeground(QColor(self._colors.muted if quiet else self._colors.text))
        self._mono = QTextCharFormat(self._base)
        self._mono.setFont(theme.mono_font(0.97))

    def write(self, tokens: list[Token], number: int | None = None, *, ends_list: bool = True) -> None:
        """One block; a list's items may come one by one: `number` is that of the first."""
        if tokens[0].type in ("bullet_list_open", "ordered_list_open"):
            self._list(tokens[0], tokens[1:-1], Place(), number)
        else:
            self._blocks(tokens, Place())
        if ends_list and not self.fresh:  # its last line keeps a paragraph's distance from what follows
            last = self.cursor.blockFormat()
            last.setBottomMargin(max(last.bottomMargin(), 9))
            self.cursor.setBlockFormat(last)

    # ------------------------------------------------------------ blocks

    def _blocks(self, tokens: list[Token], place: Place) -> None:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            end = closing(tokens, index)
            inner = tokens[index + 1 : end]
            kind = token.type
            if kind == "paragraph_open":
                self._begin(place)
                self._inline(inner[0], self._base)
                self._mirror()
            elif kind == "heading_open":
                self._heading(int(token.tag[1]), inner[0], place)
            elif kind in ("fence", "code_block"):
                self._code(token, place)
            elif kind == "blockquote_open":
                quotes = (*place.quotes, place.indent) if place.indent < DEEPEST else place.quotes
                self._blocks(inner, replace(place, quotes=quotes, indent=place.indent + 1))
            elif kind in ("bullet_list_open", "ordered_list_open"):
                if place.marker:  # a list as a list's first line
                    self._begin(place)
                self._list(token, inner, replace(place, marker=""))
            elif kind == "table_open":
                if place.marker:
                    self._begin(place)
                self._table(inner, place)
            elif kind == "formula_block":
                self._formula(token, place)
            elif kind == "too_deep":
                self._begin(place)
                self._put(token.content, self._base)
            elif kind == "hr":
                self._rule(place)
            place = replace(place, marker="")
            index = end + 1

    def _begin(self, place: Place, *, above: float = 0, below: float = 9) -> QTextBlockFormat:
        """Start a text block; its format says what the painter adds."""
        block = QTextBlockFormat()
        block.setLineHeight(128, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        block.setTopMargin(above)
        block.setBottomMargin(4 if place.indent else below)
        block.setLeftMargin(place.left)
        if place.quotes:
            block.setProperty(Property.QUOTE, list(place.quotes))
        if place.marker:
            block.setProperty(Property.MARKER, place.marker)
        self._place(block, self._base)
        return block

    def _place(self, block: QTextBlockFormat, text: QTextCharFormat) -> None:
        if self.fresh:
            self.cursor.setBlockFormat(block)
            self.cursor.setBlockCharFormat(text)
        else:
            self.cursor.insertBlock(block, text)
        self.fresh = False

    def _put(self, text: str, style: QTextCharFormat) -> None:
        self.cursor.insertText(text.translate(_UNSAFE), style)

    def _heading(self, level: int, inline: Token, place: Place) -> None:
        above = 20 if level < 3 else 15
        self._begin(place, above=0 if self.cursor.position() == 0 else above, below=6)
        text = QTextCharFormat(self._base)
        text.setFont(theme.font({1: 1.45, 2: 1.28, 3: 1.14}.get(level, 1.06), bold=True))
        self._inline(inline, text)
        self._mirror()

    def _mirror(self) -> None:
        """A text that runs from right to left is moved in from the right."""
        block = self.cursor.blockFormat()
        if block.leftMargin() and self.cursor.block().textDirection() == Qt.LayoutDirection.RightToLeft:
            block.setRightMargin(block.leftMargin())
            block.setLeftMargin(0)
            self.cursor.setBlockFormat(block)

    def _rule(self, place: Place) -> None:
        block = self._begin(place, below=14)
        block.setLineHeight(8, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        block.setProperty(Property.RULE, True)
        self.cursor.setBlockFormat(block)

    def _list(self, token: Token, inner: list[Token], place: Place, number: int | None = None) -> None:
        ordered = token.type == "ordered_list_open"
        if ordered and number is None:
            number = int(token.attrs.get("start", 1))
        bullets = place.bullets if ordered else place.bullets + 1
        bullet = BULLETS[place.bullets % len(BULLETS)]
        index = 0
        while index < len(inner):
            end = closing(inner, index)
            marker = f"{number}." if ordered else bullet
            done = inner[index].meta.get("done")
            if done is not None:
                marker = "☑" if done else "☐"
            inside = replace(place, indent=place.indent + 1, marker=marker, bullets=bullets)
            item = inner[index + 1 : end]
            if item:
                self._blocks(item, inside)
            else:
                self._begin(inside)
            number = None if number is None else number + 1
            index = end + 1

    def _code(self, token: Token, place: Place) -> None:
        if place.marker:
            self._begin(place)
        if self.fresh and self.cursor.position() > 0:  # behind a table, whose end takes no margin above
            self.fresh = False
        block = QTextBlockFormat()
        block.setLeftMargin(place.left + CODE_PADDING)
        block.setRightMargin(CODE_PADDING)
        below_code = not self.fresh and self.cursor.blockFormat().hasProperty(Property.CODE)
        block.setTopMargin(CODE_HEADER + (CODE_PADDING if below_code else 0) + 9)
        block.setBottomMargin(CODE_PADDING + 12)
        block.setLineHeight(122, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        block.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        block.setAlignment(Qt.AlignmentFlag.AlignLeft)
        if place.quotes:
            block.setProperty(Property.QUOTE, list(place.quotes))
        block.setProperty(Property.CODE, True)
        language = next(iter(token.info.split()), "")
        block.setProperty(Property.LANGUAGE, language)
        self._place(block, self._mono)
        source = token.content.removesuffix("\n")
        for piece, color in colored(source, language if len(source) <= self.highlight_limit else "", self._colors):
            shade = QTextCharFormat(self._mono)
            shade.setForeground(QColor(color))
            self._put(piece, shade)

    def _formula(self, token: Token, place: Place) -> None:
        block = self._begin(place, above=4, below=10)
        block.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        block.setLineHeight(100, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        self.cursor.setBlockFormat(block)
        self._put_formula(token.content, True, self._base)
        self._put(token.info, self._base)

    def _put_formula(self, source: str, display: bool, current: QTextCharFormat) -> None:
        style = None
        if self._setting_s > 0:
            begun = time.thread_time()
            style = formula.style(current, source, display)
            self._setting_s -= time.thread_time() - begun
        else:
            self.left_out.append((source, display))
        if style is None:
            self._put(source, self._code_format(current))
        else:
            self.cursor.insertText(OBJECT, style)

    # ------------------------------------------------------------ tables

    def _table(self, tokens: list[Token], place: Place) -> None:
        rows: list[list[tuple[Token, Token]]] = []
        for position, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                rows[-1].append((token, tokens[position + 1]))
        columns = max(len(row) for row in rows)
        table = self.cursor.insertTable(len(rows), columns, self._table_format(columns, place))
        for row_index, row in enumerate(rows):
            for column, (cell, inline) in enumerate(row):
                self._cell(table, row_index, column, cell, inline)
        self.cursor = table.lastCursorPosition()
        self.cursor.movePosition(QTextCursor.MoveOperation.NextBlock)
        # A document can't end with a table: the empty line behind it takes no room until text comes.
        block = QTextBlockFormat()
        block.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self.cursor.setBlockFormat(block)
        self.fresh = True

    def _table_format(self, columns: int, place: Place) -> QTextTableFormat:
        style = QTextTableFormat()
        style.setBorder(1)
        style.setBorderCollapse(True)
        style.setBorderBrush(QBrush(QColor(self._colors.line)))
        style.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        style.setCellPadding(6)
        # A frame takes no notice of the margin below the block before it.
        below_code = self.cursor.block().blockFormat().hasProperty(Property.CODE)
        style.setTopMargin(CODE_PADDING + 12 if below_code else 4)
        style.setBottomMargin(12)
        style.setLeftMargin(place.left)
        style.setHeaderRowCount(1)
        style.setColumnWidthConstraints([QTextLength()] * columns)
        return style

    def _cell(self, table: QTextTable, row: int, column: int, cell: Token, inline: Token) -> None:
        place = table.cellAt(row, column)
        text = QTextCharFormat(self._base)
        if cell.type == "th_open":
            text.setFontWeight(QFont.Weight.DemiBold)
            shade = place.format()
            shade.setBackground(QColor(self._colors.code))
            place.setFormat(shade)
        self.cursor = place.firstCursorPosition()
        block = QTextBlockFormat()
        if "right" in str(cell.attrs.get("style", "")):
            block.setAlignment(Qt.AlignmentFlag.AlignRight)
        elif "center" in str(cell.attrs.get("style", "")):
            block.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.cursor.setBlockFormat(block)
        self._inline(inline, text)

    # ------------------------------------------------------------ text inside a block

    def _inline(self, inline: Token, base: QTextCharFormat) -> None:
        styles = [base]
        for token in inline.children or []:
            current = styles[-1]
            if token.nesting == 1:
                styles.append(self._entered(token, current))
            elif token.nesting == -1:
                styles.pop()
            elif token.type == "code_inline":
                self._put(token.content, self._code_format(current))
            elif token.type == "formula_inline":
                self._put_formula(token.content, bool(token.meta["display"]), current)
            elif token.type in ("softbreak", "hardbreak"):  # as in other chats: models write verses without two spaces
                self._put("\n", current)
            elif token.type == "image":  # never fetched: its address is a link that the reader may follow
                address = str(token.attrs.get("src", ""))
                shown = formats.short(address, LONGEST_ADDRESS)
                self._put(f"{token.content} ({shown})" if token.content else shown, self._link(address, current))
            else:
                self._put(token.content, current)

    def _code_format(self, current: QTextCharFormat) -> QTextCharFormat:
        made = QTextCharFormat(current)
        made.setFontFamilies(theme.mono_font().families())
        made.setFontFixedPitch(True)
        made.setBackground(QColor(self._colors.code))
        return made

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
        made.setToolTip(formats.tip(address))
        made.setForeground(QColor(self._colors.accent))
        made.setFontUnderline(True)
        return made


def closing(tokens: list[Token], index: int) -> int:
    """The index of the token that closes the one at `index`; its own when it opens nothing."""
    opening = tokens[index]
    if opening.nesting == 0:
        return index
    end = index + 1
    while tokens[end].level != opening.level or tokens[end].nesting != -1:
        end += 1
    return end
