"""A model that memory is too short for: what it would take, and what would fit instead."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.events import LoadModel, ModelFailed, ModelLoaded, SchemeFit
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.question import Question

LEAST_TOKENS = 1024  # a shorter context is no offer


class LoadGuard(QObject):
    """Asks how to go on, and loads the model as the user chooses; `smaller_wanted`: another model.

    `scheme_taken(name)` when a model is there that was loaded for this scheme.
    """

    smaller_wanted = Signal()
    scheme_taken = Signal(str)

    def __init__(self, models: ModelLink, parent: QWidget) -> None:
        super().__init__(parent)
        self._models, self._window = models, parent
        self._taken: LoadModel | None = None
        self._offers: dict[QPushButton, LoadModel | None] = {}
        self.box: Question | None = None
        models.refused.connect(self.ask)
        models.loaded.connect(self.on_loaded)

    def ask(self, event: ModelFailed) -> None:
        """`event.fit` says what it takes."""
        assert event.fit is not None
        self.box = box = Question(self._window, event.error.message, event.error.hint, warns=True)
        self._offers = {}
        best = max(event.fit.schemes, key=lambda scheme: scheme.longest_tokens, default=None)
        if best is not None and best.longest_tokens >= LEAST_TOKENS:
            self._offer(self._words(best), LoadModel(event.path, best.scheme, best.longest_tokens), default=True)
        self._offer(self.tr("Choose a smaller model"), None)
        self._offer(self.tr("Load it anyway"), LoadModel(event.path, anyway=True))
        box.finished.connect(self.on_answered)
        box.open()

    def _words(self, scheme: SchemeFit) -> str:
        words = self.tr("Load it for {0} tokens with {1}")
        return words.format(formats.count(scheme.longest_tokens), scheme.scheme)

    def _offer(self, words: str, command: LoadModel | None, default: bool = False) -> None:
        assert self.box is not None
        self._offers[self.box.add_button(words, default=default)] = command

    def on_answered(self) -> None:
        box, self.box = self.box, None
        if box is not None and box.answer is not None:
            command = self._offers[box.answer]
            if command is None:
                self.smaller_wanted.emit()
            else:
                self._taken = command
                self._models.load(command)

    def on_loaded(self, event: ModelLoaded) -> None:
        taken, self._taken = self._taken, None
        if taken is not None and taken.path == event.model.path and taken.context_tokens:
            self.scheme_taken.emit(taken.scheme)
