"""The one error that reaches the user."""

from dataclasses import dataclass


@dataclass
class AppError(Exception):
    """What happened and what was kept (`message`), what to do (`hint`), and text for a bug report (`detail`)."""

    message: str
    hint: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class Interrupted(Exception):
    """The user stopped the work. Not an error: what was done so far is kept."""
