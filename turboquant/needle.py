"""Needle in a haystack: whether a model still finds a code word that it read long ago.

A sentence with a code word stands at some depth of a long text, whose end asks for it. The answer is generated
greedily, so that one wrong token loses it. What the uncompressed cache doesn't find says nothing about a scheme.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mlx.core as mx
from mlx.nn.layers.base import Module

from turboquant.errors import TurboQuantError
from turboquant.schemes import NONE
from turboquant.side_by_side import Variant, prefill

PLACES = (
    "lighthouse",
    "granary",
    "observatory",
    "harbour",
    "orchard",
    "foundry",
    "library",
    "quarry",
    "mill",
    "bridge",
)
NEEDLE = " Remember this: the code of the {place} is {code}."
QUESTION = "\n\nQuestion: What is the code of the {place}?\nAnswer: The code of the {place} is"
DIGITS = 5

Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Recall:
    """`depth`: per cent of the text before the code word. `found`: the answer is the code word, to the token.

    `reference_found`: the same of the uncompressed cache.
    """

    scheme: str
    context: int
    depth: int
    found: bool
    reference_found: bool


def needle(
    model: Module,
    encode: Encode,
    haystack: Sequence[int],
    lengths: Sequence[int],
    depths: Sequence[int],
    variants: Sequence[Variant],
    seed: int = 0,
) -> Iterator[Recall]:
    """A Recall a length, depth and variant; a prompt has `length` tokens. `encode` adds no special tokens.

    Raises TurboQuantError where the haystack is too short or a number makes no sense.
    """
    if any(not 0 <= depth <= 100 for depth in depths):
        raise TurboQuantError("A depth is between 0 and 100 per cent.")
    chance = random.Random(seed)
    for length in lengths:
        for depth in depths:
            place, code = chance.choice(PLACES), "".join(chance.choices("0123456789", k=DIGITS))
            prompt, answer = _prompt(encode, haystack, length, depth, place, code)
            found = [said == answer for said in _answers(model, prompt, len(answer), [Variant(NONE), *variants])]
            for variant, ours in zip(variants, found[1:], strict=True):
                yield Recall(variant.scheme.name, length, depth, ours, found[0])


def _prompt(
    encode: Encode, haystack: Sequence[int], length: int, depth: int, place: str, code: str
) -> tuple[list[int], list[int]]:
    """The prompt's tokens, exactly `length`, and the answer's."""
    sentence, question = encode(NEEDLE.format(place=place, code=code)), encode(QUESTION.format(place=place))
    answer = encode(QUESTION.format(place=place) + " " + code)[len(question) :]
    hay = length - len(sentence) - len(question)
    if hay < 1:
        raise TurboQuantError(
            f"A prompt of {length} tokens is too short: the code word and the question take {length - hay}."
        )
    if len(haystack) < hay:
        raise TurboQuantError(f"The text has {len(haystack)} tokens; a prompt of {length} tokens takes {hay} of it.")
    at = hay * depth // 100
    return [*haystack[:at], *sentence, *haystack[at:hay], *question], answer


def _answers(model: Module, prompt: list[int], length: int, variants: Sequence[Variant]) -> list[list[int]]:
    """What each variant says, greedily, `length` tokens."""
    caches = prefill(model, mx.array(prompt[:-1])[None], variants)
    tokens = mx.array([[prompt[-1]]] * len(variants))
    said = []
    for _ in range(length):
        tokens = mx.argmax(model(tokens, cache=caches)[:, -1:], axis=-1)
        said.append(tokens)
    answers: list[list[int]] = mx.concatenate(said, axis=1).tolist()  # type: ignore[assignment]
    return answers
