"""What a search over all conversations found: their titles, and lines of their messages, with the hits marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QFrame, QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.library.records import Conversation
from app.library.search import MARK, UNMARK, Hit
from app.ui.conversations.conversation_list import paint_row
from app.ui.shared import formats, theme
from app.ui.shared.painting import saved

Index = QModelIndex | QPersistentModelIndex
RESULT_ROLE = Qt.ItemDataRole.UserRole
LINES = 2  # of a message
MOST_TITLES = 100  # more words find fewer


@dataclass(frozen=True)
class Result:
    """A line of the list. `message` is empty for a conversation's own line; `marks` are (start, length) of the hits."""

    conversation: str
    message: str
    text: str
    marks: tuple[tuple[int, int], ...]

    @property
    def around(self) -> tuple[str, str]:
        """What stands before the first hit, and what from there on."""
        place = self.marks[0][0] if self.marks else 0
        return self.text[:place], self.text[place:]


def results(conversations: Sequence[Conversation], hits: Iterable[Hit], words: Sequence[str]) -> list[Result]:
    """Those whose titles hold every word, in the list's order, then those whose messages do, the latest first."""
    titled = islice((c.id for c in conversations if in_title(c.title, words)), MOST_TITLES)
    found: dict[str, list[Result]] = {conversation: [] for conversation in titled}
    for hit in hits:
        found.setdefault(hit.conversation, []).append(Result(hit.conversation, hit.message, *unmark(hit.snippet)))
    titles = {c.id: c.title for c in conversations if c.id in found}
    made = []
    for conversation, lines in found.items():
        if (title := titles.get(conversation)) is not None:
            made += [Result(conversation, "", title, title_marks(title, words)), *lines]
    return made


def in_title(title: str, words: Sequence[str]) -> bool:
    folded = title.casefold()
    return all(word in folded for word in words)


def title_marks(title: str, words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where the words stand; letters that change their number when folded (ß, İ) leave a title unmarked."""
    folded = title.casefold()
    if len(folded) != len(title):
        return ()
    places = [(folded.find(word), len(word)) for word in words]
    return tuple((start, length) for start, length in places if start >= 0)


def unmark(snippet: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A snippet of the index on one line, and where its hits stand."""
    text, marks = "", []
    for number, part in enumerate(snippet.split(MARK)):
        hit, _, rest = part.partition(UNMARK) if number else ("", "", part)
        if hit:
            marks.append((len(text), len(hit)))
        text += _flat(hit) + _flat(rest)
    return text, tuple(marks)


def _flat(text: str) -> str:
    """On one line, without markdown's stars and backticks."""
    return "".join(" " if letter.isspace() else letter for letter in text if letter not in "*`")


class ResultModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.results: list[Result] = []

    def set_results(self, found: list[Result]) -> None:
        if found != self.results:
            self.beginResetModel()
            self.results = found
            self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.results)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        result = self.results[index.row()]
        if role == RESULT_ROLE:
            return result
        if role == Qt.ItemDataRole.ToolTipRole:
            return formats.tip(result.text)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return result.text or self.tr("New conversation")
        return None


class ResultDelegate(QStyledItemDelegate):
    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        result: Result = index.data(RESULT_ROLE)
        if result.message:
            return QSize(100, LINES * QFontMetrics(theme.font(theme.SMALL)).lineSpacing() + 10)
        return QSize(100, QFontMetrics(theme.font(bold=True)).height() + (18 if index.row() else 10))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        result: Result = index.data(RESULT_ROLE)
        colors = theme.colors()
        rect: QRect = option.rect  # type: ignore[attr-defined]  # the stubs lack it
        with saved(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_row(painter, option)
            if result.message:
                painter.setPen(QColor(colors.muted))
                area = rect.adjusted(18, 5, -8, -5)
                _draw(painter, area, result.text, result.marks, theme.font(theme.SMALL), LINES)
            else:
                painter.setPen(QColor(colors.text))
                font = theme.font(bold=True)
                area = rect.adjusted(10, rect.height() - QFontMetrics(font).height() - 4, -8, -4)
                _draw(painter, area, str(index.data()), result.marks, font, 1)


def _draw(painter: QPainter, area: QRect, text: str, marks: Sequence[tuple[int, int]], font: QFont,
          lines: int) -> None:  # fmt: skip
    """`text` in a few lines, its marks in the colour of a hit; what has no room ends in an ellipsis."""
    shown, marks = excerpt(text, marks, font, area.width(), lines)
    layout = QTextLayout(shown, font)
    hit = QTextCharFormat()
    hit.setForeground(QColor(theme.colors().text))
    hit.setBackground(QColor(theme.colors().found))
    room = len(shown)
    layout.setFormats([_range(start, min(length, room - start), hit) for start, length in marks if start < room])
    _lay_out(layout, area.width(), lines)
    layout.draw(painter, QPointF(area.topLeft()))


def excerpt(
    text: str, marks: Sequence[tuple[int, int]], font: QFont, width: int, lines: int
) -> tuple[str, Sequence[tuple[int, int]]]:
    """What of `text` fits, with the first mark in it, and where the marks stand there. What comes before a mark that
    would be cut gives way: up to the mark's own line, or all of it.
    """
    shown, end = _fitting(text, font, width, lines)
    if not marks or sum(marks[0]) <= end:
        return shown, marks
    first, length = marks[0]
    starts = _lay_out(QTextLayout(text, font), width, len(text))
    for start in (max(start for start in starts if start <= first), first):
        shown, end = _fitting(f"…{text[start:]}", font, width, lines)
        if first - start + 1 + length <= end:
            break
    return shown, [(place - start + 1, size) for place, size in marks if place >= start]


def _fitting(text: str, font: QFont, width: int, lines: int) -> tuple[str, int]:
    """What of `text` is shown, and how much of it is there before the ellipsis."""
    last = _lay_out(QTextLayout(text, font), width, lines)[-1]
    rest = QFontMetrics(font).elidedText(text[last:], Qt.TextElideMode.ElideRight, width)
    whole = rest == text[last:]
    return text[:last] + rest, len(text) if whole else last + len(rest) - 1


def _lay_out(layout: QTextLayout, width: int, lines: int) -> list[int]:
    """Break the text into so many lines at most. Returns where each begins."""
    option = QTextOption(Qt.AlignmentFlag.AlignLeading)
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    starts: list[int] = []
    y = 0.0
    layout.beginLayout()
    while len(starts) < lines and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        line.setPosition(QPointF(0, y))
        y += line.height()
        starts.append(line.textStart())
    layout.endLayout()
    return starts or [0]


def _range(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    made: Any = QTextLayout.FormatRange()  # the stubs lack its fields
    made.start, made.length, made.format = start, length, form
    return made


class ResultList(QListView):
    """`chosen(Result)` by a click or Enter; `left` with Escape."""

    chosen = Signal(object)
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Found"))
        self.results = ResultModel(self)
        self.setModel(self.results)
        self.setItemDelegate(ResultDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self.on_chosen)
        self.activated.connect(self.on_chosen)

    def on_chosen(self, index: QModelIndex) -> None:
        self.chosen.emit(index.data(RESULT_ROLE))

    def choose_first(self) -> None:
        if self.results.results:
            first = self.results.index(next((i for i, r in enumerate(self.results.results) if r.message), 0))
            self.setCurrentIndex(first)
            self.on_chosen(first)

    def enter(self) -> None:
        """From the field above."""
        if self.results.results:
            self.setFocus()
            if not self.currentIndex().isValid():
                self.setCurrentIndex(self.results.index(0))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # not the window's Stop
            if event.type() == QEvent.Type.KeyPress:
                self.left.emit()
            return True
        return super().event(event)
