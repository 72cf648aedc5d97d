"""Which piece of a program's text has which colour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String
from pygments.token import _TokenType as TokenType
from pygments.util import ClassNotFound

from app.ui.shared.theme import Colors


def colored(source: str, language: str, colors: Colors) -> Iterator[tuple[str, str]]:
    """`source` in pieces, each with its colour; in one piece where the language isn't known."""
    lexer = _lexer(language.lower()) if language else None
    if lexer is None:
        yield source, colors.text
        return
    held, shade = "", colors.text
    for kind, piece in lexer.get_tokens(source):  # neighbours of one colour are one piece
        color = _color(kind, colors)
        if color != shade and held:
            yield held, shade
            held = ""
        held, shade = held + piece, color
    yield held, shade


def _color(kind: TokenType, c: Colors) -> str:
    if kind in Comment or kind in Generic.Output:
        return c.comment
    if kind in Keyword or kind in Operator.Word or kind in Generic.Heading:
        return c.keyword
    if kind in Number:
        return c.number
    if kind in String or kind in Literal or kind in Generic.Inserted:
        return c.string
    if kind in Name.Function or kind in Name.Class or kind in Name.Decorator or kind in Name.Tag:
        return c.name
    if kind in Name.Attribute or kind in Name.Builtin or kind in Name.Constant:
        return c.number
    if kind in Generic.Deleted:
        return c.bad
    return c.text


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(name, ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None
