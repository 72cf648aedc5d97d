r"""CommonMark with tables, strikethrough, task lists and formulas: $…$, $$…$$, \(…\), \[…\], \begin{align}…

Formulas are told from prices as pandoc does it, and end at an empty line as they do in LaTeX; one that hasn't ended is
text.
"""

from __future__ import annotations

import re
from typing import Any

from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

OPEN_FORMULA = "open formula"  # in the environment: the line where one begins that hasn't ended at the text's end
DEEPEST = 40  # levels; what lies deeper is shown as it was written
MOST_LINES = 80  # of a formula
LONGEST_SEARCH = 4000  # letters in which a formula inside a line must end, or of a paragraph with bare addresses

_DISPLAYS = (("$$", "$$"), (r"\[", r"\]"))
_ENVIRONMENT = re.compile(r"\\begin\{((?:equation|align|gather|multline|eqnarray|alignat|displaymath|math)\*?)\}")
_BEHIND = re.compile(r"[ \t]*[.,;:]?[ \t]*")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
# Behind a closing dollar: "$5/$6" and "$HOME:$PATH" hold no formula, "the $n$th" does.
_AFTER = re.compile(r"(?!\w)|(?=(?:th|st|nd|rd|s)\b)")


def parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": 2 * DEEPEST})
    made.enable(["table", "strikethrough"])
    made.core.ruler.enable(["linkify"])  # its rule inside a line looks through all before it, at each "://"
    # A bare address is a link where it says so itself; "setup.py" and "me@home" stay words.
    made.linkify = _Addresses({}, {"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    made.block.ruler.before("table", "too_deep", _too_deep)
    made.block.ruler.before("code", "formula", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    made.inline.ruler.before("escape", "formula", _inline)
    made.core.ruler.after("inline", "task", _tasks)
    return made


class _Addresses(LinkifyIt):
    """Its time grows with the square of a paragraph's length."""

    def pretest(self, text: str) -> bool:
        return len(text) < LONGEST_SEARCH and bool(super().pretest(text))


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level < DEEPEST or silent:
        return False
    token = state.push("too_deep", "", 0)
    token.content, token.map, token.block = state.getLines(start, end, state.blkIndent, False), [start, end], True
    state.line = end
    return True


# ---------------------------------------------------------------- formulas on lines of their own


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    opening, closing = next(((o, c) for o, c in _DISPLAYS if first.startswith(o)), ("", ""))
    if not opening and (begin := _ENVIRONMENT.match(first)):
        opening, closing = begin.group(), rf"\end{{{begin.group(1)}}}"
    if not opening:
        return False
    for line in range(start, end):
        text = _line(state, line)
        outside = line > start and state.sCount[line] < state.blkIndent
        if not text.strip() or outside or line - start > MOST_LINES:
            return False
        place = text.find(closing, len(opening) if line == start else 0)
        if place < 0:
            continue
        behind = place + len(closing)
        if not _BEHIND.fullmatch(text, behind):
            return False
        if not silent:
            whole = [_line(state, number) for number in range(start, line)] + [text[:behind]]
            _put_block(state, start, line + 1, "\n".join(whole), text[behind:].strip())
        return True
    if end >= len(state.bMarks) - 1:  # a block inside another may end before the text does: then it stays text
        state.env.setdefault(OPEN_FORMULA, start)
    return False


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _put_block(state: StateBlock, start: int, end: int, source: str, behind: str) -> None:
    token = state.push("formula_block", "", 0)
    token.content, token.map, token.block = source, [start, end], True
    token.info = behind
    state.line = end


# ---------------------------------------------------------------- formulas inside a line


def _inline(state: StateInline, silent: bool) -> bool:
    text, start = state.src, state.pos
    found = _dollars(text, start) if text[start] == "$" else _brackets(text, start)
    if found is None:
        return False
    if not silent:
        token = state.push("formula_inline", "", 0)
        token.content = text[start:found]
        token.meta = {"display": text.startswith(("$$", r"\["), start)}
    state.pos = found
    return True


def _dollars(text: str, start: int) -> int | None:
    """Where the formula ends that begins at `start`; None where none does."""
    mark = "$$" if text.startswith("$$", start) else "$"
    place = start + len(mark)
    before, first = text[start - 1 : start], text[place : place + 1]
    if mark == "$" and (before.isalnum() or not first or first.isspace()):
        return None
    end = text.find(mark, place, place + LONGEST_SEARCH)
    while end > 0 and _escaped(text, end):
        end = text.find(mark, end + 1, place + LONGEST_SEARCH)
    if end < 0 or not text[place:end].strip() or "`" in text[place:end]:
        return None
    if mark == "$" and (text[end - 1].isspace() or not _AFTER.match(text, end + 1)):
        return None
    return end + len(mark)


def _escaped(text: str, place: int) -> bool:
    before = text[max(0, place - 64) : place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _brackets(text: str, start: int) -> int | None:
    closing = {r"\(": r"\)", r"\[": r"\]"}.get(text[start : start + 2])
    end = text.find(closing, start + 2, start + LONGEST_SEARCH) if closing else -1
    return end + 2 if end >= 0 and text[start + 2 : end].strip() else None


# ---------------------------------------------------------------- task lists


def _tasks(state: Any) -> None:
    """`- [x] done`: the list item's token says whether it is done, and the box leaves the text."""
    tokens: list[Token] = state.tokens
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and inline.children:
            first = inline.children[0]
            box = _TASK.match(first.content) if first.type == "text" else None
            if box:
                item.meta["done"] = box.group(1) != " "
                first.content = first.content[box.end() :]
