"""A model that was downloaded speaks without a network: the real client, the real engine, then no hub at all."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.engine_kit import ask, make_model, ready_engine, transcript
from tests.faults.downloading import Driver, check_whole
from tests.faults.hub import LoopbackHub


def test_a_downloaded_model_loads_with_the_network_blocked(
    loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_model(tmp_path / "tiny")
    repo = loopback_hub.add("somebody/tiny", {path.name: path for path in folder.iterdir()})
    with Driver(tmp_path) as driver:
        path = driver.download("somebody/tiny").path
    check_whole(repo, path)

    def blocked(*_: object) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", blocked)
    monkeypatch.setattr(socket, "getaddrinfo", blocked)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # nobody has to say that there is none
    engine = ready_engine(Path(path), tmp_path / "snapshots")
    assert ask(engine, transcript("Hello.")).text
