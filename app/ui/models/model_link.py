"""The model at hand: loaded, loading, failed or asleep; and what the engine says about models that aren't loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import events as ev
from app.engine.model_folder import display_name
from app.errors import AppError
from app.ui.shared.turn import EngineLink


class ModelLink(QObject):
    """`model` is loaded, or asleep until it is needed; `loading` is the name of one on its way, else empty.

    `changed` when any of that is another; `progressed(done, total)` in bytes; `loaded(ModelLoaded)`. A load that fails
    brings the model before it back: `failed(AppError)`, or `refused(ModelFailed)` where memory is short, which leaves
    it in place. `fit_judged(FitJudged)` answers `judge`.
    """

    changed = Signal()
    progressed = Signal(object, object)  # whole numbers beyond 32 bits
    loaded = Signal(object)
    failed = Signal(object)
    refused = Signal(object)
    fit_judged = Signal(object)

    def __init__(self, engine: EngineLink, parent: QObject) -> None:
        super().__init__(parent)
        self._engine = engine
        self.model: ev.ModelInfo | None = None
        self.loading = ""
        self.asleep = False
        self._before: ev.ModelInfo | None = None  # what was at hand when the present load began
        self._cancelled = False
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.ModelLoading: self._model_loading,
            ev.ModelLoadProgress: self._model_progressed,
            ev.ModelLoaded: self._model_loaded,
            ev.ModelFailed: self._model_failed,
            ev.ModelUnloaded: self._model_unloaded,
            ev.FitJudged: self.fit_judged.emit,
        }
        engine.event_emitted.connect(self.on_engine_event)

    # ------------------------------------------------------------ commands

    def load(self, command: ev.LoadModel) -> None:
        self.loading, self._cancelled = display_name(Path(command.path)), False
        self.changed.emit()
        self._engine.submit(command)

    def cancel(self) -> None:
        """Stop what is loading."""
        if self.loading:
            self._cancelled = True
            self._engine.stop(None)

    def unload(self) -> None:
        self._engine.submit(ev.UnloadModel())

    def judge(self, command: ev.JudgeFit) -> None:
        self._engine.submit(command)

    # ------------------------------------------------------------ the engine's events

    def on_engine_event(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def _model_loading(self, event: ev.ModelLoading) -> None:
        self._before = self.model or self._before
        self.loading, self.model = event.name, None
        self.changed.emit()

    def _model_progressed(self, event: ev.ModelLoadProgress) -> None:
        self.progressed.emit(event.done_bytes, event.total_bytes)

    def _model_loaded(self, event: ev.ModelLoaded) -> None:
        self.loading, self.model, self.asleep, self._before = "", event.model, False, None
        self.loaded.emit(event)
        self.changed.emit()

    def _model_failed(self, event: ev.ModelFailed) -> None:
        before, self._before, self.loading = self._before, None, ""
        cancelled, self._cancelled = self._cancelled, False
        asleep = self.asleep and before is not None and before.path == event.path
        if event.fit is not None or asleep:
            self.model = before  # untouched, or still to be woken
        elif before is not None and before.path != event.path:
            self.load(ev.LoadModel(before.path, anyway=True))  # it was there: no question of memory
        self.changed.emit()
        if event.fit is not None:
            self.refused.emit(event)
        elif not cancelled:
            error: AppError = event.error
            self.failed.emit(error)

    def _model_unloaded(self, _event: ev.ModelUnloaded) -> None:
        self.asleep = True
        self.changed.emit()
