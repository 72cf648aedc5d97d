"""Searching and looking closer, with the real client against a hub on loopback."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import constants, scan_cache_dir, snapshot_download

from app.engine import support
from app.engine.hub import catalogue as engine_hub
from app.engine.hub import curated
from app.engine.hub.catalogue import Hub
from app.engine.hub.errors import explain, model_page, transient, wait_s
from app.engine.hub.fetching import Patience
from app.errors import HubError
from app.hub_events import HubQuery
from tests.faults.downloading import Driver, cached, check_whole
from tests.faults.hub import Fault, LoopbackHub
from tests.faults.hub_catalogue import TOKEN, fill
from tests.faults.hub_models import CONFIG, FIRST, small_model

GATED, TERMS = "somebody/gated", "somebody/terms"


def with_config(**changes: object) -> dict[str, bytes | Path]:
    return small_model() | {"config.json": json.dumps({**CONFIG, **changes}).encode()}


@pytest.fixture
def catalogue(loopback_hub: LoopbackHub) -> LoopbackHub:
    fill(loopback_hub, None, medium=1000)
    return loopback_hub


def test_the_hub_on_loopback_serves_the_librarys_own_download(loopback_hub: LoopbackHub) -> None:
    """So what the tests stand on is the interface that huggingface_hub uses."""
    repo = loopback_hub.add("somebody/small", small_model())
    folder = Path(snapshot_download("somebody/small"))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        name: blob.content for name, blob in repo.files.items()
    }


def test_what_is_downloaded_here_is_found_by_the_library(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    loopback_hub.add("somebody/small", small_model())
    with Driver(tmp_path) as driver:
        path = driver.download("somebody/small").path
    wanted = ["*.json", "*.safetensors"]
    assert snapshot_download("somebody/small", local_files_only=True, allow_patterns=wanted) == path
    found = scan_cache_dir(constants.HF_HUB_CACHE)
    assert found.warnings == []
    (cached_repo,) = found.repos
    assert (cached_repo.repo_id, next(iter(cached_repo.revisions)).refs) == ("somebody/small", {"main"})


# ---------------------------------------------------------------- searching


def test_rows_are_in_the_hubs_order_and_then_judged(catalogue: LoopbackHub) -> None:
    hub = Hub()
    rows = hub.search(HubQuery("qwen3", sort="likes"))
    assert [row.repo_id.partition("/")[2] for row in rows] == [
        "Qwen3-8B-4bit", "Qwen3-4B-4bit", "Qwen3-14B-4bit", "Qwen3-1.7B-4bit",
    ]  # fmt: skip
    assert {row.support for row in rows} == {"unknown"}
    first, *_ = hub.look_closer(rows)
    assert (first.support, first.context_tokens, first.quantisation) == ("supported", 40960, "4-bit")
    assert (first.weights_bytes, first.licence, first.model_type) == (4_607_000_000, "apache-2.0", "qwen3")
    assert first.parameters is None  # words of 32 bits aren't parameters


def test_sorting_by_date(catalogue: LoopbackHub) -> None:
    rows = Hub().search(HubQuery("-4bit", sort="recent"))
    assert [row.updated for row in rows] == sorted((row.updated for row in rows), reverse=True)
    assert len({row.updated for row in rows}) > 3


def test_only_what_mlx_lm_may_run_is_shown(catalogue: LoopbackHub) -> None:
    catalogue.add("mlx-community/painter", small_model(), pipeline="text-to-image")
    names = [row.repo_id for row in Hub().search(HubQuery(limit=50))]
    assert "mlx-community/painter" not in names
    assert not [name for name in names if name.startswith("someone/")]


def test_others_follow_behind_mlx_models(catalogue: LoopbackHub) -> None:
    catalogue.repos["someone/plain-safetensors"].downloads = 10**9
    rows = Hub().search(HubQuery(mlx_only=False, limit=50))
    assert rows[-1].repo_id == "someone/plain-safetensors"
    assert all(row.mlx for row in rows[:-1])


def test_filters(catalogue: LoopbackHub) -> None:
    rows = Hub().search(HubQuery(hide_gated=True, max_bytes=1_000_000_000, limit=50))
    assert not [row for row in rows if row.gated or (row.weights_bytes or 0) > 1_000_000_000]
    assert "mlx-community/Qwen3-1.7B-4bit" in [row.repo_id for row in rows]
    assert len(Hub().search(HubQuery(limit=3))) == 3


def test_a_pages_address_is_as_good_as_a_name(catalogue: LoopbackHub) -> None:
    (row,) = Hub().search(HubQuery("https://huggingface.co/mlx-community/Qwen3-8B-4bit"))
    assert row.repo_id == "mlx-community/Qwen3-8B-4bit"


def test_a_search_without_results(catalogue: LoopbackHub) -> None:
    assert Hub().search(HubQuery("no such model anywhere")) == []


def test_a_config_that_cant_be_had_costs_its_row_nothing(catalogue: LoopbackHub) -> None:
    catalogue.faults = [Fault("reset", "resolve:mlx-community/Qwen3-8B-4bit:config.json", times=-1)]
    rows = {row.repo_id: row for row in Hub().look_closer(Hub().search(HubQuery(limit=50)))}
    assert rows["mlx-community/Qwen3-8B-4bit"].support == "unknown"
    assert rows["mlx-community/Qwen3-4B-4bit"].support == "supported"
    assert rows["mlx-community/of-an-unknown-kind"].reason == "Models of type holograph aren't known to mlx-lm."
    assert rows["mlx-community/with-code-of-its-own"].support == "unsupported"
    assert rows["mlx-community/gated-by-terms"].support == "unknown"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"quantization": {"group_size": 64, "bits": 4}}, "4-bit"),
        ({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}}, "mxfp4"),
        ({"quantization": {"group_size": 64, "bits": 3, "layers.0.mlp": {"group_size": 64, "bits": 6}}}, "3- to 6-bit"),
        ({"quantization": {"group_size": 64, "bits": 4, "lm_head": False}}, "4-bit"),
        ({"quantization_config": {"quant_method": "gptq"}}, "gptq"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"torch_dtype": None}, ""),
        ({"torch_dtype": 7, "quantization": []}, ""),
    ],
)  # fmt: skip
def test_quantisation(loopback_hub: LoopbackHub, config: dict[str, object], expected: str) -> None:
    loopback_hub.add("somebody/small", with_config(**config))
    assert Hub().describe("somebody/small").model.quantisation == expected


# ---------------------------------------------------------------- one model


def test_a_model_described(loopback_hub: LoopbackHub) -> None:
    repo = loopback_hub.add("somebody/small", small_model(), licence="mit")
    details = Hub().describe("somebody/small")
    assert (details.commit, details.page) == (repo.commit, model_page("somebody/small"))
    assert {file.name for file in details.files} == {*small_model()} - {".gitattributes", "README.md"}
    assert details.download_bytes == sum(repo.files[file.name].size for file in details.files)
    assert json.loads(details.config_json) == CONFIG
    assert (details.chat_template, details.access) == (True, None)
    assert details.model.parameters == 300_000
    assert not loopback_hub.asked("cdn:*"), "the weights were touched"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config.json": b"[]"}, "can't be read"),
        ({"config.json": b"{"}, "can't be read"),
        ({"config.json": b"\xff\xfe"}, "can't be read"),
        ({"config.json": json.dumps({"model_type": "../llama"}).encode()}, "aren't known"),
        ({"config.json": json.dumps({**CONFIG, "num_hidden_layers": 0}).encode()}, "num_hidden_layers"),
        ({"config.json": None}, "no config.json"),
        ({FIRST: None, "model-00002-of-00002.safetensors": None, "model.gguf": b"GGUF"}, "GGUF"),
    ],
)
def test_odd_repositories_are_judged(
    loopback_hub: LoopbackHub, change: dict[str, bytes | Path | None], words: str
) -> None:
    files = {name: content for name, content in {**small_model(), **change}.items() if content is not None}
    loopback_hub.add("somebody/odd", files)
    model = Hub().describe("somebody/odd").model
    assert model.support == "unsupported"
    assert words in model.reason


@pytest.mark.parametrize("name", ["../escape.json", "sub/model.safetensors", "/etc/model.json"])
def test_files_that_would_lie_elsewhere_are_not_fetched(loopback_hub: LoopbackHub, tmp_path: Path, name: str) -> None:
    loopback_hub.add("somebody/small", {**small_model(), name: b"{}"})
    assert name not in {file.name for file in Hub().describe("somebody/small").files}
    with Driver(tmp_path) as driver:
        assert driver.download("somebody/small").state == "done"
    assert not list(tmp_path.rglob("escape.json"))


@pytest.mark.parametrize("name", ["", "a/b/c", "a//b", "../x", "a b/c", "https://huggingface.co/a/b"])
def test_what_is_no_name_is_told(loopback_hub: LoopbackHub, name: str) -> None:
    with pytest.raises(HubError) as caught:
        Hub().describe(name)
    assert caught.value.kind in ("failed", "not_found")


def test_the_curated_list_needs_no_network_and_no_luck() -> None:
    rows = curated.models()
    assert len(rows) >= 8, "the installed mlx-lm doesn't know some of them"
    assert all(row.note and row.weights_bytes is None for row in rows)
    assert all(support.unsupported({"model_type": row.model_type}) == "" for row in rows)


def test_the_curated_list_with_the_hubs_facts(catalogue: LoopbackHub) -> None:
    rows = {row.repo_id: row for row in Hub().facts(curated.models())}
    known = rows["mlx-community/Qwen3-8B-4bit"]
    assert known.weights_bytes == 4_607_000_000
    assert known.note
    assert rows["mlx-community/gpt-oss-20b-MXFP4-Q8"].weights_bytes is None  # this hub doesn't have it


# ---------------------------------------------------------------- access


@pytest.fixture
def gated(loopback_hub: LoopbackHub) -> LoopbackHub:
    loopback_hub.tokens = {TOKEN: "me"}
    loopback_hub.add(GATED, small_model(), gated="auto")
    return loopback_hub


@pytest.mark.parametrize(
    ("token", "access", "kind", "page"),
    [
        (None, "", "no_token", model_page(GATED)),
        (TOKEN, "", "terms", model_page(GATED)),
        (TOKEN, "pending", "terms", model_page(GATED)),
        (TOKEN, "rejected", "denied", model_page(GATED)),
        (TOKEN, "narrow token", "denied", "https://huggingface.co/settings/tokens"),
        ("hf_unknownToTheHub", "", "bad_token", "https://huggingface.co/settings/tokens"),
    ],
)
def test_reasons_for_no_access_are_told_apart(
    gated: LoopbackHub, tmp_path: Path, token: str | None, access: str, kind: str, page: str
) -> None:
    gated.repos[GATED].access["me"] = access
    with Driver(tmp_path, token=token) as driver:
        error = driver.download(GATED).error
    assert isinstance(error, HubError)
    assert (error.kind, error.page) == (kind, page), error
    if kind != "bad_token":
        described = Hub(lambda: token).describe(GATED)
        assert described.model.gated == "auto"
        assert isinstance(described.access, HubError)
        assert described.access.kind == kind
    assert token is None or token not in repr(error)


def test_with_access_it_is_downloaded_and_the_token_stays_with_the_hub(gated: LoopbackHub, tmp_path: Path) -> None:
    gated.repos[GATED].access["me"] = "accepted"
    with Driver(tmp_path, token=TOKEN) as driver:
        check_whole(gated.repos[GATED], driver.download(GATED).path)
    assert {request.token for request in gated.asked("resolve:*")} == {TOKEN}
    elsewhere = gated.asked("cdn:*")
    assert {request.host.partition(":")[0] for request in elsewhere} == {"localhost"}
    assert {request.token for request in elsewhere} == {""}, "the token went to another host"


def test_private_repositories_and_missing_ones_look_alike(loopback_hub: LoopbackHub) -> None:
    loopback_hub.tokens = {TOKEN: "me"}
    loopback_hub.add("somebody/private", small_model(), private=True, access={"me": "accepted"})
    for token, name in ((None, "somebody/private"), (None, "somebody/missing"), (TOKEN, "somebody/missing")):
        with pytest.raises(HubError) as caught:
            Hub(lambda token=token: token).describe(name)
        assert caught.value.kind == "not_found"
    assert Hub(lambda: TOKEN).describe("somebody/private").model.support == "supported"


# ---------------------------------------------------------------- unusable, no room, no network


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (with_config(model_type="holograph"), "holograph"),
        (with_config(model_file="model.py"), "program code"),
        ({name: content for name, content in small_model().items() if name != FIRST}, "1 of its 2 weight files"),
        ({name: content for name, content in small_model().items() if name != "config.json"}, "no config.json"),
        (small_model() | {"model.safetensors.index.json": b"{}"}, "can't be read"),
    ],
)
def test_what_cant_run_isnt_downloaded(
    loopback_hub: LoopbackHub, tmp_path: Path, files: dict[str, bytes | Path], words: str
) -> None:
    loopback_hub.add("somebody/unusable", files)
    with Driver(tmp_path) as driver:
        error = driver.download("somebody/unusable").error
        assert isinstance(error, HubError)
        assert error.kind == "unsupported"
        assert words in error.message
        assert not loopback_hub.asked("cdn:*")
        driver.queue.cancel("somebody/unusable")
        driver.until_removed("somebody/unusable")
    assert not cached("somebody/unusable").exists()


def test_room_is_checked_before(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    loopback_hub.add("somebody/small", small_model())
    with Driver(tmp_path, margin_bytes=1 << 60) as driver:
        error = driver.download("somebody/small").error
    assert isinstance(error, HubError)
    assert error.kind == "disk"
    assert "GB" in error.message
    assert not loopback_hub.asked("resolve:*")


def test_room_that_others_will_take_is_no_room(
    loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for_one = shutil.disk_usage(tmp_path)._replace(free=900_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: for_one)  # the real one changes meanwhile
    loopback_hub.add("somebody/first", small_model())
    loopback_hub.add("somebody/second", small_model(seed=3))
    loopback_hub.faults = [Fault("hang", "cdn:somebody/first:*", times=-1)]
    with Driver(tmp_path, patience=Patience()) as driver:
        driver.queue.download("somebody/first")
        driver.wait(lambda: len(loopback_hub.asked("cdn:*")) == 2)
        error = driver.download("somebody/second").error
        assert isinstance(error, HubError)
        assert "when other downloads are complete" in error.message


def test_a_disk_that_fills_up(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    """The writer's quota is the limit of a file's size, in a process of its own; then it is lifted."""
    repo = loopback_hub.add("somebody/small", small_model())
    code = (
        "import resource, sys; from tests.faults.download_child import main; from pathlib import Path;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY));"
        "main('somebody/small', Path(sys.argv[1]))"
    )
    environment = os.environ | {
        "HF_ENDPOINT": loopback_hub.url,
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_CACHE": str(cached("somebody/small").parent),
        "TURBOQUANT_HOME": str(tmp_path),
    }
    root = Path(__file__).parents[4]
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=root, env=environment, check=True, timeout=60)
    (entry,) = json.loads((tmp_path / "downloads.json").read_bytes())["downloads"]
    assert entry["state"] == "failed"
    assert entry["error"]["message"].startswith("The disk is full")
    assert not list(cached("somebody/small").glob("snapshots/*/*"))
    loopback_hub.requests.clear()
    with Driver(tmp_path) as driver:
        check_whole(repo, driver.download("somebody/small").path)
    assert "bytes=100000-" in {request.range for request in loopback_hub.asked("cdn:*")}


def test_offline_mode_is_told_at_once(loopback_hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for ask in (lambda: Hub().search(HubQuery()), lambda: Hub().describe("a/b"), lambda: Hub().plan("a/b")):
        with pytest.raises(HubError) as caught:
            ask()
        assert caught.value.kind == "offline"
        assert "HF_HUB_OFFLINE" in caught.value.hint
    assert loopback_hub.requests == []


def test_a_hub_that_isnt_there(loopback_hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError) as caught:
        Hub().search(HubQuery())
    assert (caught.value.kind, caught.value.message) == ("offline", "127.0.0.1:9 can't be reached.")


@pytest.mark.parametrize("kind", ["hang", "nonsense", "loop", "cut"])
def test_a_search_that_fails_ends(loopback_hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(engine_hub, "TIMEOUT_S", 0.3)
    loopback_hub.faults = [Fault(kind, "search", times=-1)]
    with pytest.raises(HubError) as caught:
        Hub().search(HubQuery())
    assert caught.value.hint


def test_the_way_there_is_told_too() -> None:
    proxy = explain(httpx2.ProxyError("407 Proxy Authentication Required"))
    assert "HTTPS_PROXY" in proxy.hint
    refused = httpx2.ConnectError("handshake failed")
    refused.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    assert "SSL_CERT_FILE" in explain(refused).hint
    assert not transient(refused)
    assert transient(httpx2.ReadTimeout("slow"))


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "7"}, 7),
        (429, {"RateLimit": '"api";r=0;t=55'}, 55),
        (503, {"RateLimit": '"api";r=120;t=55'}, 0),
        (503, {"Retry-After": "tomorrow"}, 0),
    ],
)
def test_the_hub_says_how_long_to_wait(
    loopback_hub: LoopbackHub, status: int, headers: dict[str, str], seconds: float
) -> None:
    loopback_hub.faults = [Fault("status", "info:*", status=status, headers=headers)]
    with pytest.raises(HubError) as caught:
        Hub().plan("somebody/small")
    assert wait_s(caught.value) == seconds
    assert transient(caught.value)


def test_a_listing_without_checksums_isnt_trusted(loopback_hub: LoopbackHub) -> None:
    repo = loopback_hub.add("somebody/small", small_model())
    repo.files["config.json"].__dict__["git_id"] = "../../../etc/passwd"
    with pytest.raises(HubError) as caught:
        Hub().plan("somebody/small")
    assert caught.value.kind == "damaged"


def test_a_disk_without_links(loopback_hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    repo = loopback_hub.add("somebody/small", small_model())
    monkeypatch.setattr(Path, "symlink_to", refuse)
    with Driver(tmp_path) as driver:
        path = driver.download("somebody/small").path
        check_whole(repo, path)
        assert not any(file.is_symlink() for file in Path(path).iterdir())
        check_whole(repo, driver.download("somebody/small").path)
