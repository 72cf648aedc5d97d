"""How a model wants a conversation written: its chat template, tried out once, or a plain dialogue where it has none.

Templates are programs that came with a model: they raise what they like, leave out what they don't know and name the
same thing differently. So each is asked a few short questions when its model is loaded, and every conversation is
offered in several forms until one is taken whole.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from app import thinking
from app.errors import AppError
from app.events import ChatMessage, Generate, GenerationParams, OpenConversation, SwitchScheme
from app.words import say

log = logging.getLogger(__name__)

Turn = tuple[str, str]  # role, content
RENDER_S = 5.0  # a long conversation takes milliseconds
_ASKED, _ANSWERED = "Question 7?", "Answer 7."
_SWITCHES = ("enable_thinking", "thinking")
_JOINER = "\u2060"  # has no width and lets no line break
_TAG = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]")
# Of the plain dialogue. A reply ends where the model goes on to write the user's next line.
_NAMES = {"user": "User:", "assistant": "Assistant:"}
_PLAIN_STOPS = ("\nUser:",)


@dataclass(frozen=True)
class Rendered:
    """`text` is what the model continues. `head`: the end of it that belongs to the reply, an opening mark of thoughts
    with the blanks behind it.
    """

    text: str
    head: str = ""

    def going_on(self, begun: str) -> Rendered:
        """With a reply behind it that has begun, as the model wrote it: no template comes between, which might end it
        or drop its thoughts. Its own mark takes the place of the header's.
        """
        return Rendered(self.text.removesuffix(self.head) + begun) if begun else self


class ChatFormat:
    """What a tokenizer's template can do.

    `notice`: a sentence for the user where there is no template that can be used, else empty. `thinking`: whether the
    model thinks unless told otherwise; None where the template has no such switch. `end_tokens` and `stops` end a
    reply: the mark that the template writes behind one. `hidden`: special tokens that are no part of a reply's text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # mlx-lm's wrapper turns thinking on or off by the vocabulary, whatever the template has by itself. Where the
        # wrapper, or the tokenizer's class, writes in place of a template, it is asked.
        own = tokenizer._chat_template is None and tokenizer._thinking_kwarg == "enable_thinking"
        self._write = (tokenizer._tokenizer if own else tokenizer).apply_chat_template
        added: dict[str, int] = dict(tokenizer.get_added_vocab())
        self.marks = tuple(row for row in thinking.KNOWN if any(mark in row.opening for mark in added))
        kept = {added[text] for text in added for row in self.marks if _is_part(text, row)}
        special = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
        self.hidden = frozenset(special | set(tokenizer.all_special_ids)) - kept
        marks = sorted((text for text in added if added[text] in self.hidden and len(text) > 1), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, marks))) if marks else None
        self.notice = self._try_out()
        self._switch, self.thinking = ("", None) if self.notice else self._find_switch()
        once: list[Turn] = [("user", _ASKED), ("assistant", _ANSWERED)]
        mark = "" if self.notice else self._end_mark(added, once)
        self._inner_mark = "" if self.notice else self._end_mark(added, [*once, once[0]])
        self.end_tokens = frozenset({added[mark]} if mark in added else ()) - kept
        self.stops = _PLAIN_STOPS if self.notice else () if mark in ("", *added) else (mark,)

    def prompt(self, command: OpenConversation | Generate | SwitchScheme) -> Rendered:
        """What the model continues for `command`. Raises as `render`."""
        begun = command.begun if isinstance(command, Generate) else ""
        return self.render(command.messages[:-1] if begun else command.messages, command.params).going_on(begun)

    def render(self, messages: Sequence[ChatMessage], params: GenerationParams) -> Rendered:
        """The transcript with the header of a reply behind it.

        Two turns of the same role in a row are merged, a reply that says nothing is left out, and a system prompt that
        the template refuses or leaves out goes in front of the first user message. What it takes in none of these forms
        it is told as one turn. Raises AppError where it refuses that too.
        """
        turns = [
            (role, text if role == "assistant" else self._quoted(text))
            for role, text in _turns(messages, params.system_prompt)
        ]
        if self.notice:
            return Rendered(self._plain(turns))
        given = [text.strip() for role, text in (*turns[:1], *turns[-1:]) if role in ("system", "user")]
        switch = {} if params.thinking is None or not self._switch else {self._switch: params.thinking}
        refused: Exception | None = None
        incomplete = ""
        for form in _forms(turns):
            try:
                text = self._apply(form, **switch)
            except Exception as error:  # templates are programs: they raise what they like
                refused = refused or error
                continue
            if all(part in text for part in given):
                return Rendered(text, self._head(text))
            incomplete = incomplete or text
        if incomplete:  # it writes the words in another way, or not at all; nothing better is to be had
            return Rendered(incomplete, self._head(incomplete))
        for form in _forms(_as_one(turns)):
            try:
                text = self._apply(form, **switch)
            except Exception:  # what was refused first says more
                continue
            log.warning("the chat template takes no such conversation, so it is told in one turn: %r", refused)
            return Rendered(text, self._head(text))
        raise AppError(
            say("The model's chat template can't render this conversation. The text is kept."),
            say("Try another model."),
            repr(refused),
        ) from refused

    def render_as_said(self, messages: Sequence[ChatMessage], params: GenerationParams, end: str) -> Rendered:
        """With every reply as the model wrote it, thoughts and all, and the token `end` behind the last one: what a
        cache holds that can't be cut back. The template sees placeholders, so it drops nothing. Raises as `render`.
        """
        said = {f"\ue000{place}\ue001": m.content for place, m in enumerate(messages) if m.role == "assistant"}
        masked = [
            replace(m, content=mask if m.content else "") if (mask := f"\ue000{place}\ue001") in said else m
            for place, m in enumerate(messages)
        ]
        rendered = self.render(masked, params)
        text, last = rendered.text, [mask for mask, content in said.items() if content][-1:]
        for mask, content in said.items():
            before, found, after = text.partition(mask)
            if found:
                if [mask] == last and end and self._inner_mark and after.startswith(self._inner_mark):
                    after = end + after.removeprefix(self._inner_mark)
                text = _without_answer_mark(before, content) + content + after
        return Rendered(text, rendered.head)

    def _quoted(self, text: str) -> str:
        """The user's words, in which a special token is only spoken of: a file about models mustn't end the turn."""
        return self._control.sub(lambda found: found[0][0] + _JOINER + found[0][1:], text) if self._control else text

    # ------------------------------------------------------------ the template

    def _apply(self, messages: Sequence[dict[str, Any]], header: bool = True, **switch: bool) -> str:
        with _for_at_most(RENDER_S):
            return str(self._write(list(messages), tokenize=False, add_generation_prompt=header, **switch))

    def _head(self, text: str) -> str:
        bare = text.rstrip()
        for opening in (row.opening.rstrip() for row in thinking.KNOWN):
            if bare.endswith(opening):
                return text[len(bare) - len(opening) :]
        return ""

    # ------------------------------------------------------------ trying it out

    def _try_out(self) -> str:
        if not self._tokenizer.has_chat_template:
            return say(
                "This is a base model: it has no chat template and continues text rather than answering. A "
                "plain “User: … Assistant: …” dialogue is used. An instruction-tuned model, often named "
                "“Instruct” or “it”, answers better."
            )
        failure: Exception | None = None
        for form in _forms([("user", _ASKED)]):
            try:
                if self._apply(form).strip():
                    return ""
            except Exception as error:
                failure = error
        reason = (str(failure).strip().splitlines() or [say("it writes nothing")])[0]
        return say(
            "The model's chat template can't be used ({0}). A plain “User: … Assistant: …” dialogue is "
            "used instead; answers may suffer.",
            reason,
        )

    def _find_switch(self) -> tuple[str, bool | None]:
        """The template's variable that turns thinking on and off, and how it stands by itself."""
        form = next(iter(_forms([("user", _ASKED)])))
        for name in _SWITCHES:
            try:
                plain, on, off = (self._apply(form, **given) for given in ({}, {name: True}, {name: False}))
            except Exception:  # one that doesn't bear the variable hasn't the switch
                continue
            if on != off:
                return name, plain == on
        return "", None

    def _end_mark(self, added: dict[str, int], turns: Sequence[Turn]) -> str:
        """What the template writes behind a reply: an added token, or text that looks like a mark; else nothing."""
        for form in _forms(turns):
            try:
                _, answered, after = self._apply(form, header=False).rpartition(_ANSWERED)
            except Exception:
                continue
            after = after.lstrip()
            if answered and after:
                token = max((mark for mark in added if mark and after.startswith(mark)), key=len, default="")
                tag = _TAG.match(after)
                return token or (tag[0] if tag else "")
        return ""

    # ------------------------------------------------------------ without a template

    def _plain(self, turns: Sequence[Turn]) -> str:
        return self._begin() + "\n\n".join([*map(_line, turns), _NAMES["assistant"]])

    def _begin(self) -> str:
        """The token that the tokenizer puts before every text, written out."""
        first = list(self._tokenizer.encode("a"))[:1]
        return str(self._tokenizer.bos_token) if first == [self._tokenizer.bos_token_id] else ""


@contextlib.contextmanager
def _for_at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in a template that runs on and on: it would hold the engine for ever."""
    end = time.monotonic() + seconds

    def watch(frame: FrameType, _event: str, _value: Any) -> Any:
        if frame.f_code.co_filename != "<template>":
            return None
        if time.monotonic() > end:
            raise TimeoutError(say("it takes longer than {0} s", f"{seconds:g}"))
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def _without_answer_mark(before: str, content: str) -> str:
    """What stands `before` a reply that begins with thoughts in a message of their own: no mark of an answer."""
    for row in thinking.KNOWN:
        if row.answer and content.startswith(row.opening) and before.endswith(row.answer):
            shared = row.opening[: row.opening.find(">") + 1]
            return before[: len(before) - len(row.answer) + max(0, row.answer.find(shared))]
    return before


def _is_part(token: str, row: thinking.Marks) -> bool:
    return bool(token) and any(token in mark for mark in (row.opening, row.closing, row.answer))


def _turns(messages: Sequence[ChatMessage], system_prompt: str) -> list[Turn]:
    """Alternating turns. What a transcript says as the system stands at its head, or is the user's further on."""
    turns: list[Turn] = [("system", system_prompt)] if system_prompt.strip() else []
    for message in messages:
        role = message.role
        if role == "system" and turns and turns[-1][0] != "system":
            role = "user"
        if role == "assistant" and not message.content:
            continue  # a reply that failed before its first word
        if turns and turns[-1][0] == role:
            turns[-1] = (role, turns[-1][1] + "\n\n" + message.content)
        else:
            turns.append((role, message.content))
    return turns


def _line(turn: Turn) -> str:
    role, content = turn
    if role == "assistant":  # as the model wrote it, with the space that it began with
        return _NAMES[role] + ("" if content[:1].isspace() else " ") + content.rstrip()
    return f"{_NAMES[role]} {content.strip()}" if role in _NAMES else content.strip()


def _as_one(turns: Sequence[Turn]) -> list[Turn]:
    """For a template that takes no replies, or only so many turns: all that was said, in the user's words."""
    system = [turn for turn in turns[:1] if turn[0] == "system"]
    return [*system, ("user", "\n\n".join(map(_line, turns[len(system) :])))]


def _forms(turns: Sequence[Turn]) -> Iterator[list[dict[str, Any]]]:
    """The same conversation in every form that some template wants, the usual one first."""
    has_system = [role for role, _ in turns[:1]] == ["system"]
    answers_first = [role for role, _ in turns[has_system : has_system + 1]] == ["assistant"]
    choices = (
        (False, True) if answers_first else (False,),  # a transcript that doesn't begin with the user
        (False, True),  # content as a list of parts, as templates of models that also see
        (False, True),  # thoughts in a field of their own
        (False, True) if has_system else (False,),  # the system prompt in front of the user's words
    )
    for opener, parted, apart, merged in itertools.product(*choices):
        made = list(turns)
        if opener:
            made.insert(int(has_system), ("user", ""))
        if merged:
            words = [made[0][1], *(text for role, text in made[1:2] if role == "user" and text)]
            made[:2] = [("user", "\n\n".join(words)), *(turn for turn in made[1:2] if turn[0] != "user")]
        yield [_message(role, text, parted, apart) for role, text in made]


def _message(role: str, text: str, parted: bool, apart: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role}
    if apart and role == "assistant":
        pieces = thinking.split(text)
        text = "\n\n".join(piece.text for piece in pieces if not piece.thinking)
        thoughts = "\n\n".join(piece.text for piece in pieces if piece.thinking)
        message |= {"thinking": thoughts, "reasoning_content": thoughts} if thoughts else {}
    return message | {"content": [{"type": "text", "text": text}] if parted else text}
