"""What the library hands out, and how a row becomes one of these.

A damaged field gets a sound default; a row that can't do without it is left out, and hides no other."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from app.events import ChatMessage

log = logging.getLogger(__name__)

Role = Literal["system", "user", "assistant"]
State = Literal["complete", "length", "partial", "interrupted", "failed"]
STATES = ("complete", "length", "partial", "interrupted", "failed")
ROLES = ("system", "user", "assistant")
METHODS = ("encoded", "requantised", "rebuilt", "empty", "unchanged")
_SCHEMES = frozenset(
    ["none", *(f"turbo{bits}" for bits in "2348"), *(f"turbo{keys}v{values}" for keys in "02348" for values in "2348")]
)
_IDENTITY = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Conversation:
    """One row of the list. `cached_*` are the last measured size of its cache; `snapshot_bytes` is 0 without a file."""

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
    pinned: bool = False


@dataclass(frozen=True)
class Message:
    """One message. A reply is `partial` while it streams, then complete, length (at its limit), interrupted
    or failed (`error` says why).

    One that is `partial` at the start was cut off when the program ended. `starts_context`: the model reads from here
    on. `shown`: which of the messages that follow was shown last, None for the newest.
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
    starts_context: bool = False
    shown: str | None = None

    def as_chat(self) -> ChatMessage:
        return ChatMessage(self.id, self.role, self.content)


@dataclass(frozen=True)
class ChartPoint:
    """`message` was the last one of the branch when this was measured; None: not known."""

    tokens: int
    used_bytes: int
    scheme: str
    message: str | None = None


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


@dataclass(frozen=True)
class StoredCache:
    """A cache file. `tip` is the last message of the branch that it serves; seconds are 0 where nothing was measured.

    `prefill_tokens_per_s` is what the model last read a prompt at, 0 where that isn't known.
    """

    file: str
    conversation: str
    tip: str
    fingerprint: str
    scheme: str
    tokens: int
    size_bytes: int
    save_s: float
    load_s: float
    prefill_tokens_per_s: float
    used: float

    @property
    def prefill_s(self) -> float:
        """About how long reading the same text again would take; 0: unknown."""
        return self.tokens / self.prefill_tokens_per_s if self.prefill_tokens_per_s else 0.0


def read_conversation(row: sqlite3.Row) -> Conversation | None:
    return _guarded(_conversation, row)


def read_message(row: sqlite3.Row) -> Message | None:
    return _guarded(_message, row)


def read_point(row: sqlite3.Row) -> ChartPoint | None:
    return _guarded(_point, row)


def read_switch(row: sqlite3.Row) -> Switch | None:
    return _guarded(_switch, row)


def read_cache(row: sqlite3.Row) -> StoredCache | None:
    return _guarded(_cache, row)


def read_rate(row: sqlite3.Row) -> float:
    return _Fields(row).real("prefill", MOST_TOKENS)


def is_scheme(name: object) -> bool:
    """What turboquant.schemes.parse would take; asked here, since its import brings MLX, and the window comes first."""
    return isinstance(name, str) and name in _SCHEMES


# ---------------------------------------------------------------- one row, field by field

DEFAULT_SCHEME = "turbo4"
# Past these a number is damage: it would only stretch an axis, or fit no date.
MOST_TOKENS = 1 << 31
MOST_BYTES = 1 << 50
MOST_SECONDS = 1e9
LATEST = 32503680000.0  # the year 3000
_REQUIRED: Any = object()

T = TypeVar("T")


def _guarded(make: Callable[[_Fields], T], row: sqlite3.Row) -> T | None:
    """The record, or None and a line in the log where a field that it can't do without is damaged."""
    try:
        return make(_Fields(row))
    except (ValueError, IndexError) as error:
        log.warning("a damaged row is left out: %s", error)
        return None


class _Fields:
    """A row's values, each of the type and in the range that the program counts on.

    A damaged one becomes `default`; without a default it raises ValueError. A missing column raises IndexError.
    """

    def __init__(self, row: sqlite3.Row) -> None:
        self._row = row

    def text(self, name: str, default: str = _REQUIRED) -> str:
        value = self._row[name]
        if isinstance(value, bytes):  # a damaged type byte turns text into a blob of the same bytes
            return value.decode("utf-8", "replace")
        return str(value) if isinstance(value, str) else self._damaged(name, default)

    def link(self, name: str) -> str | None:
        """A message's id, or None. A damaged one names nothing."""
        return None if self._row[name] is None else self.text(name, "")

    def identity(self, name: str) -> str:
        value = self.text(name)
        if not _IDENTITY.fullmatch(value):
            self._damaged(name, _REQUIRED)
        return value

    def word(self, name: str, words: Collection[str], default: str = _REQUIRED) -> Any:
        value = self._row[name]
        return value if value in words else self._damaged(name, default)

    def scheme(self, name: str, default: str = _REQUIRED) -> str:
        value = self._row[name]
        return str(value) if is_scheme(value) else self._damaged(name, default)

    def whole(self, name: str, most: int, default: int = _REQUIRED) -> int:
        value = self._row[name]
        return int(value) if type(value) is int and 0 <= value <= most else self._damaged(name, default)

    def real(self, name: str, most: float, default: float = 0.0) -> float:
        value = self._row[name]
        # A NaN fails both comparisons.
        return float(value) if isinstance(value, (int, float)) and 0 <= value <= most else self._damaged(name, default)

    def _damaged(self, name: str, default: Any) -> Any:
        if default is _REQUIRED:
            raise ValueError(f"{name} is {self._row[name]!r:.60}")
        log.warning("a damaged %s is taken for %r", name, default)
        return default


def _conversation(row: _Fields) -> Conversation:
    return Conversation(
        id=row.identity("id"),
        title=row.text("title", ""),
        scheme=row.scheme("scheme", DEFAULT_SCHEME),
        model=row.text("model", ""),
        leaf=row.link("leaf"),
        cached_tokens=row.whole("cached_tokens", MOST_TOKENS, 0),
        cached_bytes=row.whole("cached_bytes", MOST_BYTES, 0),
        snapshot_bytes=row.whole("snapshot_bytes", MOST_BYTES, 0),
        created=row.real("created", LATEST),
        updated=row.real("updated", LATEST),
        pinned=row.whole("pinned", 1, 0) == 1,
    )


def _message(row: _Fields) -> Message:
    return Message(
        id=row.identity("id"),
        conversation=row.identity("conversation"),
        parent=row.link("parent"),
        role=row.word("role", ROLES),
        content=row.text("content"),
        state=row.word("state", STATES, "interrupted"),
        error=row.text("error", ""),
        scheme=row.text("scheme", ""),
        prompt_tokens=row.whole("prompt_tokens", MOST_TOKENS, 0),
        reused_tokens=row.whole("reused_tokens", MOST_TOKENS, 0),
        generated_tokens=row.whole("generated_tokens", MOST_TOKENS, 0),
        prefill_tokens_per_s=row.real("prefill_tokens_per_s", MOST_TOKENS),
        tokens_per_s=row.real("tokens_per_s", MOST_TOKENS),
        created=row.real("created", LATEST),
        starts_context=row.whole("starts_context", 1, 0) == 1,
        shown=row.link("shown"),
    )


def _point(row: _Fields) -> ChartPoint:
    return ChartPoint(
        row.whole("tokens", MOST_TOKENS), row.whole("used_bytes", MOST_BYTES), row.scheme("scheme"), row.link("message")
    )


def _switch(row: _Fields) -> Switch:
    return Switch(
        after_message=row.link("after_message"),
        from_scheme=row.scheme("from_scheme"),
        to_scheme=row.scheme("to_scheme"),
        tokens=row.whole("tokens", MOST_TOKENS),
        bytes_before=row.whole("bytes_before", MOST_BYTES),
        bytes_after=row.whole("bytes_after", MOST_BYTES),
        method=row.word("method", METHODS, ""),
        seconds=row.real("seconds", MOST_SECONDS),
        created=row.real("created", LATEST),
    )


def _cache(row: _Fields) -> StoredCache:
    return StoredCache(
        file=row.text("file"),
        conversation=row.identity("conversation"),
        tip=row.text("tip", ""),
        fingerprint=row.text("fingerprint", ""),
        scheme=row.scheme("scheme", DEFAULT_SCHEME),
        tokens=row.whole("tokens", MOST_TOKENS, 0),
        size_bytes=row.whole("bytes", MOST_BYTES, 0),
        save_s=row.real("save_s", MOST_SECONDS),
        load_s=row.real("load_s", MOST_SECONDS),
        prefill_tokens_per_s=row.real("rate", MOST_TOKENS),
        used=row.real("used", LATEST),
    )
