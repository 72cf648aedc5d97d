"""A scripted hub service with the real one's interface: no network, no thread, no time."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app import hub_events as hv
from app.errors import AppError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def model(repo_id: str, **known: object) -> hv.HubModel:
    facts = {"downloads": 12_345, "likes": 67, "licence": "apache-2.0", "mlx": True, "support": "supported"}
    return hv.HubModel(repo_id, **{**facts, **known})  # type: ignore[arg-type]


MODELS = (
    model("mlx-community/Qwen3-4B-4bit", weights_bytes=2_263_000_000, quantisation="4-bit", context_tokens=40_960,
          model_type="qwen3", parameters=4_022_000_000, updated=1_790_000_000.0),
    model("mlx-community/gemma-3-12b-it-4bit", weights_bytes=7_600_000_000, quantisation="4-bit",
          context_tokens=131_072, gated="auto", licence="gemma", model_type="gemma3"),
    model("mlx-community/Llama-3.3-70B-Instruct-4bit", weights_bytes=39_700_000_000, quantisation="4-bit",
          context_tokens=131_072, gated="manual", licence="llama3.3", model_type="llama"),
    model("mlx-community/Mystery-7B", support="unsupported", model_type="mystery", weights_bytes=4_000_000_000,
          reason="Models of type mystery aren't known to mlx-lm."),
    model("someone/Unread-1B-bf16", support="unknown", weights_bytes=None, licence="", downloads=0, likes=0),
)  # fmt: skip
CURATED = (
    model("mlx-community/SmolLM2-360M-Instruct", weights_bytes=724_000_000, quantisation="bf16", context_tokens=8192,
          note="Small and quick: a first try on any computer.", model_type="llama", updated=1_780_000_000.0),
    model("mlx-community/Qwen3-1.7B-4bit", weights_bytes=968_000_000, quantisation="4-bit", context_tokens=40_960,
          note="Good answers for its size; thinks before it answers.", model_type="qwen3"),
)  # fmt: skip


class FakeHub(QObject):
    """Answers when `answer` is called, which the tests' window does when it rests; `hold` keeps it silent.

    `offline` fails whatever asks the network. A download goes on by `advance`.
    """

    event_emitted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.models, self.curated = MODELS, CURATED
        self.received: list[hv.HubCommand] = []
        self.offline: AppError | None = None
        self.access: dict[str, AppError] = {}
        self.account = hv.AccountStatus("", "", "https://huggingface.co")
        self.token_error: AppError | None = None
        self.hold = False
        self._statuses: dict[str, hv.DownloadStatus] = {}
        self._waiting: deque[hv.HubCommand] = deque()

    # ------------------------------------------------------------ the real one's interface

    @property
    def downloads(self) -> tuple[hv.DownloadStatus, ...]:
        return tuple(self._statuses.values())

    def submit(self, command: hv.HubCommand) -> None:
        self.received.append(command)
        self._waiting.append(command)

    def shutdown(self, timeout_s: float = 2.0) -> None:
        self._waiting.clear()

    # ------------------------------------------------------------ scripts

    def answer(self) -> None:
        while self._waiting and not self.hold:
            self._answer(self._waiting.popleft())

    @property
    def busy(self) -> bool:
        return bool(self._waiting) and not self.hold

    def asked(self, kind: type) -> list:
        return [command for command in self.received if isinstance(command, kind)]

    def advance(self, repo_id: str, **change: object) -> None:
        """A download's next status: running, unless `change` says another."""
        before = self._statuses.get(repo_id) or hv.DownloadStatus(repo_id, "queued")
        status = replace(before, **{"state": "running", **change})  # type: ignore[arg-type]
        self._statuses[repo_id] = status
        self.event_emitted.emit(status)

    def _answer(self, command: hv.HubCommand) -> None:
        tell = self.event_emitted.emit
        match command:
            case hv.Search(query) if self.offline is not None:
                tell(hv.SearchFailed(query, self.offline))
            case hv.Search(query):
                tell(hv.ModelsFound(query, self._matching(query), complete=True))
            case hv.Curate():
                tell(hv.CuratedModels(self.curated, complete=self.offline is None))
            case hv.Describe(repo_id) if self.offline is not None:
                tell(hv.DescribeFailed(repo_id, self.offline))
            case hv.Describe(repo_id):
                tell(hv.ModelDescribed(self._details(repo_id)))
            case hv.Download(repo_id):
                self.advance(repo_id, state="queued", error=None)
            case hv.PauseDownload(repo_id):
                self.advance(repo_id, state="paused", speed_bytes_per_s=0.0, eta_s=None)
            case hv.CancelDownload(repo_id):
                if self._statuses.pop(repo_id, None):
                    tell(hv.DownloadRemoved(repo_id))
            case hv.CheckAccount(ask_hub):
                self._tell_account(self._tested(self.account) if ask_hub else self.account)
            case hv.SetToken(token):
                source = "keychain" if token else ""
                place = "the system's keychain" if token else ""
                fresh = replace(self.account, source=source, place=place, checked=None, user="", error=None)
                self._tell_account(self._tested(fresh) if token else fresh)

    def _matching(self, query: hv.HubQuery) -> tuple[hv.HubModel, ...]:
        words = query.text.casefold().split()
        found = [m for m in self.models if all(word in m.repo_id.casefold() for word in words)]
        if query.hide_gated:
            found = [m for m in found if not m.gated]
        if query.hide_unsupported:
            found = [m for m in found if m.support != "unsupported"]
        if query.max_bytes:
            found = [m for m in found if (m.weights_bytes or 0) <= query.max_bytes]
        return tuple(found[: query.limit])

    def _details(self, repo_id: str) -> hv.HubDetails:
        found = next(m for m in (*self.models, *self.curated) if m.repo_id == repo_id)
        weights = hv.HubFile("model.safetensors", found.weights_bytes or 10**9, "a" * 64)
        files = (hv.HubFile("config.json", 900), weights, hv.HubFile("tokenizer.json", 11_400_000))
        page = f"https://huggingface.co/{repo_id}"
        return hv.HubDetails(found, COMMIT, page, files, "{}", True, self.access.get(repo_id))

    def _tested(self, status: hv.AccountStatus) -> hv.AccountStatus:
        if self.token_error is not None:
            return replace(status, checked=False, error=self.token_error)
        return replace(status, checked=True, user="ada")

    def _tell_account(self, status: hv.AccountStatus) -> None:
        self.account = status
        self.event_emitted.emit(status)
