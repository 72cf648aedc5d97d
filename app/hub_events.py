"""Frozen values that cross between the window and the hub's threads: searches, downloads and the account.

The window submits commands to app.work.hub_service.HubService and hears these events through its one signal. Sizes are
bytes, times are seconds. Nothing here holds a token, except the command that sets one, which doesn't show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from app.errors import AppError

Sort = Literal["downloads", "likes", "recent", "trending"]
Support = Literal["unknown", "supported", "unsupported"]

# ---------------------------------------------------------------- the hub's models


@dataclass(frozen=True)
class HubQuery:
    """What to look for; without `text`, the most liked, newest, … of all.

    `max_bytes` limits the weights (0: any), `hide_gated` leaves out what needs an agreement, `hide_unsupported` what
    the installed mlx-lm can't run. With `mlx_only` off, other safetensors repositories follow behind the MLX ones.
    """

    text: str = ""
    sort: Sort = "downloads"
    mlx_only: bool = True
    hide_gated: bool = False
    hide_unsupported: bool = False
    max_bytes: int = 0
    limit: int = 30


@dataclass(frozen=True)
class HubModel:
    """One row of a search. What the hub didn't say is None or empty, never a guess.

    `gated` is empty, "auto" (accept terms on the page) or "manual" (its authors decide). `weights_bytes` is the sum of
    all tensors. `support` and `context_tokens` come from config.json: "unknown" and None until it has been read.
    `updated` is in seconds since 1970; 0 when unknown. `note` is a sentence of the curated list.
    """

    repo_id: str
    downloads: int = 0
    likes: int = 0
    updated: float = 0.0
    gated: Literal["", "auto", "manual"] = ""
    licence: str = ""
    model_type: str = ""
    parameters: int | None = None
    weights_bytes: int | None = None
    quantisation: str = ""
    context_tokens: int | None = None
    mlx: bool = False
    support: Support = "unknown"
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class HubFile:
    """`sha256` is the hub's for large files; small ones are known by their git blob id instead."""

    name: str
    size_bytes: int
    sha256: str = ""
    git_id: str = ""


@dataclass(frozen=True)
class HubDetails:
    """One model looked at: `config_json` is its whole config.json, `files` are what a download fetches.

    `access` is what stands in the way of a download (a HubError with the page to open), None where nothing does.
    """

    model: HubModel
    commit: str
    page: str
    files: tuple[HubFile, ...]
    config_json: str
    chat_template: bool | None
    access: AppError | None = None

    @property
    def download_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


# ---------------------------------------------------------------- downloads

DownloadState = Literal["queued", "running", "verifying", "paused", "done", "failed"]


@dataclass(frozen=True)
class FileProgress:
    name: str
    done_bytes: int
    total_bytes: int
    verified: bool = False


@dataclass(frozen=True)
class DownloadStatus:
    """One download; its repository is its name. A cancelled one leaves the list (DownloadRemoved).

    `total_bytes` is None until the hub has said it. `speed_bytes_per_s` is of the last seconds: 0 when nothing comes.
    `eta_s` is None when unknown or stalled. `note` says what it waits for ("Trying again in 4 s: …"). `error` is set
    when it failed; its `page` is a web page that helps, where there is one. `path` is the model's folder when done.
    """

    repo_id: str
    state: DownloadState
    done_bytes: int = 0
    total_bytes: int | None = None
    files: tuple[FileProgress, ...] = ()
    speed_bytes_per_s: float = 0.0
    eta_s: float | None = None
    note: str = ""
    error: AppError | None = None
    path: str = ""

    @property
    def active(self) -> bool:
        return self.state in ("queued", "running", "verifying")


# ---------------------------------------------------------------- the account


@dataclass(frozen=True)
class AccountStatus:
    """`source` says where the token in use comes from; `place` says it for people ("the system's keychain").

    `checked` is None until the hub has been asked; then whether it took the token, and `user` is its owner. `error`
    is why the last change or test failed. `endpoint` is the hub's address.
    """

    source: Literal["", "keychain", "file", "environment", "hf"]
    place: str
    endpoint: str
    offline: bool = False
    checked: bool | None = None
    user: str = ""
    error: AppError | None = None


# ---------------------------------------------------------------- commands: window → hub service


@dataclass(frozen=True)
class Search:
    """Answered by ModelsFound, again when the configs of the rows have been read, or by SearchFailed.

    A newer search ends the answers to an older one.
    """

    query: HubQuery


@dataclass(frozen=True)
class Curate:
    """The short list that needs no search: answered by CuratedModels at once, and again with the hub's facts."""


@dataclass(frozen=True)
class Describe:
    """Answered by ModelDescribed or DescribeFailed."""

    repo_id: str


@dataclass(frozen=True)
class Download:
    """Queue a download, or go on with one that is paused or failed."""

    repo_id: str


@dataclass(frozen=True)
class PauseDownload:
    repo_id: str


@dataclass(frozen=True)
class CancelDownload:
    """Stop it and delete what it fetched; a finished or failed one leaves the list (a finished one's files stay)."""

    repo_id: str


@dataclass(frozen=True)
class CheckAccount:
    """Answered by an AccountStatus. With `ask_hub` the token is tested there."""

    ask_hub: bool = False


@dataclass(frozen=True)
class SetToken:
    """Store a token and test it; an empty one removes what is stored. Answered by an AccountStatus."""

    token: str = field(repr=False)


HubCommand = Search | Curate | Describe | Download | PauseDownload | CancelDownload | CheckAccount | SetToken

# ---------------------------------------------------------------- events: hub service → window


@dataclass(frozen=True)
class ModelsFound:
    """`complete` is False while configs are still being read; the next event then has the same rows, known better."""

    query: HubQuery
    models: tuple[HubModel, ...]
    complete: bool


@dataclass(frozen=True)
class SearchFailed:
    query: HubQuery
    error: AppError


@dataclass(frozen=True)
class CuratedModels:
    models: tuple[HubModel, ...]
    complete: bool


@dataclass(frozen=True)
class ModelDescribed:
    details: HubDetails


@dataclass(frozen=True)
class DescribeFailed:
    repo_id: str
    error: AppError


@dataclass(frozen=True)
class DownloadRemoved:
    repo_id: str


HubEvent = (
    ModelsFound | SearchFailed | CuratedModels | ModelDescribed | DescribeFailed | DownloadStatus | DownloadRemoved
    | AccountStatus
)  # fmt: skip
