"""kill −9 at any moment of a download: it goes on from what is there, and nothing half counts as installed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.faults.downloading import cached, check_whole
from tests.faults.hub import LoopbackHub
from tests.faults.hub_models import small_model

NAME = "somebody/small"
_SECONDS = 0.7  # that a download takes at the hub's rate, beside its start


def begin(home: Path, hub: LoopbackHub) -> subprocess.Popen[str]:
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_CACHE": str(cached(NAME).parent),
        "TURBOQUANT_HOME": str(home),
    }
    command = [sys.executable, "-m", "tests.faults.download_child", NAME, str(home)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environment)


def killed_and_resumed(hub: LoopbackHub, home: Path, kills: int, seed: int) -> None:
    repo, dice = hub.add(NAME, small_model()), random.Random(seed)
    total = sum(blob.size for blob in repo.files.values())
    came = 0
    for number in range(1, kills + 1):
        hub.rate = total / 2 / _SECONDS  # two files at once
        strike_at = dice.uniform((number - 1) / kills, number / kills) * total
        with begin(home, hub) as child:
            assert child.stdout is not None
            there = list(sizes_until(child.stdout, strike_at))
            time.sleep(dice.random() * 0.2)  # as far apart as the lines are
            child.kill()
        assert there[0] >= came, "what had come was lost"
        came = max(there)
        if counting := list(cached(NAME).glob("snapshots/*/config.json")):
            check_whole(repo, str(counting[0].parent))
            return  # it ended before the blow
    hub.rate = 0.0
    with begin(home, hub) as child:
        assert child.stdout is not None
        *_, path = child.stdout.read().splitlines()
    check_whole(repo, path)


def sizes_until(lines: Iterable[str], strike_at: float) -> Iterator[int]:
    for line in lines:
        if not line.strip().isdigit():
            return
        yield int(line)
        if int(line) >= strike_at:
            return


def test_killed_and_resumed(loopback_hub: LoopbackHub, tmp_path: Path) -> None:
    killed_and_resumed(loopback_hub, tmp_path, kills=3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_killed_five_times_and_resumed(loopback_hub: LoopbackHub, tmp_path: Path, seed: int) -> None:
    killed_and_resumed(loopback_hub, tmp_path, kills=5, seed=seed)
