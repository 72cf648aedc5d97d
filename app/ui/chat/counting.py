"""How many tokens the message in the composer takes: counted by the model's tokenizer, beside whatever is running."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app import events as ev
from app.ui.chat.generation import Generation
from app.ui.composer.composer import Composer
from app.ui.models.model_link import ModelLink
from app.ui.shared.turn import EngineLink

DELAY_MS = 200  # after the last key
KEPT = 64  # counts of files


class Counting(QObject):
    """A file is counted once, the text anew each time that typing pauses. What the model reads before a first message,
    the system prompt, takes room too.
    """

    def __init__(
        self, composer: Composer, engine: EngineLink, models: ModelLink, generation: Generation, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._composer, self._engine, self._models, self._generation = composer, engine, models, generation
        self._known: dict[str, int] = {}  # text → tokens, of files and of the text as it is
        self._asked: dict[int, str] = {}  # request → text
        self._requests = 0
        self._model = ""
        self._timer = QTimer(self, singleShot=True, interval=DELAY_MS)
        self._timer.timeout.connect(self.on_pause)
        composer.edited.connect(self._timer.start)
        generation.changed.connect(self._timer.start)
        models.changed.connect(self.on_model_changed)
        engine.event_emitted.connect(self.on_engine_event)

    def on_model_changed(self) -> None:
        """Another tokenizer counts otherwise."""
        model = self._models.model.path if self._models.model and not self._models.asleep else ""
        if model != self._model:
            self._model = model
            self._known.clear()
            self._asked.clear()
            self._composer.set_tokens(None, [None] * len(self._composer.files.chips))
            self._timer.start()

    def on_pause(self) -> None:
        if not self._model:
            return
        wanted = set(self._texts()) - {""}
        if len(self._known) > KEPT:
            self._known = {text: tokens for text, tokens in self._known.items() if text in wanted}
        for text in wanted - self._known.keys() - set(self._asked.values()):
            self._requests += 1
            self._asked[self._requests] = text
            self._engine.submit(ev.CountTokens(self._requests, text))
        self._show()

    def on_engine_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.TokensCounted):
            text = self._asked.pop(event.request, None)
            if text is not None and event.tokens is not None:
                self._known[text] = event.tokens
                self._show()

    def _texts(self) -> list[str]:
        """The files as they will stand in the message, its text, what is read before it."""
        ahead = "" if self._composer.used_tokens else self._generation.params.system_prompt.strip()
        return [*self._composer.files.blocks, self._composer.text, ahead]

    def _show(self) -> None:
        """What is counted by now; the sum once all of it is, the last one until then."""
        counts = [self._known.get(text) if text else 0 for text in self._texts()]
        complete = [count for count in counts if count is not None]
        if len(complete) == len(counts):
            self._composer.set_tokens(sum(complete[:-1]), counts[:-2], complete[-1])
