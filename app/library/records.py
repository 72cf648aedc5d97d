"""What the library hands out, and how a row becomes one of these; a damaged row becomes None and a line in the log."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass
from typing import Literal

from app.events import ChatMessage

log = logging.getLogger(__name__)

Role = Literal["system", "user", "assistant"]
State = Literal["complete", "partial", "interrupted", "failed"]
_STATES = ("complete", "partial", "interrupted", "failed")
_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Conversation:
    """One row of the list. `cached_*` are the last measured size of its cache; `snapshot_bytes` is 0 without a file.

    `context_start` is the first message that the model reads, None for the very first.
    """

    id: str
    title: str
    scheme: str
    model: str
    leaf: str | None
    cached_tokens: int
    cached_bytes: int
    snapshot_bytes: int
    created: float
    updated: float
    context_start: str | None = None


@dataclass(frozen=True)
class Message:
    """One message. A reply is `partial` while it streams, then complete, interrupted or failed (`error` says why).

    One that is `partial` at the start was cut off when the program ended.
    """

    id: str
    conversation: str
    parent: str | None
    role: Role
    content: str
    state: State
    error: str
    scheme: str
    prompt_tokens: int
    reused_tokens: int
    generated_tokens: int
    prefill_tokens_per_s: float
    tokens_per_s: float
    created: float

    def as_chat(self) -> ChatMessage:
        return ChatMessage(self.id, self.role, self.content)


@dataclass(frozen=True)
class ChartPoint:
    tokens: int
    used_bytes: int
    scheme: str


@dataclass(frozen=True)
class Switch:
    """A change of scheme; `after_message` is the message it stands behind in the transcript, None at its top."""

    after_message: str | None
    from_scheme: str
    to_scheme: str
    tokens: int
    bytes_before: int
    bytes_after: int
    method: str
    seconds: float
    created: float


def read_conversation(row: sqlite3.Row) -> Conversation | None:
    try:
        return Conversation(
            id=_text(row["id"]),
            title=_text(row["title"]),
            scheme=_text(row["scheme"]),
            model=_text(row["model"]),
            leaf=None if row["leaf"] is None else _text(row["leaf"]),
            cached_tokens=int(row["cached_tokens"]),
            cached_bytes=int(row["cached_bytes"]),
            snapshot_bytes=int(row["snapshot_bytes"]),
            created=float(row["created"]),
            updated=float(row["updated"]),
            context_start=None if row["context_start"] is None else _text(row["context_start"]),
        )
    except (TypeError, ValueError) as error:
        log.warning("a damaged conversation is left out: %s", error)
        return None


def read_message(row: sqlite3.Row) -> Message | None:
    try:
        role, state = row["role"], row["state"]
        if role not in _ROLES or state not in _STATES:
            raise ValueError(f"role {role!r}, state {state!r}")
        return Message(
            id=_text(row["id"]),
            conversation=_text(row["conversation"]),
            parent=None if row["parent"] is None else _text(row["parent"]),
            role=role,
            content=_text(row["content"]),
            state=state,
            error=_text(row["error"]),
            scheme=_text(row["scheme"]),
            prompt_tokens=int(row["prompt_tokens"]),
            reused_tokens=int(row["reused_tokens"]),
            generated_tokens=int(row["generated_tokens"]),
            prefill_tokens_per_s=float(row["prefill_tokens_per_s"]),
            tokens_per_s=float(row["tokens_per_s"]),
            created=float(row["created"]),
        )
    except (TypeError, ValueError) as error:
        log.warning("a damaged message is left out: %s", error)
        return None


def _text(value: object) -> str:
    if isinstance(value, bytes):  # a damaged type byte turns text into a blob of the same bytes
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise TypeError(f"text expected, found {type(value).__name__}")
    return value
