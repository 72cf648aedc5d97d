"""Proxies, certificates and mirrors: the environment that huggingface_hub understands leads here too."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from huggingface_hub import close_session, constants

from app.engine.hub.catalogue import Hub
from app.errors import HubError
from tests.faults.downloading import Driver, check_whole
from tests.faults.hub import LoopbackHub
from tests.faults.hub_models import small_model

NAME = "somebody/small"


def point_at(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """As HF_ENDPOINT does it before the program starts."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{")[2]
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{endpoint}/{{{template}")
    close_session()  # its client has read the environment


def test_through_a_proxy(loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = loopback_hub.add(NAME, small_model())
    monkeypatch.setenv("HTTP_PROXY", loopback_hub.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    loopback_hub.cdn_url = "http://storage.invalid"
    point_at(monkeypatch, "http://hub.invalid")
    assert Hub().describe(NAME).commit == repo.commit
    with Driver(tmp_path) as driver:
        check_whole(repo, driver.download(NAME).path)
    assert {request.host for request in loopback_hub.requests} == {"hub.invalid", "storage.invalid"}


def test_a_proxy_that_refuses(loopback_hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", loopback_hub.url)  # it knows no CONNECT
    point_at(monkeypatch, "https://hub.invalid")
    with pytest.raises(HubError) as caught:
        Hub().describe(NAME)
    assert caught.value.kind == "offline"
    assert "HTTPS_PROXY" in caught.value.hint


def test_a_certificate_of_ones_own(loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with LoopbackHub(tls=context) as hub:
        repo = hub.add(NAME, small_model())
        point_at(monkeypatch, hub.url)
        with pytest.raises(HubError) as caught:
            Hub().describe(NAME)
        assert "isn't trusted" in caught.value.message
        assert "SSL_CERT_FILE" in caught.value.hint
        with Driver(tmp_path) as driver:
            error = driver.download(NAME).error
        assert isinstance(error, HubError)
        assert "SSL_CERT_FILE" in error.hint
        authority.cert_pem.write_to_path(tmp_path / "authority.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        point_at(monkeypatch, hub.url)
        with Driver(tmp_path) as driver:
            check_whole(repo, driver.download(NAME).path)
        close_session()


def test_only_the_mirror_is_asked(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    """Every connection to anywhere but loopback fails the test (tests/conftest.py), whatever page a message names."""
    loopback_hub.add(NAME, small_model(), gated="auto")
    with Driver(tmp_path) as driver:
        error = driver.download(NAME).error
    assert isinstance(error, HubError)
    assert error.page.startswith("https://huggingface.co/")
