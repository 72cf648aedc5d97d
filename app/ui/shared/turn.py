"""The reply that is being made, and what the window asks of an engine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from app import events as ev
from app.library.records import Message


class EngineLink(Protocol):
    """What the chat asks of an engine thread; the tests' scripted engine has the same."""

    event_emitted: Any
    idle_unload_s: float

    def submit(self, command: ev.Command) -> None: ...

    def stop(self, conversation_id: str | None) -> None: ...


@dataclass
class Turn:
    """The reply that is being made, in the conversation on screen or in another. `before` is the same one where it had
    begun, and goes on.
    """

    conversation_id: str
    reply: Message
    before: Message | None = None
    text: str = ""
    saved_text: str = ""
    prompt_tokens: int = 0
    reused_tokens: int = 0
    status: str = ""
    done: int = 0
    total: int = 0
    first_tokens: int = 0
    first_at: float = 0.0

    def __post_init__(self) -> None:
        self.text = self.saved_text = self.reply.content

    @property
    def waits(self) -> bool:
        """Whether its first word, or the first that is new, hasn't come."""
        return self.text == self.reply.content

    def rate(self, generated: int) -> float:
        """Tokens a second since the first ones came; 0 while it is too early to say."""
        now = time.monotonic()
        if not self.first_tokens:
            self.first_tokens, self.first_at = generated, now
        spent = now - self.first_at
        return (generated - self.first_tokens) / spent if spent > 0.5 else 0.0
