"""A hub on loopback: the HTTP interface that huggingface_hub uses, with faults by plan.

Tests run the real client against it (`LoopbackHub`). For the real window:

    python -m tests.faults.hub --port 8123 [--rate 2e6] [--fault hang:cdn:*:0.4] …
    HF_ENDPOINT=http://127.0.0.1:8123 python -m app

Large files are redirected to a second host, as the hub does it: `localhost` instead of `127.0.0.1`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.faults.hub_repos import CHUNK_BYTES, Blob, Repo, blobs, sibling


@dataclass
class Fault:
    """What goes wrong, where, and how often (`times`; below 0: always).

    `where` is a pattern over the place of a request: whoami, search, info:REPO, resolve:REPO:FILE, cdn:REPO:FILE. `at`
    is the part of the whole file, 0 to 1, at which a body is struck. Kinds: slow (`rate` bytes a second), hang (for
    `seconds`), reset, cut (ends early as if whole), flip (one wrong byte), wrong_size, status (`status`, `headers`),
    nonsense (`body` instead, a web page by default), loop (redirects to itself), call (`action`, and then all goes on).
    """

    kind: str
    where: str
    at: float = 0.0
    times: int = 1
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 3600.0
    rate: float = 1e6
    action: Callable[[], None] = lambda: None
    body: bytes = b"<html>Please log in to this network</html>"
    struck: int = 0


@dataclass(frozen=True)
class Request:
    method: str
    place: str
    host: str
    token: str
    range: str


class LoopbackHub:
    """Serves while it is open: `with LoopbackHub() as hub:`. `tokens` are those it knows, and whose they are.

    With a server's `tls` context it speaks HTTPS. It also answers as an HTTP proxy to any host.
    """

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.repos: dict[str, Repo] = {}
        self.tokens: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.rate = 0.0  # bytes a second of every body; 0: no limit
        self.ranges = True  # whether they are honoured
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.hub = self
        self.port = self._server.server_address[1]
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "https" if tls else "http"
        self.url, self.cdn_url = f"{scheme}://127.0.0.1:{self.port}", f"{scheme}://localhost:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="loopback-hub", daemon=True
        )

    def __enter__(self) -> LoopbackHub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, repo_id: str, files: dict[str, bytes | Path], **facts: Any) -> Repo:
        repo = self.repos[repo_id] = Repo(repo_id, blobs(files), **facts)
        return repo

    def asked(self, where: str) -> list[Request]:
        """The requests so far whose place matches."""
        with self.lock:
            return [request for request in self.requests if fnmatchcase(request.place, where)]

    def strike(self, place: str, kinds: tuple[str, ...]) -> Fault | None:
        """The fault that this request meets now, if any; it is then spent by one."""
        with self.lock:
            for fault in self.faults:
                if fault.kind in kinds and fault.times != 0 and fnmatchcase(place, fault.where):
                    fault.times -= 1
                    fault.struck += 1
                    return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    hub: LoopbackHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is the usual case here; anything else is this hub's own fault."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the requests are in the hub's list."""

    # ------------------------------------------------------------ which answer

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        self.query = parse_qs(parts.query)
        matches = ((re.fullmatch(pattern, path), place, answer) for pattern, place, answer in _ROUTES)
        found, place, answer = next((match for match in matches if match[0]), (None, "unknown", None))
        self.place = place.format(*found.groups()) if found else place
        hub, authorization = self.server.hub, self.headers.get("Authorization", "")
        self.token = authorization.removeprefix("Bearer ")
        with hub.lock:
            hub.requests.append(
                Request(
                    self.command, self.place, self.headers.get("Host", ""), self.token, self.headers.get("Range", "")
                )
            )
        if fault := hub.strike(self.place, ("call",)):
            fault.action()
        if fault := hub.strike(self.place, ("status", "nonsense", "loop")):
            self._refuse_by(fault)
        elif found is None or answer is None:
            self._error(404, "", "Not found")
        elif self.token and self.token not in hub.tokens:
            self._error(401, "", "Invalid credentials in Authorization header")
        else:
            answer(self, *found.groups())

    def _refuse_by(self, fault: Fault) -> None:
        if fault.kind == "status":
            self._error(fault.status, fault.headers.get("X-Error-Code", ""), "", fault.headers)
        elif fault.kind == "loop":
            self._head(302, {"Location": self.path, "Content-Length": "0"})
        else:
            self._send(fault.body, {"Content-Type": "text/html"})

    def _error(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        stated = {"X-Error-Code": code, "X-Error-Message": message}
        stated = {name: text for name, text in stated.items() if text} | (headers or {})
        self._send(json.dumps({"error": message}).encode(), {"Content-Type": "application/json", **stated}, status)

    # ------------------------------------------------------------ the hub's answers

    def whoami(self) -> None:
        if not self.token:
            self._error(401, "", "Invalid username or password.")
        else:
            self._json({"type": "user", "name": self.server.hub.tokens[self.token], "auth": {"type": "access_token"}})

    def search(self) -> None:
        (text,), wanted = self.query.get("search", [""]), self.query.get("filter", [])
        rows = [
            repo
            for repo in self.server.hub.repos.values()
            if text.casefold() in repo.repo_id.casefold() and set(wanted) <= {*repo.tags} and not repo.private
        ]
        (sort,) = self.query.get("sort", ["trendingScore"])
        (limit,) = self.query.get("limit", ["1000"])
        expand = self.query.get("expand")
        found = [repo.info(blobs=False) for repo in rows]
        found.sort(key=lambda info: info[sort], reverse=True)
        if expand:
            found = [{key: info[key] for key in ("_id", "id", "modelId", *expand) if key in info} for info in found]
        self._json(found[: int(limit)])

    def info(self, repo_id: str, revision: str | None = None) -> None:
        repo = self._repo(repo_id)
        if repo is None:
            return
        revision = revision or "main"
        files = repo.at(revision)
        if files is None or revision in repo.lost:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        info = repo.info(blobs="blobs" in self.query)
        if files is not repo.files:
            info["sha"] = revision
            info["siblings"] = [sibling(name, blob, "blobs" in self.query) for name, blob in sorted(files.items())]
        self._json(info)

    def tree(self, repo_id: str, revision: str) -> None:
        repo = self._repo(repo_id)
        files = repo.at(revision) if repo else None
        if repo is not None:
            listing = []
            for name, blob in sorted((files or {}).items()):
                entry = {"type": "file", "path": name, "size": blob.size, "oid": blob.git_id}
                listing.append(
                    entry | ({"lfs": {"oid": blob.sha256, "size": blob.size, "pointerSize": 134}} if blob.large else {})
                )
            self._json(listing)

    def resolve(self, repo_id: str, revision: str, name: str) -> None:
        repo = self._repo(repo_id)
        if repo is None or not self._allowed(repo):
            return
        files = repo.at(revision)
        if files is None or revision in repo.lost:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        commit = repo.commit if files is repo.files else revision
        blob = files.get(name)
        if blob is None:
            self._error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        elif blob.claimed_bytes:
            self._error(503, "", "This file is listed only")
        elif blob.large:
            target = f"{self.server.hub.cdn_url}/cdn/{quote(f'{repo_id}/{commit}/{name}')}?signature=s3cret"
            linked = {"X-Linked-Etag": f'"{blob.etag}"', "X-Linked-Size": str(blob.size), "X-Repo-Commit": commit}
            self._head(302, {"Location": target, "Content-Length": "0", **linked})
        else:
            self._body(blob, {"X-Repo-Commit": commit})

    def cdn(self, repo_id: str, revision: str, name: str) -> None:
        files = self.server.hub.repos[repo_id].at(revision)
        if files is None or name not in files:
            self._error(403, "", "")
        else:
            self._body(files[name], {})

    def _repo(self, repo_id: str) -> Repo | None:
        repo = self.server.hub.repos.get(repo_id)
        if repo is None or (repo.private and repo.access.get(self._user()) != "accepted"):
            message = "Repository not found" if self.token else "Invalid username or password."
            self._error(404 if self.token else 401, "RepoNotFound", message)
            return None
        return repo

    def _allowed(self, repo: Repo) -> bool:
        access = repo.access.get(self._user(), "")
        if not repo.gated or access == "accepted":
            return True
        subject = f"Access to model {repo.repo_id} is restricted"
        if not self.token:
            self._error(401, "GatedRepo", f"{subject}. You must have access to it and be authenticated to access it.")
        elif access == "pending":
            self._error(403, "GatedRepo", f"Your request to access model {repo.repo_id} is awaiting a review.")
        elif access == "rejected":
            self._error(403, "GatedRepo", f"Your request to access model {repo.repo_id} has been rejected.")
        elif access == "narrow token":
            self._error(
                403, "", "Please enable access to public gated repositories in your fine-grained token settings."
            )
        else:
            self._error(403, "GatedRepo", f"{subject} and you are not in the authorized list.")
        return False

    def _user(self) -> str:
        return self.server.hub.tokens.get(self.token, "")

    # ------------------------------------------------------------ sending

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, content: bytes, headers: dict[str, str], status: int = 200) -> None:
        self._stream(Blob(content), 0, len(content), status, headers)

    def _body(self, blob: Blob, headers: dict[str, str]) -> None:
        start, status, total = 0, 200, blob.size
        if fault := self.server.hub.strike(self.place, ("longer", "shorter")):
            total += 7 if fault.kind == "longer" else -7
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked and self.server.hub.ranges:
            start, status = int(asked[1]), 206
            if start >= total:
                self._head(416, {"Content-Range": f"bytes */{total}", "Content-Length": "0"})
                return
            headers = {**headers, "Content-Range": f"bytes {start}-{total - 1}/{total}"}
        headers = {**headers, "ETag": f'"{blob.etag}"', "Accept-Ranges": "bytes"}
        self._stream(blob, start, total, status, headers)

    def _stream(self, blob: Blob, start: int, total: int, status: int, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "Content-Length": str(total - start)})
        if self.command == "HEAD":
            return
        hub, sent = self.server.hub, start
        fault = hub.strike(self.place, ("slow", "hang", "reset", "cut", "flip"))
        rate = fault.rate if fault and fault.kind == "slow" else hub.rate
        strike = min(int(fault.at * blob.size), blob.size - 1) if fault and fault.kind != "slow" else blob.size
        for piece in _pieces(blob, start, total, rate):
            if sent + len(piece) > strike and fault and fault.kind != "flip":
                self.wfile.write(piece[: max(0, strike - sent)])
                self._break_off(fault)
                return
            if sent <= strike < sent + len(piece):
                piece = piece[: strike - sent] + bytes([piece[strike - sent] ^ 0x55]) + piece[strike - sent + 1 :]
            self.wfile.write(piece)
            sent += len(piece)
            if rate and hub.closing.wait(len(piece) / rate):
                break
        if sent < total:  # less came than was announced
            self.close_connection = True

    def _break_off(self, fault: Fault) -> None:
        self.close_connection = True
        if fault.kind == "hang":
            self.server.hub.closing.wait(fault.seconds)
        elif fault.kind == "reset":  # an abortive close sends RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()


def _pieces(blob: Blob, start: int, total: int, rate: float) -> Iterator[bytes]:
    """The body up to `total`, in pieces of a twentieth of a second each where there is a rate."""
    step, left = max(1, int(rate / 20)) if rate else CHUNK_BYTES, total - start
    for chunk in blob.chunks(start):
        for at in range(0, len(chunk), step):
            piece = chunk[at : at + step][: max(0, left)]
            left -= len(piece)
            if piece:
                yield piece


_REPO, _REV, _FILE = r"([^/]+/[^/]+)", r"([^/]+)", r"(.+)"
_ROUTES: tuple[tuple[str, str, Callable[..., None]], ...] = (
    (r"/api/whoami-v2", "whoami", _Handler.whoami),
    (r"/api/models", "search", _Handler.search),
    (rf"/api/models/{_REPO}", "info:{0}", _Handler.info),
    (rf"/api/models/{_REPO}/revision/{_REV}", "info:{0}", _Handler.info),
    (rf"/api/models/{_REPO}/tree/{_REV}", "tree:{0}", _Handler.tree),
    (rf"/{_REPO}/resolve/{_REV}/{_FILE}", "resolve:{0}:{2}", _Handler.resolve),
    (rf"/cdn/{_REPO}/{_REV}/{_FILE}", "cdn:{0}:{2}", _Handler.cdn),
)


if __name__ == "__main__":
    from tests.faults.hub_catalogue import main

    main()
