"""The errors that reach the user."""

from dataclasses import dataclass
from typing import Literal

HubFault = Literal[
    "offline",  # no network, or offline mode
    "no_token",  # the model needs an account, and there is no token
    "bad_token",  # the hub doesn't take the token
    "terms",  # its terms haven't been accepted, or its authors haven't decided yet
    "denied",  # this account has no access
    "not_found",  # no such repository, revision or file, or a private one
    "busy",  # the hub asks to wait
    "disk",  # no room, or not writable
    "damaged",  # what came isn't what the hub said
    "unsupported",  # the installed mlx-lm can't run it
    "failed",  # anything else
]


@dataclass
class AppError(Exception):
    """What happened and what was kept (`message`), what to do (`hint`), and text for a bug report (`detail`)."""

    message: str
    hint: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


@dataclass
class HubError(AppError):
    """The hub or the way to it said no. `kind` tells reasons apart, `page` is the web page that helps, if any."""

    kind: HubFault = "failed"
    page: str = ""


class Interrupted(Exception):
    """The user stopped the work. Not an error: what was done so far is kept."""
