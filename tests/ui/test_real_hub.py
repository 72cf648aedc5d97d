"""The real window, hub client, downloads and engine against a hub on loopback: from a search to the first reply."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine_kit import make_model
from tests.faults.hub import Fault, LoopbackHub

CLOSED = "http://127.0.0.1:9"  # nothing listens there


def use_window(home: Path, step: str, repo_id: str, endpoint: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    environment |= {
        "TURBOQUANT_HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "HF_ENDPOINT": endpoint,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.hub_child", step, repo_id],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout.splitlines()[-1])


def files_of(folder: Path) -> dict[str, bytes | Path]:
    return {path.name: path for path in folder.iterdir() if path.is_file() and path.name != "starter.json"}


def test_from_a_search_to_the_first_reply_and_again_without_the_network(tmp_path: Path) -> None:
    repo_id = "mlx-community/Tiny-Talker"
    with LoopbackHub() as hub:
        hub.add(repo_id, files_of(make_model(tmp_path / "tiny")), downloads=7)
        hub.faults.append(Fault("reset", f"*:{repo_id}:model.safetensors", at=0.5))
        seen = use_window(tmp_path / "home", "fetch", repo_id, hub.url)
    assert seen["badge"] == "runs"
    assert "4k context" in seen["facts"]
    assert seen["fit"].startswith("Fits")
    assert seen["states"][-1] == "done"
    assert hub.faults[0].struck == 1, "the connection broke on the way, and the download went on"
    assert seen["button"] == seen["model"] == "Tiny-Talker"
    assert seen["reply"]
    again = use_window(tmp_path / "home", "again", repo_id, CLOSED)
    assert again["path"] == seen["path"]
    assert again["reply"], "it goes on where it was left"


@pytest.mark.slow
def test_the_starter_from_the_hub(starter_model_path: Path, tmp_path: Path) -> None:
    repo_id = "mlx-community/SmolLM2-135M-Instruct"
    with LoopbackHub() as hub:
        hub.add(repo_id, files_of(starter_model_path), downloads=90_000)
        seen = use_window(tmp_path / "home", "fetch", repo_id, hub.url)
    assert "8k context" in seen["facts"]
    assert seen["states"][-1] == "done"
    assert seen["reply"].strip()
