"""What the window says goes through `tr`, what is said below it through `say`, and German has all of it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QLabel

from app import attachments, words
from app.engine import model_folder
from app.errors import AppError
from app.settings import Settings
from app.ui.shared import formats, language
from tests.ui.conftest import Bench
from turboquant.reasons import Reason

ROOT = Path(__file__).parents[2]
UI = ROOT / "app" / "ui"
FOLDER = ROOT / "resources" / "translations"
TOOL = ROOT / "packaging" / "translations.py"
# Words in a row, or one that begins as a sentence does.
WORDS = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}|^[A-Z][a-z]{2,}")
PHRASE = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}")
KEYS = re.compile(r"(Ctrl|Shift|Alt|Meta)\+")
# What is called with text that nobody reads in the window.
QUIET = {
    "tr", "translate", "debug", "info", "warning", "error", "exception", "print", "setObjectName", "setProperty",
    "icon", "property", "add_argument", "ArgumentParser", "compile", "setStyleSheet", "KeyError", "ValueError",
    "RuntimeError", "AssertionError", "getattr", "setattr", "QKeySequence", "match", "strftime", "SystemExit",
    "TypeVar", "SIGNAL", "_native", "toString", "removeprefix", "execute", "Literal",
}  # fmt: skip
# Names, which are the same in every language.
NAMES = {
    "TurboQuant Chat", "Metal", "plain MLX", "Hugging Face", "English", "Deutsch", "Return", "Enter", "Shift+Return",
    "Left", "Right", "Up", "Down", "Del", "Esc", "Python ",
    "too large",  # a verdict's name
    "open formula",  # a rule's
}  # fmt: skip


def literals(path: Path, quiet: Collection[str] = QUIET, words: re.Pattern[str] = WORDS) -> Iterator[tuple[int, str]]:
    """(line, text) of what reads like words and isn't translated."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in skipped:
            skipped.update(ast.iter_child_nodes(node))
            continue
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in quiet:
                skipped.update([*node.args, *(keyword.value for keyword in node.keywords)])
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                skipped.add(node.body[0])
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # an attribute's docstring
            skipped.add(node.value)
        elif isinstance(node, ast.Assert):
            skipped.update(filter(None, [node.msg]))
        elif isinstance(node, ast.AnnAssign):
            skipped.add(node.annotation)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            style = any(mark in text for mark in ("{", "</", "px", ": ", ";")) and "." not in text
            if words.search(text) and text not in NAMES and not style and not KEYS.match(text):
                yield node.lineno, text


@pytest.mark.parametrize("path", sorted(UI.rglob("*.py")), ids=lambda path: path.stem)
def test_what_is_shown_is_translated(path: Path) -> None:
    if path.stem == "demo":
        pytest.skip("it speaks to the console")
    assert list(literals(path)) == []


# What the layers below the window keep to themselves: exceptions that don't reach it, and what is put in other words.
QUIET_BELOW = QUIET | {
    "say", "Reason", "executemany", "executescript", "sub", "finditer", "glob", "SnapshotDamaged", "SnapshotMismatch",
    "UnsupportedModel", "DatabaseError", "RemoteProtocolError", "DecodingError", "ReadTimeout", "SnapshotRejected",
    "TimeoutError", "OSError", "get", "submit",
}  # fmt: skip
FOR_THE_LOG = {
    "a search is answered by a list", "The cache file was made by another model.", "The cache file holds ",
    "database version ", "\n\nwhich led to\n\n",
}  # fmt: skip
# Modules that speak to the console or write a report, which a developer reads.
SILENT = {"__main__", "selftest", "crashes", "thinking"}
SQL = re.compile(
    r"^\s*(SELECT|INSERT|CREATE|ALTER|UPDATE|DELETE|AND|WHERE|FROM|BEGIN|PRAGMA|ORDER)\b|\bFROM \w+ (WHERE|o)\b"
)
BELOW = sorted(path for path in (ROOT / "app").rglob("*.py") if UI not in path.parents and path.stem not in SILENT)


@pytest.mark.parametrize("path", BELOW, ids=lambda path: path.stem)
def test_what_is_said_below_the_window_is_translated(path: Path) -> None:
    found = literals(path, QUIET_BELOW, PHRASE)
    assert [(line, text) for line, text in found if text not in FOR_THE_LOG and not SQL.search(text)] == []


def test_sentences_for_errors_are_told_in_the_windows_language(german: None, tmp_path: Path) -> None:
    """By one from each layer, with values and numbers."""
    with pytest.raises(AppError) as gone:
        model_folder.require(tmp_path / "gone")
    assert gone.value.message == f"Den Ordner {tmp_path / 'gone'} gibt es nicht."
    with pytest.raises(AppError) as empty:
        attachments.decode("a.txt", b"")
    assert str(empty.value) == "a.txt ist leer."
    (tmp_path / "settings.json").write_text("no json")
    assert Settings(tmp_path / "settings.json").notice.startswith("Die Datei der Einstellungen war beschädigt")
    assert words.size(2.5e9) == "2,50 GB"
    assert words.retold(Reason("a sliding window of {0} tokens: packed it would take no less", 512)).startswith(
        "ein gleitendes Fenster von 512 Token"
    )


def test_settings_that_are_read_before_the_language_is_known_speak_it(qapp: QCoreApplication, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("no json")
    settings = Settings(tmp_path / "settings.json")
    language.install(qapp, "de")
    try:
        assert settings.notice.startswith("Die Datei")
    finally:
        language.install(qapp, "en")


# ---------------------------------------------------------------- the translations


def messages(path: Path) -> list[tuple[str, ET.Element]]:
    """(context, message) of a file of translations."""
    found = []
    for context in ET.parse(path).getroot().iter("context"):
        found += [(context.findtext("name", ""), message) for message in context.iter("message")]
    return found


def forms(message: ET.Element) -> list[str]:
    """What it is translated to: one for each number's form."""
    translation = message.find("translation")
    assert translation is not None
    many = translation.findall("numerusform")
    return ["".join(form.itertext()) for form in many] if many else ["".join(translation.itertext())]


def test_the_translations_are_those_of_the_strings(tmp_path: Path) -> None:
    """`make translations` would change nothing: each string is there, none is left over, the compiled file is new."""
    kept = sorted(FOLDER.glob("*.ts"))
    for path in kept:
        shutil.copy(path, tmp_path)
    subprocess.run([sys.executable, str(TOOL), str(tmp_path)], check=True, capture_output=True)
    for path in kept:
        fresh = tmp_path / path.name
        seen = [[(name, message.findtext("source")) for name, message in messages(file)] for file in (path, fresh)]
        assert seen[0] == seen[1]
        assert fresh.with_suffix(".qm").read_bytes() == path.with_suffix(".qm").read_bytes()


@pytest.mark.parametrize("code", ["de", "en"])
def test_nothing_is_unfinished(code: str) -> None:
    for context, message in messages(FOLDER / f"turboquant-chat_{code}.ts"):
        source, told = message.findtext("source", ""), f"{context}: {message.findtext('source')}"
        assert context, f"a bare tr(…) knows no class: {source}"
        assert message.find("translation").get("type") is None, told  # type: ignore[union-attr]
        many = message.get("numerus") == "yes"
        assert len(forms(message)) == (2 if many else 1), told
        for form in forms(message):
            assert form.strip(), told
            assert places(form) == places(source), told
            assert (form[:1].isspace(), form[-1:].isspace()) == (source[:1].isspace(), source[-1:].isspace()), told


def places(text: str) -> set[str]:
    return set(re.findall(r"\{[^}]*\}|%L?n", text))


def test_a_class_that_others_inherit_from_counts_nothing_itself() -> None:
    """PySide looks for `tr(…, n)` in the class of the object alone: an inherited call would miss its translation."""
    trees = [ast.parse(path.read_text("utf-8")) for path in UI.rglob("*.py")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    inherited = {getattr(base, "id", "") for node in classes for base in node.bases}
    for node in classes:
        counts = [
            call for call in ast.walk(node) if isinstance(call, ast.Call) and len(call.args) == 3
            and isinstance(call.func, ast.Attribute) and call.func.attr == "tr"
        ]  # fmt: skip
        assert not counts or node.name not in inherited, node.name


def test_the_window_speaks_german(german: None, bench: Bench) -> None:
    english = {message.findtext("source", "") for _, message in messages(FOLDER / "turboquant-chat_de.ts")
               if forms(message)[0] != message.findtext("source")}  # fmt: skip
    bench.say("Hallo")
    bench.window.configuring.on_general()
    bench.window.on_models()
    bench.rest()
    bench.window.help.on_shortcuts()
    bench.window.help.on_about()
    shown = {action.text() for action in bench.window.findChildren(QAction)}
    for kind in (QLabel, QAbstractButton):
        shown |= {widget.text().strip() for widget in bench.window.findChildren(kind)}
        shown |= {widget.accessibleName() for widget in bench.window.findChildren(kind)}
    assert "Neue Unterhaltung" in shown
    assert shown & english == set()
    assert formats.count(12_345) == "12.345"
    assert formats.data_size(9.6e6) == "9,6 MB"


@pytest.mark.parametrize(("code", "one", "five"), [("en", "After 1 minute", "After 5 minutes"),
                                                   ("de", "Nach 1 Minute", "Nach 5 Minuten")])  # fmt: skip
def test_numbers_have_their_forms(qapp: QCoreApplication, code: str, one: str, five: str) -> None:
    translator = QTranslator()
    assert translator.load(f"turboquant-chat_{code}", str(FOLDER))
    qapp.installTranslator(translator)
    try:
        for number, wanted in ((1, one), (5, five)):
            assert QCoreApplication.translate("ModelsPage", "After %n minutes", "", number) == wanted
    finally:
        qapp.removeTranslator(translator)


def test_qt_speaks_german_too(german: None) -> None:
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
