"""Each fault at each moment of a download: it ends complete and verified, or stops and says what to do.

The real huggingface_hub client and the real queue run against a hub on loopback. Never does a model count as installed
that isn't, and when the fault is gone the same download goes on to its end.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.hub import catalogue as engine_hub
from app.engine.hub.cache import CachedModel
from app.engine.hub.fetching import Patience
from app.errors import HubError
from app.hub_events import HubFile
from tests.faults.downloading import QUICK, STALLING, Driver, cached, check_nothing_counts, check_whole
from tests.faults.hub import Fault, LoopbackHub
from tests.faults.hub_models import FIRST, SECOND, small_model
from tests.faults.hub_repos import Repo, blobs

NAME = "somebody/small"
MOMENTS = {
    "listing": f"info:{NAME}",
    "config": f"resolve:{NAME}:config.json",
    "tokenizer": f"resolve:{NAME}:tokenizer.json",
    "redirect": f"resolve:{NAME}:{FIRST}",
    "weights": f"cdn:{NAME}:{SECOND}",
}
ALWAYS = -1
PLACES = (0.0, 0.4, 1.0)  # of a body


@pytest.fixture
def repo(loopback_hub: LoopbackHub) -> Repo:
    return loopback_hub.add(NAME, small_model())


def driver_for(fault: Fault, home: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Impatient only where the fault is a hang: a busy machine stalls too."""
    hangs = fault.kind == "hang"
    monkeypatch.setattr(engine_hub, "TIMEOUT_S", 0.4 if hangs else 20.0)
    return Driver(home, patience=STALLING if hangs else QUICK)


def passing(moment: str) -> list[Fault]:
    """Each fault that this moment can meet, once."""
    where, found = MOMENTS[moment], []
    if moment != "redirect":  # that has no body
        found += [Fault(kind, where, at=at) for at in PLACES for kind in ("reset", "cut", "hang")]
        if moment != "listing":  # that is no file and has no checksum
            found += [Fault("flip", where, at=at) for at in PLACES]
            found += [Fault(kind, where) for kind in ("longer", "shorter", "nonsense")]
    return found + [Fault("status", where, status=status) for status in (503, 429, 408, 500, 502, 504)]


def lasting(moment: str) -> list[tuple[Fault, str]]:
    """The same for good, and others, with the kind of error that each ends in."""
    kinds = {"reset": "offline", "cut": "offline", "hang": "offline"}
    kinds |= dict.fromkeys(("flip", "longer", "shorter", "nonsense"), "failed" if moment == "listing" else "damaged")
    found = [(fault, kinds[fault.kind]) for fault in passing(moment) if fault.kind in kinds]
    statuses = {401: "no_token", 403: "denied", 404: "not_found", 429: "busy", 503: "failed", 500: "failed"}
    if moment == "weights":  # another host's answers say nothing of the account
        statuses |= {401: "failed", 403: "failed", 404: "failed", 429: "failed"}
    found += [(Fault("status", MOMENTS[moment], status=status), kind) for status, kind in statuses.items()]
    found += [(Fault("loop", MOMENTS[moment]), "failed")]
    if moment == "listing":
        found += [(Fault("nonsense", MOMENTS[moment]), "failed")]
    for fault, _ in found:
        fault.times = ALWAYS
    return found


def one_of_each(fault: Fault) -> bool:
    """The default run's: each kind at one place of a body, and two statuses."""
    if fault.kind == "status":
        return fault.status in (401, 503)
    return fault.at == 0.4 or fault.kind in ("shorter", "nonsense", "loop")


def every(fault: Fault) -> bool:
    return True


CHOICES = [pytest.param(one_of_each, id="some"), pytest.param(every, id="all", marks=pytest.mark.slow)]
Choice = Callable[[Fault], bool]


@pytest.mark.parametrize("chosen", CHOICES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_passing_fault_only_costs_time(
    loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, chosen: Choice
) -> None:
    for fault in filter(chosen, passing(moment)):
        loopback_hub.faults = [fault]
        with driver_for(fault, tmp_path, monkeypatch) as driver:
            status = driver.download(NAME)
        assert fault.struck == 1, fault
        assert status.state == "done", (fault, status.error)
        check_whole(repo, status.path)
        shutil.rmtree(cached(NAME))


@pytest.mark.parametrize("chosen", CHOICES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lasting_fault_is_told_and_can_be_overcome(
    loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, chosen: Choice
) -> None:
    for fault, kind in (pair for pair in lasting(moment) if chosen(pair[0])):
        loopback_hub.faults = [fault]
        with driver_for(fault, tmp_path, monkeypatch) as driver:
            status = driver.download(NAME)
        assert status.state == "failed", fault
        assert isinstance(status.error, HubError)
        assert status.error.kind == kind, (fault, status.error)
        assert status.error.message.endswith(".")
        assert status.error.hint
        check_nothing_counts(repo)
        loopback_hub.faults = []
        with driver_for(Fault("none", ""), tmp_path, monkeypatch) as driver:
            status = driver.download(NAME)
        assert status.state == "done", (fault, status.error)
        check_whole(repo, status.path)
        shutil.rmtree(cached(NAME))


def test_it_goes_on_where_it_broke_off(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    loopback_hub.faults = [Fault("reset", MOMENTS["weights"], at=0.4, times=ALWAYS)]
    with Driver(tmp_path) as driver:
        assert driver.download(NAME).state == "failed"
        loopback_hub.faults = []
        loopback_hub.requests.clear()
        check_whole(repo, driver.download(NAME).path)
        (asked,) = loopback_hub.asked(MOMENTS["weights"])
        begin = int(asked.range.removeprefix("bytes=").removesuffix("-"))
        assert begin == pytest.approx(0.4 * repo.files[SECOND].size, abs=1 << 16)
        assert not loopback_hub.asked(f"cdn:{NAME}:{FIRST}")


def test_a_server_that_ignores_ranges(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    loopback_hub.faults = [Fault("reset", MOMENTS["weights"], at=0.4, times=1)]
    loopback_hub.ranges = False
    with Driver(tmp_path) as driver:
        status = driver.download(NAME)
        assert status.state == "done", status.error
        check_whole(repo, status.path)


@pytest.mark.parametrize("rewrite", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_repository_changes_meanwhile(
    loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path, moment: str, rewrite: bool
) -> None:
    """A download stays with its version; where that is gone, it takes the new one when it goes on."""
    before, after = repo.commit, blobs({**small_model(), SECOND: small_model(seed=3)[SECOND]})
    loopback_hub.faults = [Fault("call", MOMENTS[moment], action=lambda: repo.change(after, rewrite=rewrite))]
    with Driver(tmp_path) as driver:
        status = driver.download(NAME)
        if rewrite and moment != "listing":
            assert status.state == "failed" or Path(status.path).name == repo.commit
            status = driver.download(NAME)
        assert status.state == "done", status.error
        if rewrite or moment == "listing":
            check_whole(repo, status.path)
        else:
            assert Path(status.path).name == before
            assert (Path(status.path) / SECOND).read_bytes() == small_model()[SECOND]


def test_several_wait_in_a_queue(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    repos = [loopback_hub.add(f"somebody/model-{number}", small_model(seed=10 * number)) for number in range(5)]
    with Driver(tmp_path, at_once=2) as driver:
        for repo in repos:
            driver.queue.download(repo.repo_id)
        for repo in repos:
            check_whole(repo, driver.until(repo.repo_id, "done").path)
    running: set[str] = set()
    for event in driver.told:
        state = getattr(event, "state", "")
        (running.add if state in ("running", "verifying") else running.discard)(event.repo_id)
        assert len(running) <= 2


@pytest.mark.parametrize("moment", MOMENTS)
def test_pausing_and_cancelling_never_wait_for_the_hub(
    loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path, moment: str
) -> None:
    where = MOMENTS[moment]
    if moment == "redirect":
        loopback_hub.faults = [Fault("call", where, action=lambda: time.sleep(3))]
    else:
        loopback_hub.faults = [Fault("hang", where, at=0.4, times=ALWAYS)]
    with Driver(tmp_path) as driver:
        driver.queue.download(NAME)
        driver.wait(lambda: bool(loopback_hub.asked(where)))
        driver.queue.pause(NAME)
        begun = time.monotonic()
        assert driver.until(NAME, "paused").error is None
        driver.queue.cancel(NAME)
        driver.until_removed(NAME)
        assert time.monotonic() - begun < 2
        assert not cached(NAME).exists()
        assert driver.queue.statuses == ()
        loopback_hub.faults = []
        check_whole(repo, driver.download(NAME).path)


def test_pause_and_go_on(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    loopback_hub.rate = 300_000.0
    with Driver(tmp_path) as driver:
        driver.queue.download(NAME)
        driver.wait(lambda: getattr(driver.last(NAME), "done_bytes", 0) > 100_000)
        driver.queue.pause(NAME)
        paused = driver.until(NAME, "paused")
        assert paused.speed_bytes_per_s == 0
        assert 100_000 < paused.done_bytes < 600_000
        loopback_hub.rate = 0
        # Pause and go on in one breath.
        driver.queue.download(NAME)
        driver.queue.pause(NAME)
        driver.queue.download(NAME)
        check_whole(repo, driver.until(NAME, "done").path)
        assert all(request.range for request in loopback_hub.asked(f"cdn:{NAME}:*")[2:])


def test_cancelling_leaves_what_is_installed(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    with Driver(tmp_path) as driver:
        path = driver.download(NAME).path
        driver.queue.cancel(NAME)  # only leaves the list
        driver.until_removed(NAME)
        check_whole(repo, path)
        repo.change(blobs({**small_model(), SECOND: small_model(seed=3)[SECOND]}))
        loopback_hub.faults = [Fault("hang", f"cdn:{NAME}:{SECOND}", at=0.4, times=ALWAYS)]
        driver.queue.download(NAME)  # an update …
        driver.wait(lambda: getattr(driver.last(NAME), "done_bytes", 0) > 350_000)
        driver.queue.cancel(NAME)  # … that is taken back
        driver.until_removed(NAME)
    assert (Path(path) / SECOND).read_bytes() == small_model()[SECOND]
    assert not list(cached(NAME).rglob("*.incomplete"))


def test_a_damaged_model_is_repaired(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    with Driver(tmp_path) as driver:
        path = Path(driver.download(NAME).path)
        content = bytearray((path / FIRST).read_bytes())
        content[5000] ^= 1
        (path / FIRST).resolve().write_bytes(content)
        (path / "tokenizer.json").unlink()
        loopback_hub.requests.clear()
        check_whole(repo, driver.download(NAME).path)
    assert [request.place for request in loopback_hub.asked("cdn:*")] == [f"cdn:{NAME}:{FIRST}"]


def test_the_queue_outlives_the_program(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    waiting, refused = (
        loopback_hub.add("somebody/waiting", small_model(seed=5)),
        loopback_hub.add("somebody/refused", small_model(seed=7), gated="auto"),
    )
    with Driver(tmp_path, at_once=1) as driver:
        assert driver.download(refused.repo_id).state == "failed"
        loopback_hub.rate = 300_000.0
        driver.queue.download(NAME)
        driver.queue.download(waiting.repo_id)
        driver.queue.pause(waiting.repo_id)
        driver.wait(lambda: getattr(driver.last(NAME), "done_bytes", 0) > 100_000)
    loopback_hub.rate = 0.0
    with Driver(tmp_path, at_once=1) as driver:
        check_whole(repo, driver.until(NAME, "done").path)
        assert [status.repo_id for status in driver.queue.statuses] == [refused.repo_id, NAME, waiting.repo_id]
        error = driver.until(refused.repo_id, "failed").error
        assert isinstance(error, HubError)
        assert (error.kind, error.page) == ("no_token", "https://huggingface.co/somebody/refused")
        assert driver.until(waiting.repo_id, "paused").error is None
        check_whole(waiting, driver.download(waiting.repo_id).path)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b'{"version": 1}', b'{"version": 1, "downloads": [{}]}', b"\xff"]
)
def test_a_damaged_queue_costs_its_order_only(
    loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "downloads.json").write_bytes(content)
    with Driver(tmp_path) as driver:
        check_whole(repo, driver.download(NAME).path)


def test_a_later_versions_queue_is_left_alone(loopback_hub: LoopbackHub, repo: Repo, tmp_path: Path) -> None:
    content = b'{"version": 99, "something": "else"}'
    (tmp_path / "downloads.json").write_bytes(content)
    with Driver(tmp_path) as driver:
        check_whole(repo, driver.download(NAME).path)
    assert (tmp_path / "downloads.json").read_bytes() == content


def test_speed_is_honest(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    """Near the rate while it comes; 0, and no time left, when nothing does."""
    name = "somebody/larger"
    loopback_hub.add(name, small_model(2_000_000))
    loopback_hub.rate = 500_000.0  # of each of the two files that come at once
    loopback_hub.faults = [Fault("hang", f"cdn:{name}:*", at=0.3, times=ALWAYS)]
    with Driver(tmp_path, patience=Patience(stall_s=60)) as driver:
        driver.queue.download(name)
        driver.wait(lambda: getattr(driver.last(name), "speed_bytes_per_s", 0) > 100_000)
        driver.wait(
            lambda: (
                getattr(driver.last(name), "done_bytes", 0) > 2_000_000
                and getattr(driver.last(name), "speed_bytes_per_s", 1) == 0
            )
        )
        stalled = driver.until(name, "running")
        assert stalled.eta_s is None
        speeds = [status.speed_bytes_per_s for status in driver.told if hasattr(status, "speed_bytes_per_s")]
        assert max(speeds) < 3_000_000


@pytest.mark.parametrize("links", range(6))
def test_a_crash_while_it_becomes_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: int) -> None:
    """Whichever link was the last to be made, nothing looks like a model yet; and the next start makes one."""

    class Crash(BaseException): ...

    files = [HubFile(name, 1, git_id=f"{number:040}") for number, name in enumerate(small_model()) if name[0] != "."][
        1:
    ]
    model = CachedModel(NAME, tmp_path)
    model.prepare()
    for file in files:
        model.blob(file).write_bytes(b"x")
    made, link = [], Path.symlink_to

    def until_then(self: Path, *target: str) -> None:
        if len(made) == links:
            raise Crash
        made.append(self)
        link(self, *target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "symlink_to", until_then)
        with pytest.raises(Crash):
            model.publish("0" * 40, files)
    assert not list(tmp_path.rglob("config.json"))
    folder = model.publish("0" * 40, files)
    assert {file.name for file in folder.iterdir()} == {file.name for file in files}
