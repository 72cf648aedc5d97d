"""After a run that ended in the middle of the engine's work: what it did is said, and no model loads by itself."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app import paths
from app.engine.marker import Unfinished, WorkMarker
from app.engine.model_folder import display_name
from app.ui.shared.question import Question


class Resuming(QObject):
    """`load_wanted(folder)`, `other_wanted`, `report_wanted`: how the user goes on; `left` where no model was chosen.
    `box` is open until then.
    """

    load_wanted = Signal(str)
    other_wanted = Signal()
    report_wanted = Signal()
    left = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._folder = ""
        self.box: Question | None = None
        self.load: QPushButton | None = None
        self.other: QPushButton | None = None
        self.report: QPushButton | None = None

    def begin(self, work: Unfinished, title: str) -> None:
        """`title` of the conversation that it was at; empty: of none."""
        self._folder = work.folder
        model = display_name(Path(work.folder))
        self.box = box = Question(self._window, self._what(work, model, title), self._then(work), warns=True, news=True)
        if Path(work.folder).is_dir():
            self.load = box.add_button(self.tr("Load {0}").format(model))
        self.other = box.add_button(self.tr("Choose another model"))
        self.report = box.add_button(self.tr("Show report"))
        box.finished.connect(self.on_answered)
        box.open()

    def _what(self, work: Unfinished, model: str, title: str) -> str:
        match work.doing:
            case "load":
                return self.tr("The program ended unexpectedly while {0} was being loaded.").format(model)
            case "prefill":
                words = self.tr("The program ended unexpectedly while {0} was reading the prompt in “{1}”.")
            case "generate":
                words = self.tr("The program ended unexpectedly while {0} was writing a reply in “{1}”.")
            case "switch":
                words = self.tr("The program ended unexpectedly while the cache of “{1}” was changed, with {0} loaded.")
            case "open":
                words = self.tr("The program ended unexpectedly while the saved cache of “{1}” was read for {0}.")
        return words.format(model, title or self.tr("a conversation"))

    def _then(self, work: Unfinished) -> str:
        words = [
            self.tr("Memory may have run out, or something else ended it."),
            self.tr("Your conversations are kept, with what was written of a reply."),
        ]
        if work.file:
            words.append(self.tr("That saved cache was removed; its text is read again when you go on."))
        words.append(self.tr("To be safe, no model was loaded."))
        return " ".join(words)

    def on_answered(self) -> None:
        WorkMarker(paths.snapshots_dir()).clear()  # it has been said; a crash before that would be said again
        box, self.box = self.box, None
        if box is None:
            return
        if box.answer is None or box.answer is self.report:
            self.left.emit()
        if box.answer is None:
            return
        if box.answer is self.load:
            self.load_wanted.emit(self._folder)
        elif box.answer is self.other:
            self.other_wanted.emit()
        else:
            self.report_wanted.emit()
