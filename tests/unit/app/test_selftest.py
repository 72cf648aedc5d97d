"""The application's selftest: what it tells, and that every kind of failure is told and ends no other check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import keyring
import keyring.backends.fail
import keyring.backends.null
import pytest

from app import selftest
from app.engine import starter, support

ROOT = Path(__file__).resolve().parents[3]


def _steps(monkeypatch: pytest.MonkeyPatch, **checks: object) -> None:
    """Every check replaced: by one that passes, or by what is given under its name."""
    for name in ("_libraries", "_families", "_device", "_kernels", "_window"):
        monkeypatch.setattr(selftest, name, checks.get(name, lambda: "fine"))
    monkeypatch.setattr(selftest, "_conversation", checks.get("_conversation", lambda folder: "fine"))


def test_a_failure_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], turboquant_home: Path, tmp_path: Path
) -> None:
    def leave() -> str:
        raise SystemExit(3)  # as a library may

    def wrong() -> str:
        raise selftest.SelftestError("two and two are five")

    _steps(monkeypatch, _families=leave, _kernels=wrong)
    report = tmp_path / "report.txt"

    assert selftest.main(report=report) == 1

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["ok", "FAIL", "ok", "FAIL", "ok", "ok"]
    assert "SystemExit: 3" in lines[1]
    assert "two and two are five" in lines[3]
    assert report.read_text().splitlines() == lines
    assert os.environ["TURBOQUANT_HOME"] == str(turboquant_home)


def test_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], turboquant_home: Path) -> None:
    _steps(monkeypatch)

    assert selftest.main(as_json=True) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert not told["bundle"]
    assert [step["name"] for step in told["steps"]][:2] == ["libraries", "model families"]
    assert all(step.keys() == {"name", "ok", "seconds", "detail"} for step in told["steps"])


def test_without_a_stdout_the_file_is_written(
    monkeypatch: pytest.MonkeyPatch, turboquant_home: Path, tmp_path: Path
) -> None:
    _steps(monkeypatch)
    monkeypatch.setattr(sys, "stdout", None)

    assert selftest.main(report=tmp_path / "report.txt") == 0

    assert (tmp_path / "report.txt").read_text().endswith("Everything works.\n")


def test_a_reader_that_has_gone_ends_nothing(tmp_path: Path) -> None:
    """`--selftest | head -1`, and a full disk."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom app import selftest\n"
        "selftest._starter = lambda: None\n"
        "step = selftest.Step('a check', True, 1.0, 'fine')\n"
        "selftest.run = lambda starter: (step for number in range(9))\n"
        "sys.exit(selftest.main(report=Path(sys.argv[1])))\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    full = [os.open("/dev/full", os.O_WRONLY)] if os.path.exists("/dev/full") else []
    for number, stdout in enumerate([writer, *full]):
        report = tmp_path / f"report-{number}.txt"
        command = [sys.executable, "-c", script, str(report)]
        done = subprocess.run(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        os.close(stdout)

        assert (done.returncode, done.stderr) == (0, "")
        assert len(report.read_text().splitlines()) == 10


def test_a_report_that_cant_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], turboquant_home: Path, tmp_path: Path
) -> None:
    _steps(monkeypatch)

    assert selftest.main(report=tmp_path / "nowhere" / "report.txt") == 1

    told = capsys.readouterr()
    assert told.out.endswith("Everything works.\n")
    assert f"can't be written to {tmp_path}/nowhere/report.txt: No such file or directory." in told.err


def test_families_that_dont_load_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "families", lambda: frozenset({"llama", "olmo"}))  # olmo ends the program

    with pytest.raises(selftest.SelftestError, match=r"2 families found; not loaded: mlx_lm.models.olmo \(SystemExit"):
        selftest._families()


def test_wrong_kernels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from turboquant import selftest as kernels

    bad = kernels.Check("attend", "turbo4 d=64", 0.5, 1e-3, 0.1)
    monkeypatch.setattr(kernels, "run", lambda **_: iter([bad]))

    with pytest.raises(selftest.SelftestError, match=r"1 of 1 differ from the reference: attend turbo4 d=64 \(error"):
        selftest._kernels()


def test_no_keychain_doesnt_read_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyring.get_keyring", keyring.backends.fail.Keyring)
    assert selftest._keychain() == "no keychain on this machine"
    monkeypatch.setattr("keyring.get_keyring", keyring.backends.null.Keyring)
    assert selftest._keychain() == "keychain null"


def test_no_starter_is_said() -> None:
    with pytest.raises(selftest.SelftestError, match="starter model isn't installed"):
        selftest._conversation(None)


def test_closed_streams_take_no_files_place(tmp_path: Path) -> None:
    """What a library in C writes to stderr must not land in the next file that is opened."""
    script = (
        "from app import log; log.fill_streams(); import os\n"
        f"file = open({str(tmp_path / 'data')!r}, 'wb'); file.write(b'kept'); file.flush()\n"
        "os.write(1, b'noise'); os.write(2, b'noise'); print('more noise', flush=True)\n"
    )
    closed = ["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', sys.executable, "-c", script]

    assert subprocess.run(closed, cwd=ROOT, check=False).returncode == 0

    assert (tmp_path / "data").read_bytes() == b"kept"


@pytest.mark.slow
def test_everything_works_here(starter_model_path: Path, tmp_path: Path) -> None:
    """The real thing, from the command line, with closed streams."""
    home, report = tmp_path / "home", tmp_path / "report.json"
    models = home / "data" / "models"
    models.mkdir(parents=True)
    (models / starter.NAME).symlink_to(starter_model_path)
    environment = {**os.environ, "TURBOQUANT_HOME": str(home)}
    command = [sys.executable, "-m", "app", "--selftest", "--json", "--report", str(report)]
    closed = ["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *command]

    code = subprocess.run(closed, cwd=ROOT, env=environment, check=False).returncode

    told = json.loads(report.read_text())
    assert (code, [step for step in told["steps"] if not step["ok"]]) == (0, [])
    assert not list((home / "data").glob("*.db"))
