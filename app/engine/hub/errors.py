"""What went wrong between here and the hub, in words: the reason, what was kept, what to do, the page to open.

The hub answers 401, 403 and 404 for many reasons; its X-Error-Code and X-Error-Message headers tell them apart
(huggingface_hub.utils.hf_raise_for_status reads the same ones).
"""

from __future__ import annotations

import errno
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import parse_ratelimit_headers

from app.errors import AppError, HubError
from app.paths import shown
from app.words import number, say, why

TOKENS_PAGE = "https://huggingface.co/settings/tokens"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What Python raises where an answer isn't what its reader takes for granted.
NONSENSE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def model_page(repo_id: str) -> str:
    """The page of a model, where a person accepts terms: the hub's own, even where a mirror serves the files."""
    return f"https://huggingface.co/{repo_id}"


def transient(error: BaseException) -> bool:
    """Whether the same request may well succeed in a moment."""
    error = _origin(error)
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        # A signed address may have run out; the next request gets another one.
        return status in (408, 425, 429) or status >= 500 or (status in (401, 403) and _from_storage(error))
    if isinstance(error, httpx2.ProxyError) or _certificate(error):
        return False
    return isinstance(error, httpx2.TimeoutException | httpx2.NetworkError | httpx2.RemoteProtocolError)


def wait_s(error: BaseException) -> float:
    """How long the hub asks to wait before the next request; 0 where it doesn't say."""
    error = _origin(error)
    if not isinstance(error, HfHubHTTPError):
        return 0.0
    headers = error.response.headers
    if headers.get("Retry-After", "").strip().isdigit():
        return float(headers["Retry-After"])
    limit = parse_ratelimit_headers(headers)  # on every answer; it counts where nothing is left
    return float(limit.reset_in_seconds) if limit is not None and limit.remaining == 0 else 0.0


def explain(error: BaseException, repo_id: str = "", *, token: bool = False) -> AppError:
    """`error` as one that reaches the user. `token` says whether one was sent."""
    if isinstance(error, AppError):
        return error
    subject = repo_id or "Hugging Face"
    if isinstance(error, OfflineModeIsEnabled):
        return HubError(
            say("Offline mode is on, so the hub isn't asked."),
            say("Unset HF_HUB_OFFLINE and start the program again. Installed models work all the same."),
            kind="offline",
        )
    if isinstance(error, HfHubHTTPError):
        return _answered(error, repo_id, subject, token)
    if isinstance(error, HFValidationError):
        return HubError(
            say("“{0}” isn't a name of a model on the hub.", repo_id[:80]), say("A name looks like owner/model.")
        )
    if isinstance(error, httpx2.ProxyError):
        return HubError(
            say("The proxy refused the way to {0}: {1}.", _host(), error),
            say("Check HTTPS_PROXY and HTTP_PROXY."),
            _named(error),
            kind="offline",
        )
    if _certificate(error):
        return HubError(
            say("The certificate of {0} isn't trusted here: {1}.", _host(), error),
            say(
                "If your network has a certificate of its own, set SSL_CERT_FILE to its file and start the "
                "program again."
            ),
            _named(error),
            kind="offline",
        )
    if isinstance(error, httpx2.TimeoutException):
        return HubError(say("{0} didn't answer in time.", _host()), _network_hint(), _named(error), kind="offline")
    if isinstance(error, httpx2.ConnectError):
        return HubError(say("{0} can't be reached.", _host()), _network_hint(), _named(error), kind="offline")
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return HubError(
            say("The connection to {0} broke off.", _host()), _network_hint(), _named(error), kind="offline"
        )
    if isinstance(error, (httpx2.DecodingError, httpx2.TooManyRedirects, httpx2.InvalidURL, *NONSENSE)):
        return HubError(
            say("{0} answered something that isn't the hub's.", _host()),
            say("The network may want a log-in first, or HF_ENDPOINT names something else."),
            _named(error),
        )
    if isinstance(error, OSError):
        return on_disk(error)
    return HubError(
        say("Something went wrong with {0}; nothing was changed.", subject), say("Try again."), _named(error)
    )


def on_disk(error: OSError) -> HubError:
    """A file couldn't be written or read."""
    path, cache = Path(str(error.filename or "")), Path(constants.HF_HUB_CACHE)
    # Of the hub cache only where it is: the names in it are checksums.
    place = f" ({shown(cache if path.is_relative_to(cache) else path)})" if error.filename else ""
    if error.errno in NO_ROOM:
        return HubError(
            say("The disk is full{0}. What has come is kept.", place),
            say("Make room, then go on; or cancel, which deletes what has come."),
            _named(error),
            kind="disk",
        )
    hint = say("Make the folder writable for you, then go on.") if error.errno in _NOT_WRITABLE else say("Try again.")
    return HubError(say("A file couldn't be written{0}: {1}.", place, why(error)), hint, _named(error), kind="disk")


def _network_hint() -> str:
    return say("Check the network, then try again. Behind a proxy, set HTTPS_PROXY.")


def _answered(error: HfHubHTTPError, repo_id: str, subject: str, token: bool) -> HubError:
    status, headers = error.response.status_code, error.response.headers
    code, said = headers.get("X-Error-Code", ""), headers.get("X-Error-Message", "")
    detail = f"HTTP {status} {code} {said} {headers.get('X-Request-Id', '')}".strip()
    page = model_page(repo_id) if repo_id else ""
    if _from_storage(error):
        message = say("The hub's storage doesn't give a file of {0} (HTTP {1}).", subject, status)
        return HubError(message, say("Try again later."), detail)
    if code == "GatedRepo":
        return _gated(subject, said, token, page, detail)
    if status == 401 and token and code != "RepoNotFound":
        return HubError(
            say("The hub doesn't accept the token: it is wrong, expired or was revoked."),
            say("Make a new one and enter it in the preferences."),
            detail,
            kind="bad_token",
            page=TOKENS_PAGE,
        )
    if status == 401 and code != "RepoNotFound":
        return HubError(
            say("{0} asks for an account, and no token is set.", subject),
            say("Enter a token in the preferences."),
            detail,
            kind="no_token",
            page=page or TOKENS_PAGE,
        )
    if status == 403:
        if "fine-grained" in said or "token" in said.casefold():
            hint = say("Give the token the permission to read gated repositories, or make another one.")
            return HubError(say("The token may not read {0}.", subject), hint, detail, kind="denied", page=TOKENS_PAGE)
        said = said.rstrip(".")
        return HubError(
            say("The hub refuses access to {0}: {1}.", subject, said)
            if said
            else say("The hub refuses access to {0}.", subject),
            say("See its page for the reason."),
            detail,
            kind="denied",
            page=page,
        )
    if code == "EntryNotFound":
        return HubError(
            say("A file of {0} isn't there any more.", subject), say("Try again."), detail, kind="not_found", page=page
        )
    if code == "RevisionNotFound":
        return HubError(
            say("This version of {0} isn't there any more.", subject),
            say("Cancel it and download the present one."),
            detail,
            kind="not_found",
            page=page,
        )
    if status in (401, 404):
        hint = (
            say("Check the name.")
            if token
            else say("Check the name; if it is private, enter a token in the preferences.")
        )
        return HubError(say("The hub has no model {0}, or doesn't show it.", subject), hint, detail, kind="not_found")
    if status == 429:
        seconds = wait_s(error)
        message = (
            say("Too many requests: the hub asks to wait for {0} seconds.", number(seconds))
            if seconds
            else say("Too many requests: the hub asks to wait.")
        )
        hint = (
            say("Wait, then try again.") if token else say("Wait, then try again. With a token, the hub allows more.")
        )
        return HubError(message, hint, detail, kind="busy")
    if status >= 500:
        return HubError(say("The hub has a problem of its own (HTTP {0}).", status), say("Try again later."), detail)
    return HubError(
        say("The hub refused a request for {0} (HTTP {1}).", subject, status), say("Try again later."), detail
    )


def _gated(subject: str, said: str, token: bool, page: str, detail: str) -> HubError:
    words = said.casefold()
    if not token:
        return HubError(
            say(
                "{0} can only be downloaded with an account that has accepted its terms, and no token is set.", subject
            ),
            say("Accept the terms on its page, then enter a token in the preferences."),
            detail,
            kind="no_token",
            page=page,
        )
    if "rejected" in words:
        return HubError(
            say("The authors of {0} have refused access to your account.", subject),
            say("Choose another model."),
            detail,
            kind="denied",
            page=page,
        )
    if "awaiting" in words or "pending" in words:
        return HubError(
            say("The authors of {0} haven't answered your request for access yet.", subject),
            say("Try again when they have."),
            detail,
            kind="terms",
            page=page,
        )
    return HubError(
        say("Your account hasn't accepted the terms of {0}.", subject),
        say("Accept them on its page, then try again."),
        detail,
        kind="terms",
        page=page,
    )


def _origin(error: BaseException) -> BaseException:
    """What `explain` has made this error of."""
    return error.__cause__ if isinstance(error, HubError) and error.__cause__ is not None else error


def _from_storage(error: HfHubHTTPError) -> bool:
    """Whether the host that large files are redirected to has answered, rather than the hub."""
    return error.response.url.host != urlsplit(constants.ENDPOINT).hostname


def _certificate(error: BaseException) -> bool:
    """httpx2 wraps what ssl says: it is found among the causes."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(link):
            return True
        link = link.__cause__ or link.__context__
    return False


def _host() -> str:
    return constants.ENDPOINT.partition("://")[2]


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
