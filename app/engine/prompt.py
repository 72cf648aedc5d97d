"""From a transcript to token ids and back: chat template, reuse of cached tokens, streamed text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.errors import AppError
from app.events import ChatMessage

# A letter never takes more tokens than this to complete, so held-back bytes can't hold back a reply.
_HOLD_TOKENS = 16


def render(tokenizer: Any, messages: Sequence[ChatMessage], system_prompt: str = "") -> str:
    """The text that the model continues: the transcript in its chat template, with the header of a reply behind it.

    Two turns of the same role in a row are merged, and a system prompt that the template refuses goes in front of the
    first user message. Raises AppError for a model without a chat template, or one whose template fails.
    """
    if not tokenizer.has_chat_template:
        raise AppError(
            "This model has no chat template: it is a base model, which continues text and doesn't answer.",
            "Choose an instruction-tuned model, often named “Instruct” or “it”.",
        )
    system = [("system", system_prompt)] if system_prompt.strip() else []
    turns = _merged([*system, *((m.role, m.content) for m in messages)])
    attempts = [turns] if turns[0][0] != "system" else [turns, _merged([("user", turns[0][1]), *turns[1:]])]
    failure: Exception | None = None
    for attempt in attempts:
        try:
            return _apply(tokenizer, attempt)
        except Exception as error:  # templates are programs: they raise what they like
            failure = error
    raise AppError(
        "The model's chat template can't render this conversation. The text is kept.",
        "Try another model.",
        repr(failure),
    ) from failure


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids; the template has already written the special tokens."""
    return list(tokenizer.encode(text, add_special_tokens=False))


def decode(tokenizer: Any, tokens: Sequence[int]) -> str:
    """Text with its special tokens written out, spaces untouched."""
    return str(tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False))


def continue_from(tokenizer: Any, cached: Sequence[int], text: str) -> list[int]:
    """Token ids of `text` that keep as much of `cached` as they can.

    A reply's tokens, as they were sampled, needn't be those that its text encodes to. So where the cached tokens spell
    more of the text's beginning than the two have equal tokens, that part keeps its cached tokens. The seam stands
    beside a special token, where encoding starts afresh: the result is `cached[:k] + encode(rest)` and spells `text`.
    """
    whole = encode(tokenizer, text)
    shared = common_prefix(cached, whole)
    if shared == min(len(cached), len(whole)):
        return whole
    keep = len(cached)
    if not text.startswith(decode(tokenizer, cached)):
        keep, beyond = shared, len(cached)
        while keep < beyond:  # the longest run of cached tokens that spells the beginning of the text
            middle = (keep + beyond + 1) // 2
            spelled = decode(tokenizer, cached[:middle]).rstrip("\ufffd")  # may end inside a letter
            keep, beyond = (middle, beyond) if text.startswith(spelled) else (keep, middle - 1)
    marks = _marks(tokenizer)
    while keep > shared:
        spelled = decode(tokenizer, cached[:keep])
        if text.startswith(spelled):
            rest = encode(tokenizer, text[len(spelled) :])
            if not rest or rest[0] in marks or cached[keep - 1] in marks:
                return [*cached[:keep], *rest]
        keep = next((i for i in range(keep - 1, shared, -1) if cached[i - 1] in marks), shared)
    return whole


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


class TextStream:
    """Turns tokens into text as they come. The pieces joined are the text of all tokens, letters never cut in two."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._start = 0  # tokens from here on are decoded again, so that spaces and joined letters come out right
        self._told = 0  # of these, how many have been told

    def push(self, token: int) -> str:
        """The text that this token completes, often empty in the middle of a letter."""
        self._tokens.append(token)
        text = self._text(self._start, len(self._tokens))
        if text.endswith("\ufffd") and len(self._tokens) - self._told < _HOLD_TOKENS:
            return ""
        return self._tell(text)

    def finish(self) -> str:
        """What was held back: a letter whose end never came."""
        return self._tell(self._text(self._start, len(self._tokens)))

    def _tell(self, text: str) -> str:
        before = self._text(self._start, self._told)
        self._start, self._told = self._told, len(self._tokens)
        return text[len(before) :]

    def _text(self, start: int, end: int) -> str:
        tokens = self._tokens[start:end]
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def _apply(tokenizer: Any, turns: Sequence[tuple[str, str]]) -> str:
    messages = [{"role": role, "content": content} for role, content in turns]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def _marks(tokenizer: Any) -> set[int]:
    """Added tokens: they are found in a text before anything else, so encoding starts afresh beside them."""
    return set(tokenizer.get_added_vocab().values())


def _merged(turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    merged: list[tuple[str, str]] = []
    for role, content in turns:
        if role == "assistant" and not content:
            continue  # a reply that failed before its first word
        if merged and merged[-1][0] == role:
            merged[-1] = (role, merged[-1][1] + "\n\n" + content)
        else:
            merged.append((role, content))
    return merged
