r"""LaTeX as it is set in print: a formula is one object in a text, drawn from outlines, whose source is what is copied.

ziamath sets it. What that can't read or draw stays text: a formula is never shown in part.
"""

from __future__ import annotations

import importlib
import logging
import re
import threading
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF
from PySide6.QtGui import QFontMetricsF, QPainter, QPyTextObject, QTextCharFormat, QTextDocument, QTextFormat
from PySide6.QtSvg import QSvgRenderer

log = logging.getLogger(__name__)

KIND = int(QTextFormat.ObjectTypes.UserObject) + 1
SOURCE = int(QTextFormat.Property.UserProperty) + 21  # as the model wrote it, with its delimiters
DISPLAY = int(QTextFormat.Property.UserProperty) + 22  # True: on a line of its own
LONGEST = 1500  # letters; setting takes about 0.3 ms for one
MOST_EFFORT = 1000  # a quarter of a second; formulas in papers take 20 to 200
LARGEST = 20_000  # pixels, at _UNIT
_UNIT = 32.0  # pixels to the em that formulas are set at; drawing scales them
_X_HEIGHT = 0.467 * _UNIT  # of the font that formulas are set in
_SMALLEST = 0.45  # a formula that is wider than its column is made smaller, down to this
# These would give commands a meaning that the parser doesn't bound.
_PROGRAMS = re.compile(r"\\(?:(?:re)?newcommand|(?:g|e|x)?def|let|newenvironment|input|include)\b")
_LEVELS = re.compile(r"(?P<opens>\\begin\b|\\left\b|(?<!\\)\{)|\\end\b|\\right\b|(?<!\\)\}")
_REMARKS = re.compile(r"\\(?:label|require)\s*\{[^{}]*\}|\\(?:nonumber|notag)\b")
_NUMBER = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")


@dataclass(frozen=True)
class Formula:
    """Outlines at `_UNIT` pixels to the em: their width, and how far they reach above and below the baseline."""

    svg: str
    width: float
    ascent: float
    descent: float


@lru_cache(maxsize=1)
def prepare() -> threading.Thread:
    """Read what setting needs beside what else goes on, so that the first formula doesn't wait for it."""
    thread = threading.Thread(target=importlib.import_module, args=("ziamath",), name="formulas")
    thread.start()
    return thread


@lru_cache(maxsize=2048)
def typeset(source: str, display: bool) -> Formula | None:
    """Set `source`, with or without its delimiters. None where that can't be done."""
    latex = _NUMBER.sub(r"\\qquad(\1)", _REMARKS.sub("", bare(source)))
    if not latex or len(latex) > LONGEST or _PROGRAMS.search(latex) or _effort(latex) > MOST_EFFORT:
        return None
    # Not imported before it is needed: see `prepare`.
    import ziafont
    import ziamath

    ziamath.config.svg2 = ziafont.config.svg2 = False  # Qt draws SVG 1
    try:
        made = ziamath.Latex(latex, size=_UNIT, color="#010203", inline=not display, margin=0)
        letters = "".join(made.mathml.itertext())
        if any(made.font.glyphindex(letter) == 0 for letter in set(letters) if letter.isprintable()):
            return None
        box = made.node.bbox
        width, height = box.xmax - box.xmin, box.ymax - box.ymin
        if not (0 < width < LARGEST and 0 < height < LARGEST):
            return None  # nothing to see, or a length out of all reason
        return Formula(made.svg(), width, box.ymax, -box.ymin)
    except Exception as error:  # a parser of foreign text: it raises what it likes
        log.debug("a formula stays text: %r", error)
        return None


def _effort(latex: str) -> int:
    """What setting it takes, about: the setter's work doubles with each level of nesting."""
    effort = depth = 0
    for found in _LEVELS.finditer(latex):
        if found["opens"]:
            depth += 1
            effort += 2 ** min(depth, 30)
        else:
            depth = max(0, depth - 1)
    return effort


def bare(source: str) -> str:
    """Without its delimiters."""
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        if source.startswith(opening) and source.endswith(closing) and len(source) >= 2 * len(opening):
            return source[len(opening) : -len(closing)].strip()
    return source.strip()


@lru_cache(maxsize=256)
def _renderer(formula: Formula, color: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(formula.svg.replace("#010203", color).encode()))


def style(base: QTextCharFormat, source: str, display: bool) -> QTextCharFormat | None:
    """The format of the one character that stands for the formula; None where it stays text."""
    formula = typeset(source, display)
    if formula is None:
        return None
    made = QTextCharFormat(base)
    made.setObjectType(KIND)
    made.setProperty(SOURCE, source)
    made.setProperty(DISPLAY, display)
    # Qt sets an object on the baseline, or around the middle of the line. What reaches far below takes the second.
    if formula.descent * _scale(base) > QFontMetricsF(base.font()).descent() * 1.6:
        made.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
    return made


def _scale(text: QTextCharFormat) -> float:
    """A formula's small letters are as high as those of the text around it."""
    return QFontMetricsF(text.font()).xHeight() / _X_HEIGHT


class FormulaObject(QPyTextObject):
    """Tells a document's layout how large a formula is, and draws it."""

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:
        text = form.toCharFormat()
        formula, scale = self._found(document, position, text)
        if formula is None:
            return QSizeF()
        above, below, half = formula.ascent * scale, formula.descent * scale, self._half(text)
        if half:
            return QSizeF(formula.width * scale, max(2 * above - half, 2 * below + half))
        return QSizeF(formula.width * scale, above)

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, position: int, form: QTextFormat
    ) -> None:
        text, rect = form.toCharFormat(), QRectF(rect)
        formula, scale = self._found(document, position, text)
        if formula is None:
            return
        half = self._half(text)
        baseline = rect.top() + (rect.height() + half) / 2 if half else rect.bottom()
        place = QRectF(rect.left(), baseline - formula.ascent * scale,
                       formula.width * scale, (formula.ascent + formula.descent) * scale)  # fmt: skip
        _renderer(formula, text.foreground().color().name()).render(painter, place)

    def _half(self, text: QTextCharFormat) -> float:
        """Half the height of an x, around which Qt centres; 0 on the baseline."""
        middle = text.verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle
        return QFontMetricsF(text.font()).xHeight() / 2 if middle else 0.0

    def _found(self, document: QTextDocument, position: int, text: QTextCharFormat) -> tuple[Formula | None, float]:
        """The formula and its scale: smaller where its column is narrow."""
        formula, scale = typeset(str(text.property(SOURCE)), bool(text.property(DISPLAY))), _scale(text)
        if formula is not None and document.textWidth() > 0:
            block = document.findBlock(position).blockFormat()
            room = document.textWidth() - block.leftMargin() - block.rightMargin()
            if formula.width * scale > room:
                scale *= max(room / (formula.width * scale), _SMALLEST)
        return formula, scale
