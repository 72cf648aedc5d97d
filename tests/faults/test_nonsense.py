"""A hub that answers nonsense: what it says is left out or told, and never reaches the window as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.engine.hub import catalogue as engine_hub
from app.engine.hub.catalogue import Hub
from app.errors import AppError, HubError
from app.hub_events import HubQuery
from tests.faults.downloading import Driver, check_nothing_counts, check_whole
from tests.faults.hub import Fault, LoopbackHub
from tests.faults.hub_models import FIRST, small_model

NAME = "somebody/small"
CONFIG_ID = "a" * 40
NO_NAMES = ("a\0.json", "m" * 5000 + ".json", "a\\b.json")


@pytest.fixture
def hub(loopback_hub: LoopbackHub) -> LoopbackHub:
    loopback_hub.add(NAME, small_model())
    return loopback_hub


def says(hub: LoopbackHub, where: str, body: bytes) -> None:
    hub.faults = [Fault("nonsense", where, times=-1, body=body)]


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"7", b'{"a": 1}', b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_answer_is_told(hub: LoopbackHub, body: bytes) -> None:
    for where, ask in (("search", lambda: Hub().search(HubQuery())), ("info:*", lambda: Hub().plan(NAME))):
        says(hub, where, body)
        with pytest.raises(HubError, match="isn't the hub's"):
            ask()


ODD: list[dict[str, Any]] = [
    {"id": None},
    {"id": "../../x"},
    {"id": "<img src=x>/<b>y"},
    {"lastModified": "yesterday"},
    {"tags": 7},
    {"cardData": "x"},
    {"safetensors": {"parameters": {}}},
    {"siblings": [1]},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_row_costs_the_others_nothing(hub: LoopbackHub, odd: dict[str, Any]) -> None:
    good = hub.repos[NAME].info(blobs=False)
    says(hub, "search", json.dumps([{**good, **odd}, None, good]).encode())
    assert [row.repo_id for row in Hub().search(HubQuery())] == [NAME]


def test_odd_numbers_and_words_are_as_unknown(hub: LoopbackHub) -> None:
    odd = {
        "downloads": -5,
        "likes": "many",
        "gated": ["x"],
        "safetensors": {"parameters": {"F16": -(10**40)}, "total": 1},
        "config": [1],
        "cardData": {"license": "x" * 5000},
    }
    says(hub, "search", json.dumps([{**hub.repos[NAME].info(blobs=False), **odd}]).encode())
    (row,) = Hub().search(HubQuery())
    assert (row.downloads, row.likes, row.parameters, row.weights_bytes, row.model_type) == (0, 0, None, None, "")
    assert (row.gated, len(row.licence)) == ("auto", 60)


@pytest.mark.parametrize(
    "odd",
    [
        [{"rfilename": 5}],
        [{"rfilename": "config.json", "size": -1, "blobId": CONFIG_ID}],
        [{"rfilename": "config.json", "size": 10**40, "blobId": CONFIG_ID}],
        [{"rfilename": "config.json", "size": 2, "blobId": digit * 40} for digit in "ab"],
        [{"rfilename": f"{n}.json", "size": 2, "blobId": CONFIG_ID} for n in range(10_000)],
        [{"rfilename": name, "size": 2, "blobId": CONFIG_ID} for name in NO_NAMES],
    ],
    ids=("number", "negative", "huge", "twice", "ten thousand", "no names"),
)
def test_an_odd_list_of_files_is_no_model(hub: LoopbackHub, tmp_path: Path, odd: list[dict[str, Any]]) -> None:
    repo = hub.repos[NAME]
    says(hub, "info:*", json.dumps({**repo.info(blobs=True), "siblings": odd}).encode())
    with Driver(tmp_path) as driver:
        status = driver.download(NAME)
    assert (status.state, status.done_bytes) == ("failed", 0)
    assert isinstance(status.error, HubError)
    assert status.error.hint
    check_nothing_counts(repo)


@pytest.mark.parametrize("where", ["search", "info:*"])
def test_an_answer_without_end_is_ended(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    ask = (lambda: Hub().search(HubQuery())) if where == "search" else (lambda: Hub().describe(NAME))
    says(hub, where, b'["' + b"x" * 5000)
    with monkeypatch.context() as impatient:
        impatient.setattr(engine_hub, "ANSWER_S", 0.0)
        with pytest.raises(HubError, match="in time"):
            ask()
    monkeypatch.setattr(engine_hub, "_ANSWER_LIMIT_BYTES", 1000)
    with pytest.raises(HubError, match="isn't the hub's") as caught:
        ask()
    assert "1000 bytes" in caught.value.detail
    assert hub.faults[0].struck == 2


def test_a_config_that_trickles_is_given_up(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.faults = [Fault("hang", "resolve:*:config.json", at=0.5, times=-1)]
    monkeypatch.setattr(engine_hub, "ANSWER_S", 0.2)
    with pytest.raises(AppError, match="in time"):
        Hub().describe(NAME)


def test_a_renamed_repository_answers_to_its_old_name(hub: LoopbackHub) -> None:
    moved = {"Location": f"/api/models/{NAME}?blobs=true"}
    hub.faults = [Fault("status", "info:somebody/before", status=307, headers=moved)]
    hub.repos["somebody/before"] = hub.repos[NAME]
    assert Hub().describe("somebody/before").model.repo_id == "somebody/before", "whoever asked finds the answer"


@pytest.mark.parametrize("links", [True, False])
def test_files_of_the_same_bytes(
    loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """They are one file in the hub cache, and fetched once."""
    if not links:
        monkeypatch.setattr(Path, "symlink_to", _refuse)
    files = small_model()
    alike = {"added_tokens.json": b"{}", "special.json": b"{}", "vocab.txt": b"", "merges.txt": b""}
    repo = loopback_hub.add(NAME, {**files, **alike, "model-twin.safetensors": files[FIRST]})
    with Driver(tmp_path) as driver:
        status = driver.download(NAME)
        assert (status.state, status.done_bytes) == ("done", status.total_bytes)
        assert all(file.verified for file in status.files)
    check_whole(repo, status.path)
    assert len(loopback_hub.asked(f"cdn:{NAME}:*")) == 2


def _refuse(*_: object) -> None:
    raise OSError(95, "Operation not supported")
