"""From a prompt's text to token ids that keep what is cached, and from a reply's tokens to text as they come."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

# A letter never takes more tokens than this to complete, so held-back bytes can't hold back a reply.
HOLD_TOKENS = 16


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
    """Turns tokens into text as they come. The pieces joined are the text of all tokens, letters never cut in two.

    `hidden` tokens have no text. `before` are the tokens that they go on from, which aren't told.
    """

    def __init__(self, tokenizer: Any, hidden: Collection[int] = frozenset(), before: Sequence[int] = ()) -> None:
        self._tokenizer, self._hidden = tokenizer, hidden
        self._tokens = list(before)
        self._start = 0  # tokens from here on are decoded again, so that spaces and joined letters come out right
        self._told = len(self._tokens)  # of these, how many have been told

    def push(self, token: int) -> str:
        """The text that this token completes, often empty in the middle of a letter."""
        if token in self._hidden:
            return ""
        self._tokens.append(token)
        text = self._text(self._start, len(self._tokens))
        if text.endswith("\ufffd") and len(self._tokens) - self._told < HOLD_TOKENS:
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
        return decode(self._tokenizer, self._tokens[start:end])


def _marks(tokenizer: Any) -> set[int]:
    """Added tokens: they are found in a text before anything else, so encoding starts afresh beside them."""
    return set(tokenizer.get_added_vocab().values())
