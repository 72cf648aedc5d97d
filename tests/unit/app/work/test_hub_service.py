"""The hub for the window: commands answered by events in the window's thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.hub_events import (
    AccountStatus,
    CancelDownload,
    CheckAccount,
    Curate,
    CuratedModels,
    Describe,
    DescribeFailed,
    Download,
    DownloadRemoved,
    DownloadStatus,
    HubEvent,
    HubQuery,
    ModelDescribed,
    ModelsFound,
    PauseDownload,
    Search,
    SearchFailed,
    SetToken,
)
from app.work.hub_service import HubService
from tests.faults.downloading import check_whole
from tests.faults.hub import Fault, LoopbackHub
from tests.faults.hub_catalogue import TOKEN, fill
from tests.faults.hub_models import small_model

NAME = "mlx-community/small-and-whole"


class Hearer(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[HubEvent] = []

    def on_event(self, event: HubEvent) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.heard.append(event)


@pytest.fixture
def hearer() -> Hearer:
    return Hearer()


@pytest.fixture
def service(qtbot: QtBot, loopback_hub: LoopbackHub, turboquant_home: Path, hearer: Hearer) -> Iterator[HubService]:
    fill(loopback_hub, None, medium=1000)
    service = HubService()
    service.event_emitted.connect(hearer.on_event)
    service.start()
    yield service
    service.shutdown()


def test_a_search_answers_twice(qtbot: QtBot, service: HubService, hearer: Hearer) -> None:
    query = HubQuery("mlx-community", hide_unsupported=True, limit=50)
    service.submit(Search(query))
    qtbot.waitUntil(lambda: len(hearer.heard) == 2, timeout=20_000)
    first, second = hearer.heard
    assert isinstance(first, ModelsFound)
    assert isinstance(second, ModelsFound)
    assert (first.query, first.complete, second.complete) == (query, False, True)
    gone = {row.repo_id for row in first.models} - {row.repo_id for row in second.models}
    assert gone == {"mlx-community/of-an-unknown-kind", "mlx-community/with-code-of-its-own"}


def test_a_newer_search_ends_the_answers_to_an_older_one(
    qtbot: QtBot, service: HubService, loopback_hub: LoopbackHub, hearer: Hearer
) -> None:
    go_on = threading.Event()
    loopback_hub.faults = [Fault("call", "search", action=lambda: go_on.wait(20) and None)]
    old, new = HubQuery("llama"), HubQuery("qwen3")
    service.submit(Search(old))
    qtbot.waitUntil(lambda: bool(loopback_hub.asked("search")), timeout=20_000)
    service.submit(Search(new))
    qtbot.waitUntil(lambda: len(hearer.heard) == 2, timeout=20_000)
    go_on.set()
    service.submit(CheckAccount())
    qtbot.waitUntil(lambda: len(hearer.heard) > 2, timeout=20_000)
    assert {event.query for event in hearer.heard if isinstance(event, ModelsFound)} == {new}


def test_what_fails_is_told(qtbot: QtBot, service: HubService, loopback_hub: LoopbackHub, hearer: Hearer) -> None:
    loopback_hub.faults = [Fault("status", "search", status=500)]
    service.submit(Search(HubQuery()))
    service.submit(Describe("somebody/missing"))
    qtbot.waitUntil(lambda: len(hearer.heard) == 2, timeout=20_000)
    assert {type(event) for event in hearer.heard} == {SearchFailed, DescribeFailed}


def test_a_model_and_the_curated_list(qtbot: QtBot, service: HubService, hearer: Hearer) -> None:
    service.submit(Describe(NAME))
    service.submit(Curate())
    qtbot.waitUntil(lambda: len(hearer.heard) == 3, timeout=20_000)
    (described,) = (event for event in hearer.heard if isinstance(event, ModelDescribed))
    assert described.details.model.repo_id == NAME
    bare, known = (event for event in hearer.heard if isinstance(event, CuratedModels))
    assert [row.repo_id for row in bare.models] == [row.repo_id for row in known.models]
    assert any(row.weights_bytes for row in known.models)


def test_downloads_in_order(qtbot: QtBot, service: HubService, loopback_hub: LoopbackHub, hearer: Hearer) -> None:
    loopback_hub.rate = 300_000.0
    service.submit(Download(NAME))
    qtbot.waitUntil(lambda: any(getattr(e, "done_bytes", 0) > 10_000 for e in hearer.heard), timeout=20_000)
    service.submit(PauseDownload(NAME))
    qtbot.waitUntil(lambda: hearer.heard[-1].state == "paused", timeout=20_000)
    assert [status.state for status in service.downloads] == ["paused"]
    loopback_hub.rate = 0.0
    service.submit(Download(NAME))
    qtbot.waitUntil(lambda: hearer.heard[-1].state == "done", timeout=20_000)
    last = hearer.heard[-1]
    assert isinstance(last, DownloadStatus)
    check_whole(loopback_hub.repos[NAME], last.path)
    service.submit(CancelDownload(NAME))
    qtbot.waitUntil(lambda: hearer.heard[-1] == DownloadRemoved(NAME), timeout=20_000)
    assert service.downloads == ()


def test_the_account(qtbot: QtBot, service: HubService, hearer: Hearer) -> None:
    for token, checked in ((TOKEN, True), ("hf_unknown", False), ("not a token", None), ("", None)):
        hearer.heard.clear()
        service.submit(SetToken(token))
        qtbot.waitUntil(lambda: bool(hearer.heard), timeout=20_000)
        (status,) = hearer.heard
        assert isinstance(status, AccountStatus)
        assert status.checked is checked
        assert (status.error is None) == (token in (TOKEN, ""))


def test_commands_before_the_start_wait_for_it(qtbot: QtBot, loopback_hub: LoopbackHub, turboquant_home: Path) -> None:
    hearer, service = Hearer(), HubService()
    service.event_emitted.connect(hearer.on_event)
    service.submit(CheckAccount())
    assert service.downloads == ()
    service.start()
    qtbot.waitUntil(lambda: bool(hearer.heard), timeout=20_000)
    service.shutdown()


def test_shutting_down_before_the_start(qtbot: QtBot) -> None:
    HubService().shutdown()


PROGRAM = """
import socket, sys, time
sys.stdout = sys.stderr = None  # as in a windowed bundle
from PySide6.QtCore import QCoreApplication
from app.hub_events import Download, Describe
from app.work.hub_service import HubService
find, asked = socket.getaddrinfo, []
def silent(host, *rest, **options):
    if "localhost" in str(host):  # where the large files are
        asked.append(host)
        time.sleep(600)
    return find(host, *rest, **options)
if SILENT:
    socket.getaddrinfo = silent
app = QCoreApplication([])
service = HubService()
def heard(event):
    if getattr(event, "done_bytes", 0) > 50_000 or asked:
        app.quit()
service.event_emitted.connect(heard)
service.start()
service.submit(Describe("somebody/hanging"))
service.submit(Download("somebody/small"))
app.exec()
service.shutdown()
"""


@pytest.mark.parametrize("silent", [False, True])
def test_the_program_ends_while_the_hub_or_the_name_server_hangs(
    loopback_hub: LoopbackHub, tmp_path: Path, silent: bool
) -> None:
    """Without a terminal, too."""
    loopback_hub.add("somebody/small", small_model())
    loopback_hub.add("somebody/hanging", small_model())
    loopback_hub.faults = [Fault("hang", "cdn:*", at=0.4, times=-1), Fault("hang", "info:somebody/hanging")]
    environment = os.environ | {
        "HF_ENDPOINT": loopback_hub.url,
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_CACHE": str(tmp_path / "hub"),
        "TURBOQUANT_HOME": str(tmp_path / "home"),
    }
    root = Path(__file__).parents[4]
    ended = subprocess.run(
        [sys.executable, "-c", f"SILENT = {silent}{PROGRAM}"],
        cwd=root,
        env=environment,
        timeout=60,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
