"""The language of the window: the system's, or the one chosen. It is set before the first widget is made."""

from __future__ import annotations

import logging
from functools import partial

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app import paths, words
from app.settings import Settings
from app.ui.shared import formats

CONTEXT = "below"  # in the translations: what app.words says
SETTING = "language"  # empty: the system's
NAMES = {"en": "English", "de": "Deutsch"}  # as each names itself

log = logging.getLogger(__name__)


def chosen(settings: Settings) -> str:
    return settings.get(SETTING, "", valid=lambda code: not code or code in NAMES)


def install(app: QCoreApplication, code: str) -> None:
    """Have the window, and what lies below it, speak `code`; empty: the first of the system's languages that it knows,
    else English.

    Numbers and dates follow it where it was chosen, else the system.
    """
    if code:
        QLocale.setDefault(QLocale(code))
    wanted = [code] if code else QLocale.system().uiLanguages()
    language = next((tag[:2] for tag in wanted if tag[:2] in NAMES), "en")
    folder = paths.RESOURCES / "translations"
    # English has one too, for its plurals. Qt's own is for the words of its dialogs and menus.
    for file, place in (
        (f"qtbase_{language}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
        (f"turboquant-chat_{language}", str(folder)),
    ):
        translator = QTranslator(app)
        if translator.load(file, place):
            app.installTranslator(translator)
        elif language != "en":
            log.warning("%s isn't in %s", file, place)
    words.speak(partial(QCoreApplication.translate, CONTEXT), formats.decimal)
