"""Find in a conversation: every hit in what its messages show, folded or not made yet, in order; one is the current."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app.library.search import ALONE
from app.ui.shared import theme
from app.ui.text.document_text import Shown
from app.ui.transcript.pieces import Entry, Texts
from app.ui.transcript.transcript import Transcript

SLICE_S = 0.006  # of work between two looks at the event loop
LIVE_MS = 400  # a reply that is being written is searched again this often
MOST = 10_000  # hits; more tell nobody anything
_MARKUP = re.compile(r"[*_`~\\]")
_ACCENT = re.compile("[\u0300-\u036f]")
_LETTERS = re.compile("ss|.", re.DOTALL)
_WORD, _GAP = re.compile(r"[^\W_]+"), r"[\W_]*"

Hit = tuple[int, int, int]  # the pane's place in its piece, and the stretch of its text


class Finder(QObject):
    """`changed` when there are other hits, or another is current. Numbers count from 1."""

    changed = Signal()

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._transcript = transcript
        self._pattern: re.Pattern[str] | None = None
        self._longest = ""  # the pattern's longest word, casefolded: a message without it needs no closer look
        self._left: list[Entry] = []  # still to be searched
        self._current: tuple[Entry, int] | None = None
        self._jump = False  # to the first hit, as soon as there is one
        self._around = ("", "")  # what stands before that, and what from there on
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self.on_slice)
        self._live = QTimer(self, interval=LIVE_MS)
        self._live.timeout.connect(self.on_live)
        transcript.made.connect(self.on_made)
        transcript.shown.connect(self.on_shown)
        theme.theme().changed.connect(self.on_theme_changed)

    # ------------------------------------------------------------ what is looked for

    def find(self, text: str) -> None:
        """This phrase, from what the reader sees on."""
        words = text.split()
        self._begin(r"\s+".join(map(_any_accent, words)), words, self._transcript.first_seen())

    def find_words(self, words: Sequence[str], start: Entry, around: tuple[str, str] = ("", "")) -> None:
        """Any word that begins like one of these, from the piece `start` on: first the one that stands between these
        two, if it is there.
        """
        each = "|".join(map(_any_accent, sorted(filter(None, words), key=len, reverse=True)))
        self._begin(
            rf"(?:\b|(?={ALONE})|(?<={ALONE}))(?:{each})" if each else "",
            (),
            self._transcript.entries.index(start),
            around,
        )

    def clear(self) -> None:
        self._begin("", (), 0)

    def _begin(self, pattern: str, words: Sequence[str], start: int, around: tuple[str, str] = ("", "")) -> None:
        self._pattern = re.compile(pattern, re.IGNORECASE) if pattern else None
        self._longest = max(map(_bare, words), key=len, default="")
        entries = self._transcript.entries
        self._left = [*entries[start:], *entries[:start]] if pattern else []
        self._current, self._jump, self._around = None, bool(pattern), around
        for entry in entries:
            entry.found = ("", "", [])
            self._mark(entry)
        if pattern:
            self._timer.start()
            self._live.start()
            self.on_slice()
        else:
            self._timer.stop()
            self._live.stop()
            self.changed.emit()

    # ------------------------------------------------------------ searching

    def on_slice(self) -> None:
        """Search for a few milliseconds; what is left is searched when the event loop has had its turn."""
        end = time.perf_counter() + SLICE_S
        while self._left and time.perf_counter() < end:
            entry = self._left.pop(0)
            first = self._search(entry)
            if self._jump and entry.found[2]:
                self._jump = False
                self._go(entry, first)
        if not self._left:
            self._timer.stop()
        self.changed.emit()

    def on_live(self) -> None:
        """What has come or changed since is searched too."""
        assert self._pattern is not None
        for entry in self._transcript.entries:
            new = entry.found[0] != self._pattern.pattern
            if entry not in self._left and (new or (entry.widget is not None and entry.found[1] != entry.source)):
                self._search(entry)
                self.changed.emit()

    def _search(self, entry: Entry) -> int:
        """Returns which hit to go to first."""
        assert self._pattern is not None
        source, kind = entry.source, entry.kind
        texts = kind.texts(source) if kind is not None and self._may_hold(source) else []
        hits = [
            (number, *match.span())
            for number, text in enumerate(texts)
            for match in self._pattern.finditer(text)
            if match.group()
        ][:MOST]
        entry.found = (self._pattern.pattern, source, hits)
        self._mark(entry)
        return _between(texts, hits, self._around) if self._jump else 0

    def _may_hold(self, source: str) -> bool:
        """Quick: false only where no hit can be. Markup may stand inside a word, a reference may stand for a letter."""
        if not self._longest.isalnum() or "&" in source or "[" in source:
            return True
        bare = _bare(source)
        return self._longest in bare or self._longest in _MARKUP.sub("", bare)

    @property
    def searching(self) -> bool:
        return bool(self._left)

    @property
    def number(self) -> int:
        """Which hit is current; 0 while there is none."""
        if self._current is None:
            return 0
        entry, place = self._current
        before = 0
        for other in self._transcript.entries:
            if other is entry:
                return before + min(place, len(other.found[2]) - 1) + 1
            before += len(other.found[2])
        return 0

    @property
    def count(self) -> int:
        return sum(len(entry.found[2]) for entry in self._transcript.entries)

    # ------------------------------------------------------------ going from one to the next

    def step(self, by: int) -> None:
        """To the next hit (1) or the one before (-1), round the ends."""
        places = [(entry, place) for entry in self._transcript.entries for place in range(len(entry.found[2]))]
        if not places:
            return
        now = self.number - 1
        self._go(*places[(now + by) % len(places) if now >= 0 else 0])
        self.changed.emit()

    def _go(self, entry: Entry, place: int) -> None:
        before, self._current = self._current, (entry, place)
        number, start, _ = entry.found[2][place]
        if entry.widget is None:
            self._transcript.bring(entry)
        widget = entry.widget
        assert isinstance(widget, Texts)
        pane = widget.reveal(number)
        self._transcript.arrange()
        if before is not None and before[0] is not entry:
            self._mark(before[0])
        self._mark(entry)
        cursor = QTextCursor(pane.document())
        cursor.setPosition(Shown(pane.document()).span(start, start + 1)[0])
        if isinstance(pane, QPlainTextEdit):  # it scrolls by itself
            pane.setTextCursor(cursor)
        inside = pane.viewport().mapTo(widget, pane.cursorRect(cursor).topLeft()).y()
        if not self._transcript.sees(entry, inside):
            self._transcript.bring(entry, inside, margin=self._transcript.viewport().height() // 3)

    # ------------------------------------------------------------ marking

    def _mark(self, entry: Entry) -> None:
        widget = entry.widget
        if not isinstance(widget, Texts):
            return
        hits = entry.found[2]
        current = self._current[1] if self._current is not None and self._current[0] is entry else -1
        for number, pane in enumerate(widget.panes()):
            if pane is not None and (hits or pane.extraSelections()):
                chosen = [(place, hit) for place, hit in enumerate(hits) if hit[0] == number]
                text = Shown(pane.document()) if chosen else None
                pane.setExtraSelections(list(_marks(pane, text, chosen, current)))

    def on_made(self, entry: Entry) -> None:
        if self._pattern is not None:
            if entry.found[0] != self._pattern.pattern and entry not in self._left:
                self._left.append(entry)
                self._timer.start()
            self._mark(entry)

    def on_shown(self) -> None:
        """Another conversation: the same is looked for there."""
        if self._pattern is not None:
            self._current, self._left = None, list(self._transcript.entries)
            self._timer.start()

    def on_theme_changed(self) -> None:
        for entry in self._transcript.entries:
            if entry.found[2]:
                self._mark(entry)


def _between(texts: Sequence[str], hits: Sequence[Hit], around: tuple[str, str]) -> int:
    """Which hit stands between these two, as their words tell, without the source's markup; else the first."""
    before, behind = map(_WORD.findall, around)
    for reach in (4, 1, 0) if behind else ():
        head = "".join(re.escape(word) + _GAP for word in before[len(before) - min(reach, len(before)) :])
        place = re.compile(f"{head}({_GAP.join(map(re.escape, behind[: reach + 1]))})")
        for number, text in enumerate(texts):
            if (match := place.search(text)) is not None:
                spot = (number, match.start(1))
                return next((i for i, hit in enumerate(hits) if hit[:2] == spot), 0)
    return 0


def _bare(text: str) -> str:
    """In small letters and without accents. The marks of other scripts make other letters, and stay."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text.casefold())))


def _any_accent(word: str) -> str:
    """A pattern for a word with its accents or without: "resume" finds "résumé", as the search over all does."""
    return "".join(map(_any_form, _LETTERS.findall(_bare(word) or word)))


def _any_form(letter: str) -> str:
    if letter == "ss":
        return f"(?:ß|{_any_form('s') * 2})"
    if not letter.isalpha():
        return re.escape(letter)
    parts = unicodedata.normalize("NFD", letter)  # as some programs write kana and Hangul
    apart = "" if parts == letter else f"|{parts}"
    return f"(?:[{letter}{_accented().get(letter, '')}]{apart})[\u0300-\u036f]*"


@lru_cache(maxsize=1)
def _accented() -> dict[str, str]:
    """Each letter's forms with accents, of the scripts that write them in one."""
    forms: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000)):
        if len(bare := _bare(chr(code))) == 1 and bare != chr(code):
            forms[bare] = forms.get(bare, "") + chr(code)
    return forms


def _marks(
    pane: QTextEdit | QPlainTextEdit, text: Shown | None, hits: Sequence[tuple[int, Hit]], current: int
) -> Iterator[QTextEdit.ExtraSelection]:
    colors = theme.colors()
    last = pane.document().characterCount() - 1
    for place, (_, start, end) in hits:
        assert text is not None
        if end > len(text.text):
            continue  # the pane shows less than its source says by now
        cursor, style = QTextCursor(pane.document()), QTextCharFormat()
        first, behind = text.span(start, end)
        cursor.setPosition(min(first, last))
        cursor.setPosition(min(behind, last), QTextCursor.MoveMode.KeepAnchor)
        style.setBackground(QColor(colors.warn if place == current else colors.found))
        style.setForeground(QColor(colors.on_accent if place == current else colors.text))
        mark = QTextEdit.ExtraSelection()
        mark.cursor, mark.format = cursor, style  # type: ignore[attr-defined]
        yield mark
