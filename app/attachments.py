"""Text files that go with a message: how they are read, and how they stand in the message's text.

A message keeps its files in itself, as fenced blocks before the user's words, so that every model reads them and every
export carries them:

    ```python title="parse.py"
    …
    ```

    What does it do?
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import AppError
from app.words import say, why

LIMIT_BYTES = 1_000_000
MOST_FILES = 20
MOST_BYTES = 4_000_000  # of all files of a message: more than models read
# What a fence calls the language of a file, by its ending; others go without.
_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx", ".jsx": "jsx", ".rs": "rust",
    ".go": "go", ".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cc": "cpp", ".cu": "cuda", ".metal": "cpp",
    ".m": "objectivec", ".java": "java", ".kt": "kotlin", ".swift": "swift", ".rb": "ruby", ".php": "php",
    ".cs": "csharp", ".sh": "bash", ".zsh": "bash", ".ps1": "powershell", ".sql": "sql", ".html": "html",
    ".css": "css", ".xml": "xml", ".svg": "xml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
    ".ini": "ini", ".md": "markdown", ".tex": "latex", ".r": "r", ".lua": "lua", ".diff": "diff", ".patch": "diff",
    ".csv": "csv",
}  # fmt: skip
_BLOCK = re.compile(r'(?P<fence>`{3,})(?:[\w+#-]+ |)title="(?P<name>[^"\n`]+)"\n')
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
# Letters that a text doesn't hold. A form feed, and the escape of coloured logs, it may.
_BINARY = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")

_UNFIT = re.compile('["`\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
_FOREIGN = re.compile("[^\x00-\x7f\ufffd]")


@dataclass(frozen=True)
class Attachment:
    """`name` keeps no letter that would end its line or turn its neighbours round."""

    name: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _UNFIT.sub("_", self.name) or "_")

    @property
    def size_bytes(self) -> int:
        return len(self.text.encode("utf-8", "surrogatepass"))


def block(attachment: Attachment) -> str:
    """The file as it stands in a message. Its fence is longer than any within."""
    within = re.findall("`{3,}", attachment.text) if "```" in attachment.text else []
    fence = "`" * max([3, *(len(mark) + 1 for mark in within)])
    language = _LANGUAGES.get(Path(attachment.name).suffix.lower(), "")
    return f'{fence}{language}{" " if language else ""}title="{attachment.name}"\n{attachment.text}\n{fence}'


def join(text: str, attachments: Sequence[Attachment]) -> str:
    """A message's content: files first, so that what is asked stands next to the answer."""
    return "\n\n".join([*map(block, attachments), *([text] if text else [])])


def split(content: str) -> tuple[str, tuple[Attachment, ...]]:
    """What `join` joined: the user's words, and the files before them."""
    found, place = [], 0
    while opening := _BLOCK.match(content, place):
        closing = re.compile(rf"\n{opening['fence']}(?:\n\n|\Z)").search(content, opening.end() - 1)
        if closing is None:
            break
        found.append(Attachment(opening["name"], content[opening.end() : max(opening.end(), closing.start())]))
        place = closing.end()
    return content[place:], tuple(found)


def read_file(path: Path) -> Attachment:
    """A text file. Raises AppError for what isn't one, is too large or can't be read. Blocks: not for the window's
    thread.
    """
    try:
        if not path.is_file():
            raise AppError(say("{0} is no file.", path.name), say("Attach a text file."))
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise AppError(
            say("{0} can't be read: {1}.", path.name, why(error)), say("Check that you may open it.")
        ) from error
    if len(data) > LIMIT_BYTES:
        raise AppError(
            say("{0} is too large: text files up to {1} MB can be attached.", path.name, LIMIT_BYTES // 1000000),
            say("Attach a part of it."),
        )
    return Attachment(path.name, decode(path.name, data))


def decode(name: str, data: bytes) -> str:
    """Text in UTF-8, also with a few damaged letters, UTF-16 with its mark, or else Windows-1252. Raises AppError for
    what is no text.
    """
    text = _decoded(data)
    if text is None or _BINARY.search(text):
        raise AppError(say("{0} isn't a text file.", name), say("Only text can be attached: export it as text first."))
    if not text.strip():
        raise AppError(say("{0} is empty.", name), "")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes) -> str | None:
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    if len(_FOREIGN.findall(text)) > text.count("\ufffd"):  # cut within a letter, say; not another encoding
        return text
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return None
