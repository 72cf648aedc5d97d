"""A conversation as JSON: what is written, and what is believed of a file that comes from elsewhere.

docs/exchange.md describes the format. A file of a later version is refused; a field that isn't known is passed over;
one that doesn't fit its description refuses the file, since half a conversation would be taken for a whole one.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app import generation
from app.errors import AppError
from app.library.records import (
    DEFAULT_SCHEME,
    LATEST,
    METHODS,
    MOST_BYTES,
    MOST_SECONDS,
    MOST_TOKENS,
    ROLES,
    STATES,
    ChartPoint,
    Message,
    Switch,
    is_scheme,
)
from app.version import version
from app.words import number, say

FORMAT, VERSION = "turboquant-chat", 1
MOST_MESSAGES = 100_000
MOST_LETTERS = 10_000_000  # of one message
MOST_VALUES = 3_000_000  # in all that may be in one: twice what so many messages, switches and samples need
# What begins a value, or goes on to the next; within a text it means nothing. One that never ends matches to the end.
_VALUE = re.compile(rb'[\[{,]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COUNTS = ("prompt_tokens", "reused_tokens", "generated_tokens")
_RATES = ("prefill_tokens_per_s", "tokens_per_s")

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """One conversation with all its branches. `shown` is the last message of the branch on screen.

    A message's parent stands before it in `messages`.
    """

    title: str
    scheme: str
    model: str = ""
    created: float = 0.0
    settings: generation.Chosen = field(default_factory=dict)
    shown: str | None = None
    messages: Sequence[Message] = ()
    switches: Sequence[Switch] = ()
    samples: Sequence[ChartPoint] = ()


def write(document: Document) -> bytes:
    """As JSON, in UTF-8."""
    text = {
        "format": FORMAT,
        "version": VERSION,
        "program": version(),
        "exported": _time(time.time()),
        "conversation": {
            "title": document.title,
            "created": _time(document.created),
            "model": document.model,
            "scheme": document.scheme,
            "settings": dict(document.settings),
            "shown": document.shown,
            "messages": [_message(message) for message in document.messages],
            "switches": [{**switch.__dict__, "created": _time(switch.created)} for switch in document.switches],
            "samples": [[p.tokens, p.used_bytes, p.scheme, p.message] for p in document.samples],
        },
    }
    return json.dumps(text, ensure_ascii=False, indent=1, allow_nan=False).encode("utf-8", "replace")


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": message.id,
        "parent": message.parent,
        "role": message.role,
        "state": "interrupted" if message.state == "partial" else message.state,
        "created": _time(message.created),
        "content": message.content,
    }
    optional = ("error", "scheme", *_COUNTS, *_RATES, "starts_context", "shown")
    return written | {name: value for name in optional if (value := getattr(message, name))}


def read(content: bytes) -> Document:
    """Raises AppError, saying where, for anything that isn't as docs/exchange.md has it."""
    try:
        return _document(content)
    except RecursionError:  # deep enough for that is nothing that was written here
        raise _refusal(say("it is nested too deep")) from None


def _document(content: bytes) -> Document:
    _bounded(content)
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except ValueError as error:
        raise _refusal(say("it isn't readable JSON ({0})", str(error)[:80])) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _refusal(say("it isn't a conversation that this program wrote"))
    if document.get("version") != VERSION:
        raise AppError(
            say(
                "The conversation was written in format version {0}; this program reads version {1}. Nothing "
                "was imported.",
                f"{document.get('version')!r:.20}",
                VERSION,
            ),
            say("Update the program, and try again."),
        )
    return _conversation(_Fields(document).within("conversation"))


def _bounded(content: bytes) -> None:
    """Before it is parsed: a file of brackets alone would take thirty times its size. Raises AppError."""
    values = (found for found in _VALUE.finditer(content) if content[found.start()] != ord('"'))
    if next(itertools.islice(values, MOST_VALUES, None), None):
        raise _refusal(say("it holds too many values"))


def _conversation(fields: _Fields) -> Document:
    messages = [_read_message(item) for item in fields.items("messages", MOST_MESSAGES)]
    known: set[str] = set()
    for message in messages:
        if message.id in known:
            raise _refusal(say("two messages are called {0}", message.id))
        if message.parent is not None and message.parent not in known:
            raise _refusal(say("the message before {0} isn't written before it", message.id))
        known.add(message.id)
    nothing: dict[str, Any] = {}
    settings = fields.get("settings", nothing, lambda value: isinstance(value, dict))
    return Document(
        title=fields.text("title", 1000),
        scheme=fields.get("scheme", DEFAULT_SCHEME, is_scheme),
        model=fields.text("model", 1000, ""),
        created=fields.time("created"),
        settings=generation.read(json.dumps(settings)),
        shown=fields.link("shown", known),
        messages=messages,
        switches=[_read_switch(item, known) for item in fields.items("switches", MOST_MESSAGES)],
        samples=[_read_sample(item, known) for item in fields.list("samples", MOST_MESSAGES)],
    )


def _read_message(fields: _Fields) -> Message:
    figures: dict[str, Any] = {name: fields.whole(name, MOST_TOKENS) for name in _COUNTS}
    figures |= {name: fields.real(name, MOST_TOKENS) for name in _RATES}
    return Message(
        id=fields.get("id", _MISSING, _is_id),
        conversation="",
        parent=fields.get("parent", None, _is_link),
        role=fields.word("role", ROLES),
        content=fields.text("content", MOST_LETTERS),
        state=fields.word("state", [state for state in STATES if state != "partial"]),
        error=fields.text("error", 10_000, ""),
        scheme=fields.get("scheme", "", lambda value: value == "" or is_scheme(value)),
        **figures,
        created=fields.time("created"),
        starts_context=fields.get("starts_context", False, lambda value: isinstance(value, bool)),
        shown=fields.get("shown", None, _is_link),
    )


def _read_switch(fields: _Fields, known: Collection[str]) -> Switch:
    return Switch(
        after_message=fields.link("after_message", known),
        from_scheme=fields.get("from_scheme", _MISSING, is_scheme),
        to_scheme=fields.get("to_scheme", _MISSING, is_scheme),
        tokens=fields.whole("tokens", MOST_TOKENS),
        bytes_before=fields.whole("bytes_before", MOST_BYTES),
        bytes_after=fields.whole("bytes_after", MOST_BYTES),
        method=fields.word("method", METHODS),
        seconds=fields.real("seconds", MOST_SECONDS),
        created=fields.time("created"),
    )


def _read_sample(item: object, known: Collection[str]) -> ChartPoint:
    if not (isinstance(item, list) and len(item) == 4):
        raise _refusal(say("a sample isn't four values"))
    fields = _Fields(dict(zip(("tokens", "bytes", "scheme", "message"), item, strict=True)), "samples")
    return ChartPoint(
        fields.whole("tokens", MOST_TOKENS),
        fields.whole("bytes", MOST_BYTES),
        fields.get("scheme", _MISSING, is_scheme),
        fields.link("message", known),
    )


_MISSING: Any = object()


class _Fields:
    """The values of an object in the file, each checked; AppError says which one is wrong."""

    def __init__(self, values: object, place: str = "") -> None:
        self._place = place or say("the file")
        if not isinstance(values, dict):
            raise _refusal(say("{0} isn't an object", self._place))
        self._values: Mapping[str, Any] = values

    def get(self, name: str, default: T, valid: Callable[[Any], bool]) -> T:
        """The value, or `default` where there is none."""
        value = self._values.get(name, default)
        if value is _MISSING or (name in self._values and not valid(value)):
            raise _refusal(
                say("“{0}” in {1} is {2}", name, self._place, f"{value!r:.40}")
                if name in self._values
                else say("“{0}” is missing", name)
            )
        return value

    def within(self, name: str) -> _Fields:
        return _Fields(self._values.get(name), f"“{name}”")

    def list(self, name: str, most: int) -> Sequence[Any]:
        values: Sequence[Any] = self.get(name, [], lambda value: isinstance(value, list))
        if len(values) > most:
            raise _refusal(say("“{0}” has more than {1} entries", name, number(most)))
        return values

    def items(self, name: str, most: int) -> Sequence[_Fields]:
        return [_Fields(value, f"“{name}”, {place}") for place, value in enumerate(self.list(name, most), 1)]

    def text(self, name: str, most: int, default: str = _MISSING) -> str:
        return self.get(name, default, lambda value: isinstance(value, str) and len(value) <= most and _is_text(value))

    def word(self, name: str, words: Collection[str]) -> Any:
        return self.get(name, _MISSING, lambda value: isinstance(value, str) and value in words)

    def link(self, name: str, known: Collection[str]) -> str | None:
        return self.get(name, None, lambda value: value is None or (isinstance(value, str) and value in known))

    def whole(self, name: str, most: int) -> int:
        return self.get(name, 0, lambda value: type(value) is int and 0 <= value <= most)

    def real(self, name: str, most: float) -> float:
        return float(self.get(name, 0.0, lambda value: type(value) in (int, float) and 0 <= value <= most))

    def time(self, name: str) -> float:
        text = self.text(name, 64, "")
        try:
            moment = datetime.datetime.fromisoformat(text).timestamp() if text else 0.0
        except (ValueError, OverflowError, OSError):
            moment = math.nan
        if not 0 <= moment <= LATEST:
            raise _refusal(say("“{0}” in {1} is no time", name, self._place))
        return moment


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_link(value: object) -> bool:
    return value is None or _is_id(value)


def _is_text(value: str) -> bool:
    """Half of a letter can be written in JSON, and nowhere else."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _time(moment: float) -> str:
    return (
        datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )


def _refusal(reason: str) -> AppError:
    return AppError(
        say("The conversation can't be imported: {0}. Nothing was imported.", reason), say("Ask for the file again.")
    )
