"""The account at the hub: where its token is kept, and whether the hub takes it.

The token lies in the system's keychain where there is one, else in a file that only the user can read. Without one of
the program's own, what `hf auth login` or HF_TOKEN set is used. Nothing shows it: see app.log.keep_secret.
"""

from __future__ import annotations

import logging
import stat
import threading
from pathlib import Path
from typing import Literal

import keyring
import keyring.backends.fail
import keyring.errors
from huggingface_hub import HfApi, constants, get_session, get_token

from app import paths
from app.engine.hub.errors import explain
from app.errors import AppError, HubError
from app.hub_events import AccountStatus
from app.log import keep_secret
from app.words import say, why

log = logging.getLogger(__name__)

_SERVICE, _USER = "turboquant-chat", "huggingface"
_TIMEOUT_S = 20.0
Source = Literal["", "keychain", "file", "environment", "hf"]


class Account:
    """Safe to use from several threads. A call may wait for the keychain, or for a person who unlocks it."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or paths.settings_dir() / "hub-token"
        self._lock = threading.Lock()
        self._found: tuple[Source, str] | None = None

    def token(self) -> str | None:
        """The token in use, looked up once."""
        return self._find()[1] or None

    def status(self, *, ask_hub: bool = False) -> AccountStatus:
        """Where the token comes from; with `ask_hub` also whose it is. Never raises for what the hub answers."""
        source, token = self._find()
        checked, user, error = None, "", None
        if ask_hub and token:
            try:
                user = self._owner(token)
                checked = True
            except AppError as told:
                error = told
                checked = False if isinstance(told, HubError) and told.kind == "bad_token" else None
        place = self._place(source)
        return AccountStatus(source, place, constants.ENDPOINT, constants.is_offline_mode(), checked, user, error)

    def set(self, token: str) -> None:
        """Keep this token instead of the one before; an empty one only removes that. Raises AppError."""
        token = token.strip()
        if not all("!" <= letter <= "~" for letter in token):
            raise AppError(
                say("That isn't a token: it holds spaces or letters that no token has. The one before is kept."),
                say("Copy it again from the page that made it; it begins with hf_."),
            )
        with self._lock:
            self._found = None
            self._remove()
            if token:
                keep_secret(token)
                self._store(token)

    def _place(self, source: Source) -> str:
        match source:
            case "keychain":
                return say("the system's keychain")
            case "file":
                return say("a file that only you can read ({0})", paths.shown(self._file))
            case "environment":
                return say("the environment variable HF_TOKEN")
            case "hf":
                return say("the place where `hf auth login` puts it")
        return ""

    def _find(self) -> tuple[Source, str]:
        with self._lock:
            if self._found is None:
                self._found = self._look()
                if self._found[1]:
                    keep_secret(self._found[1])
            return self._found

    def _look(self) -> tuple[Source, str]:
        if token := _from_keychain():
            return "keychain", token
        try:
            if token := self._file.read_text("ascii").strip():
                return "file", token
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            log.warning("the file with the hub's token can't be read: %s", type(error).__name__)
        if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
            return "", ""
        token = get_token() or ""
        return ("hf" if token and _from_hf_login() == token else "environment" if token else ""), token

    def _store(self, token: str) -> None:
        if _has_keychain():
            try:
                keyring.set_password(_SERVICE, _USER, token)
                return
            except Exception as error:  # a backend's own: locked, refused, no bus
                log.warning("the keychain didn't take the hub's token: %s", type(error).__name__)
        try:
            paths.write_atomic(self._file, token.encode("ascii"), mode=stat.S_IRUSR | stat.S_IWUSR)
        except OSError as error:
            raise AppError(
                say("The token couldn't be kept: {0} ({1}).", why(error), paths.shown(self._file)),
                say("Make the folder writable, then enter it again."),
            ) from error

    def _remove(self) -> None:
        if _has_keychain():
            try:
                keyring.delete_password(_SERVICE, _USER)
            except keyring.errors.PasswordDeleteError:
                pass  # there was none
            except Exception as error:
                log.warning("the keychain didn't forget the hub's token: %s", type(error).__name__)
                if _from_keychain():
                    raise AppError(
                        say("The keychain didn't let go of the token: it is still there."),
                        say("Unlock the keychain and try again, or delete its entry {0} yourself.", _SERVICE),
                        type(error).__name__,
                    ) from None
        try:
            self._file.unlink(missing_ok=True)
        except OSError as error:
            raise AppError(
                say("The file with the token couldn't be deleted: {0} ({1}).", why(error), paths.shown(self._file)),
                say("Delete it yourself."),
            ) from error

    def _owner(self, token: str) -> str:
        get_session().timeout = _TIMEOUT_S
        try:
            answer = HfApi(token=token).whoami()
            return str(answer["name"])
        except Exception as error:
            raise explain(error, token=True) from None


def _has_keychain() -> bool:
    """Whether keyring found a keychain; its stand-ins for "none" have no priority above 0."""
    try:
        backend = keyring.get_keyring()
        return not isinstance(backend, keyring.backends.fail.Keyring) and float(backend.priority) > 0
    except Exception as error:
        log.warning("no keychain: %s", type(error).__name__)
        return False


def _from_keychain() -> str:
    if not _has_keychain():
        return ""
    try:
        return keyring.get_password(_SERVICE, _USER) or ""
    except Exception as error:
        log.warning("the keychain didn't give the hub's token: %s", type(error).__name__)
        return ""


def _from_hf_login() -> str:
    try:
        return Path(constants.HF_TOKEN_PATH).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
