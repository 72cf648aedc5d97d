"""What the loopback hub serves: files, and repositories with their commits and the facts that the hub states."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 16


@dataclass
class Blob:
    """A file of a repository, from memory or disk. `claimed_bytes` makes one that is only listed, and never served."""

    content: bytes | Path
    large: bool = False
    claimed_bytes: int = 0

    @cached_property
    def size(self) -> int:
        if self.claimed_bytes:
            return self.claimed_bytes
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    @cached_property
    def sha256(self) -> str:
        return self._digest(hashlib.sha256())

    @cached_property
    def git_id(self) -> str:
        return self._digest(hashlib.sha1(b"blob %d\0" % self.size))

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git_id

    def chunks(self, start: int = 0) -> Iterator[bytes]:
        if isinstance(self.content, bytes):
            for at in range(start, len(self.content), CHUNK_BYTES):
                yield self.content[at : at + CHUNK_BYTES]
            return
        with self.content.open("rb") as stream:
            stream.seek(start)
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk

    def _digest(self, digest: Any) -> str:
        for chunk in self.chunks():
            digest.update(chunk)
        return str(digest.hexdigest())


@dataclass
class Repo:
    """`access` says what an account may do with a gated one: "accepted", "pending", "rejected"; nothing: not asked."""

    repo_id: str
    files: dict[str, Blob]
    gated: str = ""
    private: bool = False
    downloads: int = 100
    likes: int = 10
    updated: str = "2025-11-01T12:00:00.000Z"
    tags: tuple[str, ...] = ("mlx", "safetensors", "text-generation")
    licence: str = "apache-2.0"
    pipeline: str = "text-generation"
    access: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, int] | None = None
    lost: set[str] = field(default_factory=set)  # commits that are gone
    past: dict[str, dict[str, Blob]] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        listing = [(name, blob.etag if not blob.claimed_bytes else "") for name, blob in sorted(self.files.items())]
        return hashlib.sha1(repr(listing).encode()).hexdigest()

    def change(self, files: dict[str, Blob], *, rewrite: bool = False) -> None:
        """A new commit; with `rewrite` the old one is gone, as after a force push."""
        if rewrite:
            self.lost.add(self.commit)
        else:
            self.past[self.commit] = self.files
        self.files = files

    def at(self, revision: str) -> dict[str, Blob] | None:
        if revision in ("main", self.commit):
            return self.files
        return self.past.get(revision)

    def info(self, *, blobs: bool) -> dict[str, Any]:
        config = self._config()
        shown = {key: config[key] for key in ("architectures", "model_type", "quantization_config") if key in config}
        chat = "tokenizer_config.json" in self.files
        return {
            "_id": hashlib.md5(self.repo_id.encode()).hexdigest()[:24],
            "id": self.repo_id,
            "modelId": self.repo_id,
            "author": self.repo_id.partition("/")[0],
            "sha": self.commit,
            "lastModified": self.updated,
            "createdAt": self.updated,
            "private": self.private,
            "gated": self.gated or False,
            "disabled": False,
            "downloads": self.downloads,
            "likes": self.likes,
            "trendingScore": self.likes,
            "library_name": "mlx" if "mlx" in self.tags else "transformers",
            "pipeline_tag": self.pipeline,
            "tags": [*self.tags, f"license:{self.licence}"],
            "cardData": {"license": self.licence},
            "config": {**shown, "tokenizer_config": {"chat_template": "…"} if chat else {}},
            "safetensors": self._safetensors(),
            "siblings": [sibling(name, blob, blobs) for name, blob in sorted(self.files.items())],
        }

    def _config(self) -> dict[str, Any]:
        try:
            config = json.loads(b"".join(self.files["config.json"].chunks()))
        except (KeyError, ValueError):
            return {}
        return config if isinstance(config, dict) else {}

    def _safetensors(self) -> dict[str, Any]:
        counts: dict[str, int] = dict(self.parameters or {})
        for name, blob in self.files.items() if self.parameters is None else ():
            if name.endswith(".safetensors") and not blob.claimed_bytes:
                for kind, count in _tensor_counts(blob):
                    counts[kind] = counts.get(kind, 0) + count
        return {"parameters": counts, "total": sum(counts.values())}


def _tensor_counts(blob: Blob) -> Iterator[tuple[str, int]]:
    start = next(blob.chunks(), b"")
    try:
        header = json.loads(start[8 : 8 + struct.unpack("<Q", start[:8])[0]])
    except (ValueError, struct.error):
        return
    for name, entry in header.items():
        if name != "__metadata__":
            yield entry["dtype"], math.prod(entry["shape"])


def sibling(name: str, blob: Blob, blobs: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"rfilename": name}
    if blobs:
        sha256 = "0" * 64 if blob.claimed_bytes else blob.sha256 if blob.large else ""
        found |= {"size": blob.size, "blobId": "0" * 40 if blob.large else blob.git_id}
        if blob.large:
            found["lfs"] = {"size": blob.size, "sha256": sha256, "pointerSize": 134}
    return found


def blobs(files: dict[str, bytes | Path]) -> dict[str, Blob]:
    return {name: Blob(content, large=name.endswith(".safetensors")) for name, content in files.items()}
