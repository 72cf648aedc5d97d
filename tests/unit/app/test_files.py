"""Folders, atomic writes, settings and the log."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import paths
from app.errors import AppError
from app.settings import Settings

ROOT = Path(__file__).parents[3]


def test_everything_lies_below_turboquant_home(turboquant_home: Path) -> None:
    folders = [
        paths.data_dir,
        paths.cache_dir,
        paths.settings_dir,
        paths.logs_dir,
        paths.models_dir,
        paths.snapshots_dir,
    ]
    for folder in folders:
        assert folder().is_dir()
        assert folder().is_relative_to(turboquant_home)
        assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    assert len({folder() for folder in folders}) == len(folders)


def test_without_it_everything_lies_in_the_users_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURBOQUANT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (paths.data_dir(), paths.cache_dir(), paths.settings_dir(), paths.logs_dir()):
        assert folder.is_relative_to(tmp_path)
        assert "turboquant-chat" in folder.parts


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURBOQUANT_HOME", str(tmp_path / "file"))
    with pytest.raises(AppError, match="can't be made") as caught:
        paths.data_dir()
    assert "TURBOQUANT_HOME" in caught.value.hint


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    paths.write_atomic(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        paths.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize("value", ["text", 3, 2.5, True, ["a", "b"], []])
def test_a_setting_comes_back(tmp_path: Path, value: Any) -> None:
    Settings(tmp_path / "s.json").set("key", value)
    default = type(value)()
    assert Settings(tmp_path / "s.json").get("key", default) == value


def test_a_setting_of_another_type_gives_the_default(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "s.json")
    settings.set("key", "text")
    assert settings.get("key", 5) == 5
    assert settings.get("other", "default") == "default"
    settings.set("whole", 2)
    assert settings.get("whole", 0.5) == 2.0


def test_an_unknown_key_is_kept(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"version": 1, "of_later": {"a": [1]}}')
    Settings(tmp_path / "s.json").set("key", 1)
    assert json.loads((tmp_path / "s.json").read_bytes()) == {"version": 1, "of_later": {"a": [1]}, "key": 1}


def test_an_unchanged_setting_writes_nothing(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "s.json")
    settings.set("key", 1)
    (tmp_path / "s.json").unlink()
    settings.set("key", 1)
    assert not (tmp_path / "s.json").exists()
    settings.set("key", True)  # equal to 1, and yet another value
    assert (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"{}",
        b'{"version": "1"}',
        b'{"version": null}',
        b'{"version": true}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(content)
    settings = Settings(path)
    assert "damaged" in settings.notice
    assert settings.get("key", "default") == "default"
    assert (tmp_path / "s.damaged.json").read_bytes() == content
    settings.set("key", "new")
    assert Settings(path).get("key", "") == "new"


def test_a_later_versions_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"version": 99, "key": "theirs"}')
    settings = Settings(path)
    settings.set("key", "ours")
    assert "later version" in settings.notice
    assert settings.get("key", "") == "ours"
    assert path.read_text() == '{"version": 99, "key": "theirs"}'


def test_a_damaged_file_that_stays_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b"{")
    monkeypatch.setattr(Path, "replace", _read_only)
    settings = Settings(path)
    settings.set("key", "ours")
    assert "can't be set aside" in settings.notice
    assert settings.get("key", "") == "ours"
    assert path.read_bytes() == b"{"


def test_a_full_disk_keeps_settings_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.json"
    settings = Settings(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _read_only)
        settings.set("key", "new")
        assert settings.get("key", "") == "new"
        assert not path.exists()
    settings.set("key", "new")
    assert Settings(path).get("key", "") == "new"


def test_an_odd_value_gives_the_default(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "s.json")
    settings.set("names", [1, 2])
    settings.set("place", "\u00e9")
    assert settings.get("names", ["a"], valid=lambda found: all(type(name) is str for name in found)) == ["a"]
    assert settings.get_bytes("place") == settings.get_bytes("nothing") == b""
    settings.set_bytes("place", b"\x00\xff")
    assert Settings(tmp_path / "s.json").get_bytes("place") == b"\x00\xff"


def _read_only(*_: object) -> None:
    raise OSError(30, "Read-only file system")


def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.mkdir()
    settings = Settings(path)
    settings.set("key", 1)
    assert "can't be read" in settings.notice
    assert path.is_dir()


# ---------------------------------------------------------------- log


def logged(code: str, home: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TURBOQUANT_HOME": str(home)}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, **options)


def test_records_reach_the_file_and_warnings_the_console(turboquant_home: Path) -> None:
    code = "import logging, app.log; app.log.start(); app.log.start(); logging.info('quiet'); logging.warning('loud')"
    done = logged(code, turboquant_home, capture_output=True)
    text = (turboquant_home / "logs" / "turboquant-chat.log").read_text()
    assert text.count("quiet") == text.count("loud") == 1
    assert b"loud" in done.stderr
    assert b"quiet" not in done.stderr


def test_a_program_without_a_console_can_print(turboquant_home: Path) -> None:
    code = """
import sys
sys.stdout = sys.stderr = None
import logging, app.log
app.log.start()
print("to nowhere")
sys.stderr.write("progress bar")
logging.warning("kept")
"""
    logged(code, turboquant_home)
    assert "kept" in (turboquant_home / "logs" / "turboquant-chat.log").read_text()


def test_a_log_that_cannot_be_written_is_said_and_hinders_nothing(turboquant_home: Path) -> None:
    (turboquant_home / "logs" / "turboquant-chat.log").mkdir(parents=True)
    code = "import logging, app.log; print(app.log.start()()); logging.warning('loud')"
    done = logged(code, turboquant_home, capture_output=True)
    assert b"can't be written" in done.stdout
    assert b"loud" in done.stderr


def test_the_log_rotates(turboquant_home: Path) -> None:
    code = "import logging, app.log; app.log.start()\nfor n in range(3000): logging.info('x' * 1000)"
    logged(code, turboquant_home)
    files = sorted(file.name for file in (turboquant_home / "logs").glob("turboquant-chat.log*"))
    assert files == ["turboquant-chat.log", "turboquant-chat.log.1", "turboquant-chat.log.2", "turboquant-chat.log.3"]
    assert logging.getLogger().level  # this process's own log was left alone
