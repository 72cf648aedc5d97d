"""The hub's models: searching them, looking closer at one, and what a download would fetch.

Every call asks the network, so none belongs in the window's thread. Errors are HubErrors. A model is judged by its
config.json alone, which is read as data: nothing of a repository is ever run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2
from huggingface_hub import constants, get_async_session, get_session, hf_hub_url
from huggingface_hub.hf_api import ModelInfo
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, validate_repo_id

from app.engine import support
from app.engine.hub.errors import NONSENSE, explain, model_page
from app.engine.hub.fetching import HubLoop
from app.errors import AppError, HubError
from app.hub_events import HubDetails, HubFile, HubModel, HubQuery
from app.words import say

T = TypeVar("T")

log = logging.getLogger(__name__)

TIMEOUT_S = 20.0
ANSWER_S = 60.0  # for a whole answer, however it trickles

_SORTS = {"downloads": "downloads", "likes": "likes", "recent": "lastModified", "trending": "trendingScore"}
_EXPAND = [
    "cardData", "config", "downloads", "gated", "lastModified", "library_name", "likes", "pipeline_tag", "safetensors",
    "tags",
]  # fmt: skip
_WRITES_TEXT = (None, "text-generation", "image-text-to-text", "any-to-any")
# What mlx-lm reads of a repository, without program code.
_WANTED = ("*.json", "model*.safetensors", "tokenizer.model", "*.tiktoken", "*.txt", "*.jsonl", "*.jinja")
_SAFETENSORS_BITS = {
    "BOOL": 8, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "I16": 16, "U16": 16, "F16": 16,
    "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
}  # fmt: skip
_CONFIG_LIMIT_BYTES, _ANSWER_LIMIT_BYTES = 4 << 20, 32 << 20
_MOST_FILES = 1000  # of one model; the largest have some 200
_MOST = 1 << 63
_NO_ACCESS = ("no_token", "terms", "denied", "bad_token")
_SEEN_AT_MOST = 4  # times the rows that are wanted, where many don't match
_CONFIGS_AT_ONCE = 8


class Hub:
    """`token` gives the account's token, None without one; it is asked each time."""

    def __init__(self, token: Callable[[], str | None] = lambda: None) -> None:
        self._token = token
        self._known: dict[tuple[str, str], str] = {}  # (repository, revision) → config.json

    # ------------------------------------------------------------ searching

    def search(self, query: HubQuery) -> list[HubModel]:
        """Rows in the hub's order, MLX models first; they are judged by `look_closer`."""
        filters = ["mlx"] if query.mlx_only else ["mlx", "safetensors"]
        rows: dict[str, HubModel] = {}
        for tag in filters:
            room = query.limit - len(rows)
            if room > 0:
                found = self._list(query, tag)
                fresh = (row for row in found if row.repo_id not in rows and _matches(row, query))
                rows.update((row.repo_id, row) for row in itertools.islice(fresh, room))
        return list(rows.values())

    def look_closer(self, rows: Sequence[HubModel]) -> list[HubModel]:
        """The same rows with what their config.json says. A config that can't be had leaves its row as it is."""
        texts = self._configs([(row.repo_id, "main") for row in rows])
        return [_judged(row, text) if isinstance(text, str) else row for row, text in zip(rows, texts, strict=True)]

    def facts(self, rows: Sequence[HubModel]) -> list[HubModel]:
        """Rows known by name only, with what the hub says of them. One that it doesn't have stays as it is."""
        return [self._known_better(row) for row in rows]

    def _known_better(self, row: HubModel) -> HubModel:
        try:
            known = self._model(row.repo_id, {"expand": _EXPAND}, lambda info: _row(info, row.repo_id))
        except HubError as error:
            if error.kind in (*_NO_ACCESS, "not_found"):
                return row
            raise
        return replace(known, note=row.note, mlx=row.mlx)

    # ------------------------------------------------------------ one model

    def describe(self, repo_id: str) -> HubDetails:
        """Everything about one model that a person wants to know before downloading it."""
        info, row, commit, files = self._model(
            repo_id, {"blobs": True}, lambda info: (info, _row(info, repo_id), *listing(info))
        )
        names = {file.name for file in files}
        access, config = None, ""
        if "config.json" in names:
            try:
                config = self._config(repo_id, commit)
            except HubError as error:
                if error.kind not in _NO_ACCESS:
                    raise
                access = error
        if config:
            row = _judged(row, config, [sibling.rfilename for sibling in info.siblings or ()])
        elif access is None:
            row = replace(row, support="unsupported", reason=say("It has no config.json: it isn't a model for mlx-lm."))
        weights = sum(file.size_bytes for file in files if file.name.endswith(".safetensors"))
        row = replace(row, weights_bytes=row.weights_bytes or weights or None)
        return HubDetails(row, commit, model_page(repo_id), files, config, _chat_template(info, names), access)

    def plan(self, repo_id: str, commit: str | None = None) -> tuple[str, tuple[HubFile, ...]]:
        """The commit and the files of a download; of the newest commit by default."""
        return self._model(repo_id, {"blobs": True}, listing, commit)

    # ------------------------------------------------------------ asking

    def _ask(self, path: str, parameters: dict[str, Any], read: Callable[[Any], T], repo_id: str = "") -> T:
        """What `read` makes of the hub's answer. HfApi asks the same, but takes an answer of any size, at any pace, and
        tries a search again for minutes before it says that there is no network.
        """
        token = self._token()
        headers = build_hf_headers(token=token or False)
        try:
            if repo_id:
                validate_repo_id(repo_id)
            with get_session().stream(
                "GET", f"{constants.ENDPOINT}/api/models{path}", params=parameters, headers=headers, timeout=TIMEOUT_S
            ) as response:
                hf_raise_for_status(response)
                content = _read(response)
            return read(json.loads(content))
        except AppError:
            raise
        except Exception as error:
            raise explain(error, repo_id, token=bool(token)) from error

    def _model(
        self, repo_id: str, parameters: dict[str, Any], read: Callable[[ModelInfo], T], commit: str | None = None
    ) -> T:
        path = f"/{repo_id}" + (f"/revision/{quote(commit, safe='')}" if commit else "")
        return self._ask(path, parameters, lambda answer: read(ModelInfo(**answer)), repo_id)

    def _list(self, query: HubQuery, tag: str) -> Iterator[HubModel]:
        """One page of answers."""
        parameters: dict[str, Any] = {
            "filter": tag,
            "sort": _SORTS[query.sort],
            "limit": query.limit * _SEEN_AT_MOST,
            "expand": _EXPAND,
        }
        if text := _searched(query.text):
            parameters["search"] = text
        yield from self._ask("", parameters, _found)

    def _config(self, repo_id: str, commit: str) -> str:
        (answer,) = self._configs([(repo_id, commit)])
        if isinstance(answer, BaseException):
            raise explain(answer, repo_id, token=bool(self._token())) from answer
        return answer

    def _configs(self, wanted: Sequence[tuple[str, str]]) -> list[str | BaseException]:
        """config.json of each (repository, revision), or what stood in the way. One that was read is kept."""
        missing = [pair for pair in wanted if pair not in self._known]
        with asyncio.Runner(loop_factory=HubLoop) as runner:
            answers: dict[tuple[str, str], str | BaseException] = dict(
                zip(missing, runner.run(self._gather(missing)), strict=True)
            )
        self._known.update((pair, text) for pair, text in answers.items() if isinstance(text, str))
        return [self._known.get(pair) or answers[pair] for pair in wanted]

    async def _gather(self, wanted: Iterable[tuple[str, str]]) -> list[str | BaseException]:
        headers = build_hf_headers(token=self._token() or False)
        free = asyncio.Semaphore(_CONFIGS_AT_ONCE)
        async with get_async_session() as client:

            async def read(repo_id: str, revision: str) -> str:
                async with free:
                    url = hf_hub_url(repo_id, "config.json", revision=revision, endpoint=constants.ENDPOINT)
                    try:
                        async with (
                            asyncio.timeout(ANSWER_S),
                            client.stream("GET", url, headers=headers, timeout=TIMEOUT_S) as response,
                        ):
                            hf_raise_for_status(response)
                            return await _read_text(response)
                    except TimeoutError:  # an OSError, which would be the disk's
                        raise _late() from None

            return await asyncio.gather(*(read(*pair) for pair in wanted), return_exceptions=True)


def listing(info: ModelInfo) -> tuple[str, tuple[HubFile, ...]]:
    """The commit and the files of it that are fetched, small ones first. Raises HubError for a listing that is odd."""
    files: dict[str, HubFile] = {}
    for sibling in info.siblings or ():
        name = sibling.rfilename
        if not _wanted(name):
            continue
        sha256 = sibling.lfs.sha256 if sibling.lfs else ""
        git_id = "" if sha256 else sibling.blob_id or ""
        sized = type(sibling.size) is int and 0 <= sibling.size < _MOST
        if not (sized and (_is_hash(sha256, 64) or _is_hash(git_id, 40))):
            raise HubError(
                say("The hub says neither size nor checksum of {0} in {1}, so it couldn't be verified.", name, info.id),
                say("If HF_ENDPOINT names a mirror, try without it."),
                kind="damaged",
            )
        file = HubFile(name, sibling.size or 0, sha256, git_id)
        if files.setdefault(name, file) != file or len(files) > _MOST_FILES:
            raise HubError(
                say("The hub's list of the files of {0} can't be right: it has more than {1}.", info.id, _MOST_FILES)
                if len(files) > _MOST_FILES
                else say("The hub's list of the files of {0} can't be right: {1} is there twice.", info.id, name),
                say("Choose another model."),
                kind="damaged",
            )
    if not _is_hash(info.sha or "", 40):
        raise HubError(
            say("The hub doesn't say which version of {0} it has.", info.id), say("Try again later."), kind="damaged"
        )
    return str(info.sha), tuple(sorted(files.values(), key=lambda file: (file.size_bytes, file.name)))


def _is_hash(text: str, digits: int) -> bool:
    """These become file names, so nothing else will do."""
    return re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is not None


def _wanted(name: str) -> bool:
    """Whether mlx-lm may read it; only names that are safe in a folder are."""
    plain = name.isprintable() and not {"/", "\\"} & set(name) and len(name.encode()) <= 200
    return plain and any(fnmatchcase(name, pattern) for pattern in _WANTED)


def _searched(text: str) -> str:
    """What was typed; of a page's address the name of its model."""
    text = text.strip().encode("utf-8", "ignore").decode()  # halves of a character can't be sent
    page = re.search(r"(?:huggingface\.co|hf\.co)/([^/?#\s]+(?:/[^/?#\s]+)?)", text)
    return page[1] if page else text


def _read(response: httpx2.Response) -> bytes:
    content, until = bytearray(), time.monotonic() + ANSWER_S
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _ANSWER_LIMIT_BYTES:
            raise httpx2.DecodingError(f"more than {_ANSWER_LIMIT_BYTES} bytes")
        if time.monotonic() > until:
            raise _late()
    return bytes(content)


def _late() -> httpx2.ReadTimeout:
    return httpx2.ReadTimeout(f"the answer wasn't whole after {ANSWER_S:.0f} s")


async def _read_text(response: httpx2.Response) -> str:
    content = b""
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _CONFIG_LIMIT_BYTES:
            raise HubError(say("Its config.json is too large to be one."), kind="damaged")
    return content.decode("utf-8", "replace")  # what it then says is judged like any text


# ---------------------------------------------------------------- rows


def _found(answer: Any) -> list[HubModel]:
    """The rows of a search; what writes no text is left out, and what nothing can be made of."""
    if not isinstance(answer, list):
        raise TypeError("a search is answered by a list")
    rows = []
    for entry in answer:
        try:
            info = ModelInfo(**entry)
            validate_repo_id(info.id or "")
            if info.pipeline_tag in _WRITES_TEXT:
                rows.append(_row(info, info.id))
        except NONSENSE as error:
            log.info("a search result is left out: %r", error)
    return rows


def _row(info: ModelInfo, repo_id: str) -> HubModel:
    """`repo_id` is what it was asked for by: a renamed repository answers to its old name as well."""
    config = info.config if isinstance(info.config, dict) else {}
    tags = [tag for tag in info.tags or () if isinstance(tag, str)]
    kind = config.get("model_type")
    gated: Literal["auto", "manual"] = "manual" if info.gated == "manual" else "auto"
    return HubModel(
        repo_id,
        downloads=_number(info.downloads),
        likes=_number(info.likes),
        updated=info.last_modified.timestamp() if info.last_modified else 0.0,
        gated=gated if info.gated else "",
        licence=_licence(info, tags)[:60],
        model_type=kind if isinstance(kind, str) else "",
        parameters=_parameters(info),
        weights_bytes=_weights_bytes(info),
        quantisation=_quantisation(config) or next((tag for tag in tags if re.fullmatch(r"\d+-bit", tag)), ""),
        mlx="mlx" in tags or info.library_name == "mlx",
    )


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value < _MOST else 0


def _judged(row: HubModel, config_json: str, files: Sequence[str] | None = None) -> HubModel:
    try:
        config = json.loads(config_json)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        return replace(row, support="unsupported", reason=say("Its config.json can't be read."))
    reason = support.unsupported(config, files)
    kind = config.get("model_type")
    return replace(
        row,
        model_type=kind if isinstance(kind, str) else row.model_type,
        quantisation=_quantisation(config) or row.quantisation,
        context_tokens=support.context_tokens(config),
        support="unsupported" if reason else "supported",
        reason=reason,
    )


def _matches(row: HubModel, query: HubQuery) -> bool:
    if query.hide_gated and row.gated:
        return False
    return not query.max_bytes or row.weights_bytes is None or row.weights_bytes <= query.max_bytes


def _licence(info: ModelInfo, tags: Sequence[str]) -> str:
    card = info.card_data.to_dict() if info.card_data else {}
    named = card.get("license_name") if card.get("license") == "other" else card.get("license")
    if isinstance(named, list):
        named = ", ".join(str(name) for name in named)
    return str(named or next((tag.partition(":")[2] for tag in tags if tag.startswith("license:")), ""))


def _tensors(info: ModelInfo) -> dict[str, int]:
    """How many numbers of each type; none where that isn't known."""
    counts = info.safetensors.parameters if info.safetensors else {}
    return counts if all(_number(count) for count in counts.values()) else {}


def _parameters(info: ModelInfo) -> int | None:
    """None for packed weights: the hub counts words of 32 bits there."""
    counts = _tensors(info)
    return None if not counts or "U32" in counts else sum(counts.values())


def _weights_bytes(info: ModelInfo) -> int | None:
    counts = _tensors(info)
    if not counts or any(kind not in _SAFETENSORS_BITS for kind in counts):
        return None
    return sum(count * _SAFETENSORS_BITS[kind] for kind, count in counts.items()) // 8


def _quantisation(config: dict[str, Any]) -> str:
    """ "4-bit", "3- to 6-bit" where layers differ, "mxfp4", or the type of plain weights; empty when not said."""
    stated = config.get("quantization") or config.get("quantization_config")
    if isinstance(stated, dict):
        mode, bits = stated.get("mode", "affine"), stated.get("bits")
        if isinstance(mode, str) and mode != "affine":
            return mode
        widths = {part.get("bits", bits) for part in stated.values() if isinstance(part, dict)} | {bits}
        numbers = sorted(width for width in widths if type(width) is int)
        if numbers:
            return f"{numbers[0]}-bit" if len(numbers) == 1 else f"{numbers[0]}- to {numbers[-1]}-bit"
        method = stated.get("quant_method")
        return method if isinstance(method, str) else ""
    for part in support.parts(config):
        kind = part.get("dtype") or part.get("torch_dtype")
        if isinstance(kind, str):
            return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}.get(kind, kind)
    return ""


def _chat_template(info: ModelInfo, names: Iterable[str]) -> bool | None:
    if {"chat_template.jinja", "chat_template.json"} & set(names):
        return True
    settings = (info.config or {}).get("tokenizer_config") if isinstance(info.config, dict) else None
    return bool(settings.get("chat_template")) if isinstance(settings, dict) else None
