"""Replies on screen: thoughts folded with their time, selections that last, odd texts whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QTextCursor, QTextDocument, QTextOption
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.events import TurnFinished
from app.ui.shared import theme
from app.ui.text import formula
from app.ui.text.document_text import Shown
from app.ui.text.markdown import MarkdownWriter, shown
from app.ui.transcript.reply_view import ReplyFigures, ReplyView
from app.ui.transcript.sections import AnswerSection, MarkdownPane, ThinkingSection
from app.ui.transcript.user_bubble import UserBubble
from tests.ui.conftest import Bench

FIGURES = ReplyFigures("turbo4", 100, 50.0, 20, 0)


@pytest.fixture
def view(qtbot: QtBot) -> ReplyView:
    made = ReplyView()
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.show()
    formula.prepare().join()
    return made


def feed(view: ReplyView, *pieces: str) -> None:
    for piece in pieces:
        view.add_text(piece)
        view.on_flush()


def thoughts(view: ReplyView) -> list[ThinkingSection]:
    return [section for section in view._sections if isinstance(section, ThinkingSection)]


def answers(view: ReplyView) -> list[str]:
    return [section.toPlainText() for section in view._sections if isinstance(section, AnswerSection)]


# ---------------------------------------------------------------- thoughts


def test_thoughts_are_live_then_folded_with_their_time(view: ReplyView, qtbot: QtBot) -> None:
    feed(view, "<thi", "nk>\nLet me ", "see. It")
    (section,) = thoughts(view)
    assert section.header.isChecked()
    assert section.header.text().startswith("Thinking…")
    assert section.pane is not None
    assert section.pane.toPlainText() == "Let me see. It"
    assert answers(view) == []
    section._begun -= 12
    feed(view, " is so.</th", "ink>\n\nThe ans")
    assert section is thoughts(view)[0]
    assert not section.header.isChecked()
    assert section.header.text().startswith("Thought for 12 s  ·  6 word")
    assert answers(view) == ["The ans"]
    assert not section.reveal_pane()._caret
    view.finish("<think>\nLet me see. It is so.</think>\n\nThe answer.", FIGURES)
    assert section.header.text().startswith("Thought for 12 s  ·  6 word")
    assert answers(view) == ["The answer."]
    assert view.answer() == "The answer."


def test_they_unfold_by_mouse_and_by_keyboard(view: ReplyView) -> None:
    view.finish("<think>why</think>so", FIGURES)
    (section,) = thoughts(view)
    assert section.pane is None
    QTest.mouseClick(section.header, Qt.MouseButton.LeftButton)
    assert section.pane is not None
    assert section.pane.isVisible()
    assert section.pane.toPlainText() == "why"
    section.header.setFocus()
    QTest.keyClick(section.header, Qt.Key.Key_Space)
    assert section.pane is None


def test_thoughts_that_the_reader_folded_stay_folded(view: ReplyView) -> None:
    feed(view, "<think>a")
    (section,) = thoughts(view)
    section.header.click()
    feed(view, " b", " c")
    assert not section.header.isChecked()
    section.header.click()
    assert section.pane is not None
    assert section.pane.toPlainText() == "a b c"
    feed(view, "</think>so")
    assert section.header.isChecked()


def test_a_stored_reply_tells_about_how_long(view: ReplyView) -> None:
    view.finish("<think>" + "why " * 300 + "</think>" + "so " * 100, ReplyFigures("turbo4", 1000, 50.0))
    assert thoughts(view)[0].header.text().startswith("Thought for about 16 s  ·  300 word")


def test_thoughts_without_an_answer_are_shown(view: ReplyView) -> None:
    view.finish("<think>never closed", ReplyFigures(state="length"))
    (section,) = thoughts(view)
    assert section.pane is not None
    assert section.pane.isVisible()
    assert section.header.text().startswith("Thoughts that were cut off")
    assert view.answer() == "<think>never closed"


def test_what_looked_like_an_answer_turns_out_as_thoughts(view: ReplyView) -> None:
    feed(view, "I wonder.\n")
    assert answers(view) == ["I wonder."]
    feed(view, "</think>\n", "So it is.")
    assert answers(view) == ["So it is."]
    assert len(thoughts(view)) == 1


def test_a_failed_reply_keeps_its_thoughts(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "<think>a b c"
    bench.say("Go")
    (view,) = bench.items(ReplyView)
    assert thoughts(view)[0].pane is not None


def test_a_reply_with_thoughts_goes_through_the_window(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "<think>\nfirst this\n</think>\n\nThe **answer**."
    bench.say("Go")
    (view,) = bench.items(ReplyView)
    assert answers(view) == ["The answer."]
    assert not thoughts(view)[0].header.isChecked()
    view.tools.copy.click()
    assert QGuiApplication.clipboard().text() == "The **answer**."
    current = bench.chat.current
    bench.chat.new()
    bench.chat.open(current)
    (view,) = bench.items(ReplyView)
    assert answers(view) == ["The answer."]


def test_texts_from_right_to_left_are_moved_in_from_the_right(view: ReplyView) -> None:
    view.finish("- שלום\n- hello\n\n> שלום", FIGURES)
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    block, margins = pane.document().begin(), []
    while block.isValid():
        style = block.blockFormat()
        margins.append((style.leftMargin() > 0, style.rightMargin() > 0))
        block = block.next()
    assert margins == [(False, True), (True, False), (False, True)]


# ---------------------------------------------------------------- selections, colours


def select(pane: MarkdownPane, words: str) -> None:
    start = pane.toPlainText().index(words)
    cursor = QTextCursor(pane.document())
    cursor.setPosition(start)
    cursor.setPosition(start + len(words), QTextCursor.MoveMode.KeepAnchor)
    pane.setTextCursor(cursor)


@pytest.mark.parametrize("words", ["first paragraph", "paragraph.\nThe open", "open one"])
def test_a_selection_stays_while_text_comes_in(view: ReplyView, words: str) -> None:
    feed(view, "The first paragraph.\n\nThe open one goes")
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    select(pane, words)
    feed(view, " on", " and **on**", ".\n\n- and\n", "- on\n")
    assert pane.textCursor().selectedText().replace("\u2029", "\n") == words
    theme.theme().force(True)
    assert pane.textCursor().selectedText().replace("\u2029", "\n") == words
    theme.theme().force(False)
    view.finish(view.source(), FIGURES)
    assert pane.textCursor().selectedText().replace("\u2029", "\n") == words


def test_a_reply_out_of_sight_takes_new_colours_when_it_is_seen(view: ReplyView) -> None:
    view.finish("Some text.", FIGURES)
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    view.hide()
    theme.theme().force(True)
    view.show()
    color = pane.document().begin().begin().fragment().charFormat().foreground().color()
    assert color == QColor(theme.colors().text)
    theme.theme().force(False)


def test_messages_follow_the_size_and_colours_of_the_theme(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "1. an **answer**\n\n```\ncode\n```"
    bench.say("A question")
    (bubble,), (view,) = bench.items(UserBubble), bench.items(ReplyView)
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    before = bubble.height(), view.height()
    indent = pane.document().begin().blockFormat().leftMargin()
    theme.theme().set_scale(1.5)
    theme.theme().force(True)
    QApplication.processEvents()
    assert bubble.height() > before[0]
    assert view.height() > before[1]
    assert pane.document().begin().blockFormat().leftMargin() == indent * 1.5, "a list's marker has room"
    assert bubble._pane.palette().text().color() == QColor(theme.DARK.text)
    theme.theme().set_scale(1.0)
    theme.theme().force(False)
    QApplication.processEvents()
    assert (bubble.height(), view.height()) == before


def luminance(color: str) -> float:
    parts = [value / 255 for value in QColor(color).getRgb()[:3]]
    red, green, blue = (value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_code_and_marks_can_be_read(colors: theme.Colors) -> None:
    on_code = [colors.text, colors.keyword, colors.string, colors.number, colors.name, colors.comment, colors.muted]
    pairs = [(color, colors.code) for color in (*on_code, colors.bad)]
    pairs += [(colors.text, colors.found), (colors.on_accent, colors.warn), (colors.muted, colors.background)]
    for front, back in pairs:
        light, dark = sorted((luminance(front), luminance(back)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, back)


# ---------------------------------------------------------------- formulas


def drawn(text: str) -> str:
    """The text with each drawn formula in double angle brackets."""
    document = QTextDocument()
    MarkdownWriter(document).complete(text)
    sources = iter(source for source in _sources(document))
    return "".join(f"⟪{next(sources)}⟫" if letter == "\ufffc" else letter for letter in document.toPlainText())


def _sources(document: QTextDocument) -> list[str]:
    found, cursor = [], QTextCursor(document)
    for position in range(document.characterCount() - 1):
        if document.characterAt(position) == "\ufffc":
            cursor.setPosition(position + 1)
            found.append(str(cursor.charFormat().property(formula.SOURCE)))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"so $x^2$ is", "so ⟪$x^2$⟫ is"),
        (r"so \(x^2\), \[y\]", r"so ⟪\(x^2\)⟫, ⟪\[y\]⟫"),
        ("a\n$$\nx\n- y\n$$\nb", "a\n⟪$$\nx\n- y\n$$⟫\nb"),
        (r"the $n$th of $n$", "the ⟪$n$⟫th of ⟪$n$⟫"),
        ("- $$\n  x\n  $$", "⟪$$\nx\n$$⟫"),
        ("\\begin{align}a&=b\\\\c&=d\\end{align}", "⟪\\begin{align}a&=b\\\\c&=d\\end{align}⟫"),
        (r"$a_1$ and $b_2$ and *c*", "⟪$a_1$⟫ and ⟪$b_2$⟫ and c"),
        # not formulas
        ("$5 and $6", "$5 and $6"),
        ("It costs $5/$6, or US$5 to US$6.", "It costs $5/$6, or US$5 to US$6."),
        ("$HOME:$PATH", "$HOME:$PATH"),
        ("`$x$`", "$x$"),
        ("```\n$$x$$\n```", "$$x$$"),
        (r"\$x\$", "$x$"),
        ("a $x half", "a $x half"),
        ("$$\nx", "$$\nx"),
        ("$$\nx\n\ny\n$$", "$$\nx\ny\n$$"),
        # not readable as a formula: its source
        (r"$\frac{a}{$", r"$\frac{a}{$"),
        (r"$\text{面积}$", r"$\text{面积}$"),
        (r"$\newcommand{\a}{\a\a}\a$", r"$\newcommand{\a}{\a\a}\a$"),
        (r"$\rule{1000000em}{1em}$", r"$\rule{1000000em}{1em}$"),
        ("$" + r"\\\\" * 90 + "$", "$" + r"\\\\" * 90 + "$"),
        ("$" + r"\frac{1}{" * 15 + "x" + "}" * 15 + "$", "$" + r"\frac{1}{" * 15 + "x" + "}" * 15 + "$"),
        ("$" + "x" * 3000 + "$", "$" + "x" * 3000 + "$"),
    ],
)
def test_what_is_a_formula(qapp: QApplication, text: str, expected: str) -> None:
    assert drawn(text) == expected


def test_a_half_formula_is_text_until_it_is_closed(view: ReplyView) -> None:
    feed(view, r"so $\frac{a}")
    assert answers(view) == [r"so $\frac{a}"]
    feed(view, r"{b}$ is")
    assert answers(view) == ["so \ufffc is"]


def test_many_formulas_are_set_little_by_little(view: ReplyView, qtbot: QtBot) -> None:
    text = "\n\n".join(rf"$$\sum_{{i={n}}}^{{9}} \begin{{pmatrix}} a & b \\ c & d \end{{pmatrix}}$$" for n in range(12))
    view.finish(text, FIGURES)
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    assert 0 < pane.toPlainText().count("\ufffc") < 12
    assert Shown(pane.document()).text.count("pmatrix") == 24
    qtbot.waitUntil(lambda: pane.toPlainText().count("\ufffc") == 12)
    assert pane.accessibleDescription().count("pmatrix") == 24


def test_a_formula_is_copied_as_its_source_and_fits_its_column(view: ReplyView) -> None:
    view.finish(r"Then $x_1$ holds: $$" + "+".join(f"x_{{{n}}}" for n in range(60)) + "$$", FIGURES)
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    pane.selectAll()
    assert pane.createMimeDataFromSelection().text().startswith("Then $x_1$ holds: $$x_{0}+x_{1}")
    view.resize(320, 400)
    QApplication.processEvents()
    assert pane.document().size().width() < 1200, "made smaller"
    assert pane.horizontalScrollBar().maximum() > 0, "and what is left of it can be reached"


def test_a_formula_is_drawn_in_the_text_colour(view: ReplyView) -> None:
    view.resize(300, 200)
    for dark in (False, True):
        theme.theme().force(dark)
        view.setStyleSheet(f"background: {theme.colors().background}")
        view.finish(r"$$\frac{a}{b}$$", FIGURES)
        (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
        QApplication.processEvents()
        image = pane.grab().toImage()
        ink = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
        assert theme.colors().text in ink
    theme.theme().force(False)


# ---------------------------------------------------------------- texts that are hard

ODD = {
    "a giant table": "| a | b |\n|---|---|\n" + "| word | 1 |\n" * 400,
    "many columns": "|" + "column |" * 40 + "\n|" + "---|" * 40 + "\n|" + "value |" * 40,
    "one line": "word " * 20_000,
    "one word": "x" * 100_000,
    "deep quotes": ">" * 1000 + " deep",
    "deep lists": "\n".join("  " * level + "- x" for level in range(200)),
    "deep emphasis": "*" * 1000 + "deep" + "*" * 1000,
    "brackets": "[" * 1000 + "deep",
    "dollars": "$a " * 3000 + r"\( " * 2000,
    "an open fence": "```python\n" + "x = 1\n" * 500,
    "right to left": "שלום " * 200 + "\n\n- שלום\n\n> שלום\n\n`code`",
    "emoji": "👩‍👩‍👧‍👦 **🇩🇪** `😀` | 🙂\n" * 100,
    "odd letters": "a\x00b\x0cc\u2028d\u2029e\ufdd0f\ufffcg\u200bh\ufeffi\r\nj\rk",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_are_whole_and_fit(view: ReplyView, text: str) -> None:
    letters = set(text) - set("*`\x00\r\x0c\u2029\u2028\ufdd0\ufffc|>-[]python\\ \n")
    step = max(len(text) // 5, 1)
    feed(view, *(text[start : start + step] for start in range(0, len(text), step)))
    view.finish(text, FIGURES)
    QApplication.processEvents()
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    written = pane.document().toRawText()
    assert letters <= set(written)
    for word in ("word", "value", "deep", "x = 1", "שלום", "😀"):
        assert written.count(word) == text.count(word), word
    assert pane.document().size().width() <= pane.width() or pane.horizontalScrollBar().maximum() > 0
    assert shown(text) == Shown(pane.document()).text


def test_the_words_of_a_wide_table_stay_whole_and_it_scrolls(view: ReplyView) -> None:
    words = " | ".join(f"a word{number}" for number in range(20))
    feed(view, f"| {words} |\n|{'---|' * 20}\n", f"| {words} |\n")
    (pane,) = [section for section in view._sections if isinstance(section, AnswerSection)]
    assert pane.wordWrapMode() == QTextOption.WrapMode.WordWrap
    assert pane.horizontalScrollBar().maximum() > 0
    assert pane.verticalScrollBar().maximum() == 0
    view.finish(f"| {words} |\n|{'---|' * 20}\n\n{'x' * 60}", FIGURES)
    assert pane.wordWrapMode() != QTextOption.WrapMode.WordWrap


PARTS = ["word ", "\n", "\n\n", "<think>", "</think>", "`", "```\n", "$x$", "$$\n", "- ", "> ", "| a |\n|---|\n", "**",
         "😀", "[l](/u)", "<b>", "\\", "1. ", "    "]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14), st.integers(1, 7))
def test_any_reply_is_searched_as_it_is_shown(qapp: QApplication, parts: list[str], size: int) -> None:
    """What the finder reads of a reply that isn't made equals what a streamed one shows; no word is lost."""
    text = "".join(parts)
    view = ReplyView()
    feed(view, *(text[start : start + size] for start in range(0, len(text), size)))
    view.finish(text, FIGURES)
    read = [Shown(view.reveal(number).document()).text for number in range(len(view.panes()))]
    assert read == ReplyView.texts(text)
    assert sum(piece.count("word") for piece in read) == text.count("word")
    view.deleteLater()


# ---------------------------------------------------------------- the transcript around them


def test_a_button_leads_to_the_latest_text(bench: Bench) -> None:
    bench.engine.reply = lambda prompt: "\n\n".join(["paragraph"] * 60)
    bench.say("Go")
    bar, button = bench.transcript.verticalScrollBar(), bench.transcript._to_end
    assert not button.isVisible()
    bar.setValue(0)
    assert button.isVisible()
    button.click()
    assert bar.value() == bar.maximum()
    assert not button.isVisible()


def test_thoughts_above_that_unfold_keep_the_place(bench: Bench) -> None:
    thought = "<think>\n" + "\n\n".join(["thought"] * 30) + "\n</think>\n\n"
    bench.engine.reply = lambda prompt: thought + "\n\n".join(["paragraph"] * 60)
    bench.say("Go")
    bench.say("And on")
    bar = bench.transcript.verticalScrollBar()
    (first, second) = bench.items(ReplyView)
    bar.setValue(bar.maximum() - 300)
    place = second.mapTo(bench.transcript, QPoint(0, 0)).y()
    thoughts(first)[0].header.click()
    QApplication.processEvents()
    assert second.mapTo(bench.transcript, QPoint(0, 0)).y() == place


@pytest.mark.parametrize(("up", "folded"), [(0, True), (300, False), (3000, True)])
def test_thoughts_that_end_fold_unless_they_are_being_read(bench: Bench, up: int, folded: bool) -> None:
    bench.engine.reply = lambda prompt: "\n\n".join(["paragraph"] * 90)
    bench.say("Go")
    bench.engine.reply = lambda prompt: "<think>\n" + "thought\n\n " * 60 + "</think> so it is"
    bench.engine.hold = True
    bench.say("And on")
    bench.step(70)
    section = thoughts(bench.items(ReplyView)[-1])[0]
    assert section.header.isChecked()
    bar = bench.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() - up)
    bench.engine.hold = False
    bench.rest()
    assert section.header.isChecked() != folded


def test_a_resize_lays_out_only_what_is_near(bench: Bench) -> None:
    conversation = bench.library.create("turbo4", "Tiny-1B")
    for number in range(60):
        bench.library.add_user_message(conversation.id, f"Question {number}")
        reply = bench.library.begin_reply(conversation.id, "turbo4")
        text = "\n\n".join([f"Answer {number}"] * 6)
        bench.library.finish_reply(
            TurnFinished(conversation.id, reply.id, "stop", "turbo4", text, 100, 50, 20, 80.0, 40.0)
        )
    bench.chat.open(conversation.id)
    bar = bench.transcript.verticalScrollBar()
    for _ in range(60):
        bar.setValue(bar.value() - bench.transcript.viewport().height() // 2)
        QApplication.processEvents()
    assert len(bench.transcript.items()) == 120
    assert 0 < sum(item.isVisible() for item in bench.transcript.items()) < 60
    bench.window.resize(900, 700)
    QApplication.processEvents()
    width = bench.transcript.entries[bench.transcript.first_seen()].width
    assert sum(entry.width == width for entry in bench.transcript.entries) < 60
