"""One reply over a session's cache: prefill of what isn't cached, then token by token; what was told, and when."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Literal

import mlx.core as mx
from mlx_lm.generate import generate_step, generation_stream, wired_limit
from mlx_lm.sample_utils import make_logits_processors, make_sampler

from app.engine import prompt
from app.engine.session import Session
from app.engine.stops import StopFinder
from app.errors import Interrupted
from app.events import (
    ContextFull,
    Event,
    Generate,
    GenerationParams,
    PrefillProgress,
    PrefillStarted,
    TokenBatch,
    TurnFinished,
)

BATCHES_PER_S = 30
SAMPLES_PER_S = 4


def answer(session: Session, command: Generate, stop: threading.Event) -> Iterator[Event]:
    """Answer the transcript: events up to TurnFinished, or one ContextFull.

    Renders the transcript, keeps the longest cached prefix, computes the rest and generates. Raises AppError where the
    transcript can't be rendered, and whatever MLX raises; the text told so far has then been sent, and the cache is
    empty if it can't be trusted.
    """
    params, loaded = command.params, session.loaded
    session.repeatable(params.seed is not None and params.temperature > 0 and not command.begun)
    rendered = loaded.format.prompt(command)
    ids = prompt.continue_from(loaded.tokenizer, session.tokens, rendered.text)
    if session.tokens and not session.can_trim and prompt.common_prefix(session.tokens, ids) < len(session.tokens):
        # A template that drops earlier thoughts would have all of it read again, turn after turn: they stay instead.
        last = session.tokens[-1]
        end = prompt.decode(loaded.tokenizer, [last]) if last in loaded.end_tokens else ""
        before = command.messages[:-1] if command.begun else command.messages
        said = loaded.format.render_as_said(before, params, end).going_on(command.begun)
        whole = prompt.continue_from(loaded.tokenizer, session.tokens, said.text)
        if prompt.common_prefix(session.tokens, whole) == len(session.tokens):
            rendered, ids = said, whole
    room = loaded.info.context_tokens - len(ids)
    if room < (1 if command.begun else _margin(params)):
        yield _context_full(session, command, len(ids))
        return
    header = prompt.encode(loaded.tokenizer, rendered.text.removesuffix(command.begun)) if command.begun else ids
    turn = Turn(session, command, ids, rendered.head, len(ids) - len(header), limit=min(params.max_tokens, room))
    try:
        yield from turn.run(stop)
    except Exception:
        session.reset()
        yield from turn.flush()
        raise
    finally:
        session.dirty = True


def _context_full(session: Session, command: Generate, prompt_tokens: int) -> ContextFull:
    loaded = session.loaded
    context = loaded.info.context_tokens
    users = [place for place, message in enumerate(command.messages) if message.role == "user"]

    def fits(turns: int) -> bool:
        text = loaded.format.render(command.messages[users[turns] :], command.params).text
        return len(prompt.encode(loaded.tokenizer, text)) + _margin(command.params) <= context

    choices = range(1, len(users))  # the more are dropped, the less is left: a few tries among thousands tell
    first = bisect_left(choices, True, key=fits)
    droppable = choices[first] if first < len(choices) else 0
    return ContextFull(command.conversation_id, command.reply_id, prompt_tokens, context, droppable)


def _margin(params: GenerationParams) -> int:
    """Tokens that must be free behind a prompt for a reply worth having."""
    return max(16, min(params.max_tokens, 256))


class Turn:
    """Answers one command over a session's cache. `ids` is the whole prompt, `head` what of it belongs to the reply's
    text, `before` how many of its tokens are a reply's that goes on, `limit` the most tokens to generate.
    """

    def __init__(self, session: Session, command: Generate, ids: list[int], head: str, before: int, limit: int) -> None:
        self._session, self._command, self._ids, self._head, self._limit = session, command, ids, head, limit
        chat_format = session.loaded.format
        tokenizer, begun = session.loaded.tokenizer, command.begun
        self._stream = prompt.TextStream(tokenizer, chat_format.hidden, ids[-prompt.HOLD_TOKENS :] if begun else ())
        self._stops = StopFinder((*command.params.stop, *chat_format.stops), before=begun)
        self._lengths: list[int] = []  # of the text of the reply's tokens up to each one, without the head
        self._known = self._stops.held  # letters that are told again behind `_told`; the window has them
        self._passed = -self._known  # letters of it that came before any stop string
        self._told = begun[: len(begun) - self._known]
        self._untold = ""
        self._before = before  # tokens of the reply in the prompt
        self._generated = 0  # tokens of the reply that this turn has made
        self._sampled = 0  # with the end token
        self._reason: Literal["stop", "length", "interrupted"] = "interrupted"
        self._batches = _Ticker(1 / BATCHES_PER_S)
        self._samples = _Ticker(1 / SAMPLES_PER_S)
        self._begun = self._first = self._last = time.perf_counter()

    def run(self, stop: threading.Event) -> Iterator[Event]:
        """From PrefillStarted to TurnFinished. A stop ends the turn early, with everything computed so far kept."""
        session, ids = self._session, self._ids
        # At least one token is computed: its logits begin the reply.
        session.rewind(min(prompt.common_prefix(session.tokens, ids), len(ids) - 1))
        reused = len(session.tokens)
        mx.reset_peak_memory()
        yield PrefillStarted(self._command.conversation_id, len(ids), reused)
        yield session.sample()
        self._begun = self._first = self._last = time.perf_counter()
        try:
            for done in session.prefill(ids[reused:-1], session.caches, stop):
                session.tokens = ids[: reused + done]
                yield PrefillProgress(self._command.conversation_id, done, len(ids) - reused)
                if self._samples.due():
                    yield session.sample()
            yield from self._decode(stop, reused)
        except Interrupted:
            pass
        yield from self.flush()
        yield session.sample()
        prefill_s, decode_s = self._first - self._begun, self._last - self._first
        yield TurnFinished(
            self._command.conversation_id,
            self._command.reply_id,
            reason=self._reason,
            scheme=session.scheme,
            text=self._told,
            prompt_tokens=len(ids),
            reused_tokens=reused,
            generated_tokens=self._before + self._generated,
            prefill_tokens_per_s=(len(ids) - reused) / prefill_s if prefill_s else 0.0,
            tokens_per_s=(self._sampled - 1) / decode_s if decode_s else 0.0,
        )

    def flush(self) -> Iterator[Event]:
        """Tell what is still held back."""
        self._untold += self._stops.push(self._stream.finish()) + self._stops.finish()
        yield from self._tell()

    def _decode(self, stop: threading.Event, reused: int) -> Iterator[Event]:
        session, params = self._session, self._command.params
        if params.seed is not None:
            mx.random.seed(params.seed)
        fed = list(self._ids)
        self._reason = "length"
        steps = generate_step(
            mx.array(self._ids[-1:]),
            session.loaded.model,
            max_tokens=self._limit,
            sampler=_sampler(params, len(session.loaded.tokenizer)),
            logits_processors=_processors(params, self._ids),
            prompt_cache=session.caches,
        )
        try:
            with wired_limit(session.loaded.model, [generation_stream]):
                for token, _ in steps:
                    self._last = time.perf_counter()
                    fed.append(token)
                    self._sampled += 1
                    if self._sampled == 1:
                        self._first = self._last
                        new = len(self._ids) - reused
                        yield PrefillProgress(self._command.conversation_id, new, new)
                        yield session.planned()
                    if token in session.loaded.end_tokens:
                        self._reason = "stop"
                        break
                    if self._take(token):
                        self._reason = "stop"
                        break
                    if self._batches.due():
                        yield from self._tell()
                    if self._samples.due():
                        yield session.sample()
                    if self._generated == self._limit:
                        break
                    if stop.is_set():
                        self._reason = "interrupted"
                        break
        finally:
            steps.close()
        # generate_step runs one token ahead, so the caches hold the end token too, and those of a stop string.
        session.settle(fed, keep=len(self._ids) + self._generated)

    def _take(self, token: int) -> bool:
        """One more token of the reply. True when it completes a stop string: `_generated` then counts the tokens whose
        text stands before that.
        """
        if not self._generated:
            self._untold = self._head
        self._generated += 1
        text = self._stream.push(token)
        self._lengths.append((self._lengths[-1] if self._lengths else 0) + len(text))
        shown = self._stops.push(text)
        self._untold += shown
        self._passed += len(shown)
        if self._stops.found:
            whole = max((length for length in self._lengths if length <= self._passed), default=0)
            self._generated = self._lengths.index(whole) + 1 if whole else 0
        return self._stops.found

    def _tell(self) -> Iterator[Event]:
        if self._untold:
            text, self._untold = self._untold, ""
            self._told += text
            new, self._known = text[self._known :], max(0, self._known - len(text))
            if new:
                count = self._before + self._generated
                yield TokenBatch(self._command.conversation_id, self._command.reply_id, new, count)


class _Ticker:
    """Says that it is time at most once a period; at once the first time."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next = 0.0

    def due(self) -> bool:
        now = time.perf_counter()
        if now < self._next:
            return False
        self._next = now + self._period_s
        return True


def _sampler(params: GenerationParams, vocabulary: int) -> Any:
    top_k = params.top_k if params.top_k < vocabulary else 0
    return make_sampler(temp=params.temperature, top_p=params.top_p, min_p=params.min_p, top_k=top_k)


def _processors(params: GenerationParams, prompt_ids: list[int]) -> list[Any] | None:
    """The repetition penalty, over the last tokens of the prompt too, of which generate_step is given one only."""
    if params.repetition_penalty == 1.0:
        return None
    size = params.repetition_context
    (penalise,) = make_logits_processors(repetition_penalty=params.repetition_penalty, repetition_context_size=size)
    before = mx.array(prompt_ids[:-1][-size:], dtype=mx.uint32)
    return [lambda tokens, logits: penalise(mx.concatenate([before, tokens.astype(mx.uint32)]), logits)]
