"""What window and engine thread say to each other about saved caches; app.events hands it on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# ---------------------------------------------------------------- commands


@dataclass(frozen=True)
class SaveSnapshots:
    """Write what changed. Sent when the window is idle; shutting down does it too."""


@dataclass(frozen=True)
class LimitSnapshots:
    """All cache files together may take so many bytes; what was used longest ago goes first."""

    quota_bytes: int


@dataclass(frozen=True)
class DiscardCache:
    """Forget the cache of a conversation, in memory and on disk. The text stays."""

    conversation_id: str


@dataclass(frozen=True)
class DiscardAllCaches:
    """Remove every cache file. What is in memory stays, and is saved when it changes again."""


@dataclass(frozen=True)
class PackCache:
    """Save this conversation's cache, if it changed, and name its files: CachePacked answers."""

    conversation_id: str


@dataclass(frozen=True)
class AdoptCache:
    """Take the file `path`, which came with an imported conversation, if the model at hand made it.

    It is tried out with the model first. CacheAdopted answers; the file is then in its place, or gone.
    """

    conversation_id: str
    tip: str
    path: str


# ---------------------------------------------------------------- events


@dataclass(frozen=True)
class SnapshotSaved:
    """A cache is on disk, as `file`. `prefill_tokens_per_s`: how fast this model last read a prompt, 0 if unknown."""

    conversation_id: str
    snapshot_bytes: int
    seconds: float
    tokens: int
    file: str = ""
    tip: str = ""
    scheme: str = ""
    fingerprint: str = ""
    prefill_tokens_per_s: float = 0.0


@dataclass(frozen=True)
class SnapshotLoaded:
    """A cache file was read, for its own conversation or because another one begins with the same tokens."""

    conversation_id: str
    snapshot_bytes: int
    seconds: float
    tokens: int
    scheme: str
    file: str = ""


@dataclass(frozen=True)
class SnapshotRejected:
    """A cache file can't be used; the text is whole, and the cache is rebuilt on the next turn.

    `cause`: damaged (the file was removed), another (it is sound, of another model, scheme or version of the program),
    failed (anything else). `reason` is for the log but where it failed: then it is for the user.
    """

    conversation_id: str
    reason: str
    cause: Literal["damaged", "another", "failed"]


@dataclass(frozen=True)
class SnapshotNotSaved:
    """A cache can't be written, for `reason`. What was on disk stays; the next SaveSnapshots tries again.

    `at_end`: the program ends, and there was no time for it.
    """

    conversation_id: str
    reason: str
    at_end: bool = False


@dataclass(frozen=True)
class SnapshotsRemoved:
    """These cache files are gone: replaced by a newer one, over the quota, damaged, or discarded."""

    files: tuple[str, ...]


@dataclass(frozen=True)
class PackedFile:
    """One cache file as it lies on disk."""

    path: str
    tip: str
    fingerprint: str
    scheme: str
    tokens: int


@dataclass(frozen=True)
class CachePacked:
    """`files` may be empty; the first is the one used last."""

    conversation_id: str
    files: tuple[PackedFile, ...] = field(default=())


@dataclass(frozen=True)
class CacheAdopted:
    """`reason` says why the file wasn't taken; empty: it was."""

    conversation_id: str
    reason: str = ""
