"""The token: where it is kept, what the hub says of it, and that nothing shows it."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest
from huggingface_hub import constants

from app import log
from app.engine.hub.accounts import Account
from app.errors import AppError, HubError
from app.hub_events import SetToken
from tests.faults.hub import Fault, LoopbackHub

TOKEN = "hf_oneThatTheHubKnows"
ODD = "glpat-not.of+the/usual=form"  # some mirrors have their own


class Keychain(keyring.backend.KeyringBackend):
    """One in memory; it can be told to refuse, as a locked one does."""

    priority = 5.0

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        if (service, username) not in self.kept:
            raise keyring.errors.PasswordDeleteError("no such entry")
        del self.kept[service, username]

    def _check(self) -> None:
        if self.locked:
            raise keyring.errors.KeyringLocked("the user said no")


@pytest.fixture
def keychain() -> Iterator[Keychain]:
    before, mine = keyring.get_keyring(), Keychain()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


@pytest.fixture
def no_keychain() -> Iterator[None]:
    from keyring.backends import fail

    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


def test_in_the_keychain(loopback_hub: LoopbackHub, keychain: Keychain, tmp_path: Path) -> None:
    loopback_hub.tokens = {TOKEN: "somebody"}
    account = Account(tmp_path / "token")
    assert account.token() is None
    account.set(f"  {TOKEN}\n")
    assert list(keychain.kept.values()) == [TOKEN]
    assert not (tmp_path / "token").exists()
    status = Account(tmp_path / "token").status(ask_hub=True)
    assert (status.source, status.checked, status.user) == ("keychain", True, "somebody")
    account.set("")
    assert keychain.kept == {}
    assert Account(tmp_path / "token").status(ask_hub=True).source == ""


@pytest.mark.usefixtures("no_keychain")
def test_in_a_file_for_its_owner_only(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    file, umask = tmp_path / "token", os.umask(0)
    try:
        Account(file).set(TOKEN)
        Account(file).set(ODD)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["token"]
    assert Account(file).token() == ODD
    assert str(file) in Account(file).status().place
    Account(file).set("")
    assert not file.exists()


def test_a_locked_keychain(loopback_hub: LoopbackHub, keychain: Keychain, tmp_path: Path) -> None:
    keychain.locked = True
    account = Account(tmp_path / "token")
    account.set(TOKEN)
    assert account.status().source == "file"


def test_a_keychain_that_keeps_what_it_should_forget(
    loopback_hub: LoopbackHub, keychain: Keychain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account(tmp_path / "token")
    account.set(TOKEN)

    def refuse(*_: object) -> None:
        raise keyring.errors.KeyringError("no")

    monkeypatch.setattr(keychain, "delete_password", refuse)
    with pytest.raises(AppError, match="still there"):
        account.set("")
    assert account.token() == TOKEN


@pytest.mark.usefixtures("no_keychain")
def test_what_other_programs_set_is_used(
    loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(constants.HF_TOKEN_PATH).write_text("hf_fromTheLogin")
    assert (Account(tmp_path / "token").status().source, Account(tmp_path / "token").token()) == (
        "hf",
        "hf_fromTheLogin",
    )
    monkeypatch.setenv("HF_TOKEN", "hf_fromTheEnvironment")
    account = Account(tmp_path / "token")
    assert (account.status().source, account.token()) == ("environment", "hf_fromTheEnvironment")
    account.set(TOKEN)
    assert account.token() == TOKEN
    account.set("")
    assert account.token() == "hf_fromTheEnvironment"


@pytest.mark.usefixtures("no_keychain")
@pytest.mark.parametrize(
    ("fault", "checked", "kind"),
    [
        (None, False, "bad_token"),
        (Fault("status", "whoami", status=503), None, "failed"),
        (Fault("reset", "whoami"), None, "offline"),
    ],
)
def test_a_token_that_the_hub_doesnt_take(
    loopback_hub: LoopbackHub, tmp_path: Path, fault: Fault | None, checked: bool | None, kind: str
) -> None:
    """Only a refusal says that it is wrong; a hub that can't answer says nothing."""
    account = Account(tmp_path / "token")
    account.set(TOKEN)
    if fault:
        loopback_hub.tokens = {TOKEN: "somebody"}
        loopback_hub.faults = [fault]
    status = account.status(ask_hub=True)
    assert status.checked is checked
    assert isinstance(status.error, HubError)
    assert status.error.kind == kind
    assert account.token() == TOKEN


@pytest.mark.usefixtures("no_keychain")
@pytest.mark.parametrize("token", ["hf_with space", "hf_wîth", "hf_a\nhf_b"])
def test_what_is_no_token(loopback_hub: LoopbackHub, tmp_path: Path, token: str) -> None:
    account = Account(tmp_path / "token")
    account.set(TOKEN)
    with pytest.raises(AppError) as caught:
        account.set(token)
    assert token not in repr(caught.value)
    assert account.token() == TOKEN


@pytest.mark.usefixtures("no_keychain")
@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"\n"])
def test_a_damaged_file_is_no_token(loopback_hub: LoopbackHub, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    assert Account(tmp_path / "token").token() is None


@pytest.mark.usefixtures("no_keychain")
def test_nothing_shows_the_token(loopback_hub: LoopbackHub, turboquant_home: Path) -> None:
    account = Account()
    account.set(ODD)
    assert ODD not in repr(SetToken(ODD))
    assert ODD not in repr(account.status(ask_hub=True))
    root, handlers = logging.getLogger(), logging.getLogger().handlers[:]
    root.handlers = []
    try:
        log.start(logging.DEBUG)
        logging.getLogger("app").warning("sent %s to the hub", ODD)
        logging.getLogger("app").warning("headers: {'authorization': 'Bearer some-other-token'}, hf_AbCdEfGhIjKl")
        try:
            raise ValueError(f"a traceback with {ODD}")
        except ValueError:
            logging.getLogger("app").exception("failed")
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers = handlers
    (written,) = (turboquant_home / "logs").glob("turboquant-chat.log")
    text = written.read_text()
    assert "ValueError" in text
    assert "sent (hidden) to the hub" in text
    for secret in (ODD, "some-other-token", "AbCdEfGh"):
        assert secret not in text
