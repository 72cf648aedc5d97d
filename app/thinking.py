"""Which marks of thinking models write. The engine keeps them in a reply's text; the window folds what stands between.

A reply's text is self-contained: where a chat template has already written the opening mark into the prompt, the engine
puts it at the head of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Marks:
    """`opening` … `closing` stand around the thoughts; `answer` before the answer, where a model marks that too."""

    opening: str
    closing: str
    answer: str = ""


# One row for every way of writing that models in use have. None's opening begins with another's.
KNOWN = (
    Marks("<think>", "</think>"),  # DeepSeek R1, Qwen 3, QwQ, SmolLM3, GLM, MiniMax, Phi 4 reasoning
    Marks("<thinking>", "</thinking>"),
    Marks("<thought>", "</thought>"),  # EXAONE Deep
    Marks("<reasoning>", "</reasoning>"),
    Marks("[THINK]", "[/THINK]"),  # Magistral
    Marks("<seed:think>", "</seed:think>"),  # Seed-OSS
    Marks("<longcat_think>", "</longcat_think>"),
    Marks("<|think:start|>", "<|think:end|>"),
    Marks("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    Marks("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),  # Command A Reasoning
    Marks("◁think▷", "◁/think▷"),  # Kimi
    Marks("<|channel>thought\n", "<channel|>"),  # Gemma 4
    # gpt-oss ("harmony"): a message of its own for the thoughts, then one for the answer
    Marks("<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>"),
)


@dataclass(frozen=True)
class Part:
    """A stretch of a reply without its marks. Thoughts that aren't `closed` go on still, or were cut off."""

    thinking: bool
    text: str
    closed: bool = True


_HARMONY = next(marks for marks in KNOWN if marks.closing == "<|end|>")
_OPENINGS = {marks.opening: marks.closing for marks in KNOWN}
_OPENINGS["<|start|>assistant" + _HARMONY.opening] = _HARMONY.closing
# Says by itself that thoughts end here; harmony's ends any message.
_LONE_CLOSINGS = tuple(marks.closing for marks in KNOWN if marks is not _HARMONY)
_MARKS = (*_OPENINGS, *_OPENINGS.values(), *(marks.answer for marks in KNOWN if marks.answer))


def _any(marks: Iterable[str]) -> str:
    return "|".join(map(re.escape, marks))


_HARMONY_ANSWER = r"<\|channel\|>(?:final|commentary)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
_ANSWER = re.compile(
    rf"\s*(?:{_any(marks.answer for marks in KNOWN if marks.answer)}|(?:<\|start\|>assistant)?{_HARMONY_ANSWER})"
)
_NEXT_ANSWER = re.compile(rf"<\|end\|>\s*<\|start\|>assistant{_HARMONY_ANSWER}")
_ANSWER_END = re.compile(r"(?:<\|end\|>|<\|return\|>|<\|call\|>|<\|END_RESPONSE\|>)\s*\Z")
_FIRST = re.compile(rf"\s*(?P<opening>{_any(_OPENINGS)})")
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
# A mark in the middle of a line is prose, but for harmony's: those are tokens that no model writes as text.
_NEXT = re.compile(rf"{_FENCE.pattern}|(?:^ {{0,3}}|(?=<\|start\|>))(?P<opening>{_any(_OPENINGS)})", re.MULTILINE)
_LONE_CLOSING = re.compile(rf"^[ \t]*(?:{_any(_LONE_CLOSINGS)})|(?:{_any(_LONE_CLOSINGS)})[ \t]*$", re.MULTILINE)


def split(text: str, *, final: bool = True) -> list[Part]:
    """The thoughts and the answers of a reply, in order; blank ones are left out.

    An opening mark counts at the start of the reply, of a line, or right behind other thoughts; never in code. Where
    the first mark is a closing one that begins or ends a line, all before it are thoughts. Thoughts end at their
    closing mark, unless it is quoted there. While a reply streams (`final` false) a mark that has only begun to come is
    held back.
    """
    if not final:
        text = text[: len(text) - _begun(text)]
    parts: list[Part] = []
    place = 0
    while place < len(text):
        answer = _ANSWER.match(text, place)
        place = answer.end() if answer else place
        opening = _next_opening(text, place)
        start, end = opening.span("opening") if opening else (len(text), len(text))
        lone = None if parts or answer else _lone_closing(text[:start])
        if lone:
            parts.append(Part(True, text[: lone.start()]))
            place = lone.end()
            continue
        parts.append(Part(False, text[place:start]))
        place = end
        if opening:
            closing = _closing(text, end, _OPENINGS[opening["opening"]])
            parts.append(Part(True, text[end : closing.start() if closing else None], closing is not None))
            place = closing.end() if closing else len(text)
    return [replace(part, text=_trimmed(part)) for part in parts if part.text.strip()]


def _trimmed(part: Part) -> str:
    text = part.text if part.thinking else _NEXT_ANSWER.sub("\n\n", _ANSWER_END.sub("", part.text))
    return re.sub(r"\A\s*\n", "", text)


def _begun(text: str) -> int:
    """How many characters at the end may be the beginning of a mark."""
    for size in range(min(max(map(len, _MARKS)) - 1, len(text)), 0, -1):
        end = text[-size:]
        if any(mark.startswith(end) and mark != end for mark in _MARKS):
            return size
    return 0


def _next_opening(text: str, place: int) -> re.Match[str] | None:
    found = _FIRST.match(text, place) or _NEXT.search(text, place)
    while found and found["opening"] is None:
        end = _fence_end(text, found)
        found = _NEXT.search(text, end) if end else None
    return found


def _lone_closing(text: str) -> re.Match[str] | None:
    """The first closing mark outside code, for which there is no opening one."""
    fence = _FENCE.search(text)
    for found in _LONE_CLOSING.finditer(text):
        while fence and fence.start() < found.start():
            end = _fence_end(text, fence)
            if end is None or end > found.start():
                break
            fence = _FENCE.search(text, end)
        else:
            if not _in_inline_code(text, found):
                return found
    return None


def _closing(text: str, start: int, mark: str) -> re.Match[str] | None:
    """Where thoughts that begin at `start` end. A fence of code hides a mark only where a later one stands outside it:
    thoughts may break off inside a fence, and then the answer would be lost with them.
    """
    closings = re.compile(re.escape(mark))
    near = closings.search(text, start)
    if near is None:
        return None
    line_end = text.find("\n", near.end())
    if not _in_inline_code(text, near) and not _FENCE.search(text, start, line_end if line_end >= 0 else len(text)):
        return near  # as mostly; a look through all that follows would add up where thoughts are many
    fence, hidden = _FENCE.search(text, start), None
    for found in closings.finditer(text, start):
        if _in_inline_code(text, found):
            continue
        while fence and fence.start() < found.start():
            end = _fence_end(text, fence)
            if end is None or end > found.start():
                break
            fence = _FENCE.search(text, end)
        else:
            return found
        hidden = hidden or found
    return hidden


def _fence_end(text: str, fence: re.Match[str]) -> int | None:
    """Where the fenced code ends that `fence` begins; None where it never does."""
    mark = fence["fence"]
    end = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, fence.end())
    return end.end() if end else None


def _in_inline_code(text: str, found: re.Match[str]) -> bool:
    """Whether backticks stand around it on its line."""
    line_end = text.find("\n", found.end())
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    return before.count("`") % 2 == 1 and "`" in text[found.end() : None if line_end < 0 else line_end]
