"""The window is closed in the middle of something, in a process of its own: it ends in time, with status 0, and what
was said is on disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import crashes
from app.library.conversations import Library
from tests.engine_kit import make_model
from tests.faults.hub import LoopbackHub
from tests.faults.hub_models import small_model


def close_in(what: str, model: str, home: Path, **more: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.closing_child", what, model],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TURBOQUANT_HOME": str(home), **more},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["ended"], f"the engine was still at it after {told['seconds']} s"
    assert not (home / "logs" / crashes.RUNNING).exists(), "it counts as an end"
    assert "Traceback" not in done.stderr
    logged = "".join(path.read_text() for path in (home / "logs").iterdir())
    assert logged
    assert "sixth day" not in logged, "what is said stays out of the log"
    return told


def said(home: Path) -> list[tuple[str, str]]:
    with Library(home / "data" / "library.db") as library:
        (conversation,) = library.conversations()
        return [(message.role, message.state) for message in library.messages(conversation.id)]


def test_what_was_said_and_its_cache_are_saved_on_the_way_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    close_in("save", str(make_model(tmp_path / "tiny")), home)
    assert [role for role, _ in said(home)] == ["user", "assistant"]
    assert list((home / "cache" / "snapshots").glob("*.tqcache"))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["load", "prefill", "reply", "switch", "save"])
def test_with_the_starter(what: str, starter_model_path: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    told = close_in(what, str(starter_model_path), home)
    print(what, told["seconds"], "s")
    if what == "load":
        return
    states = said(home)
    assert [role for role, _ in states] == ["user", "assistant"]
    if what in ("prefill", "reply"):
        assert states[-1][1] == "partial", "cut off by the end, not by the user"


def test_a_download_is_left_where_it_is(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    repo = loopback_hub.add("somebody/small", small_model())
    loopback_hub.rate = sum(blob.size for blob in repo.files.values()) / 60  # a minute's work
    close_in("download", "", home, HF_ENDPOINT=loopback_hub.url, HF_HUB_OFFLINE="0", HF_HOME=str(home / "hf"))
    kept = [file for file in (home / "hf").rglob("blobs/*") if file.stat().st_size]  # whole files or parts of them
    assert kept, "the next start goes on from here"
