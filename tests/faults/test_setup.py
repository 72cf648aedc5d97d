"""The set-up program against what goes wrong on real machines: real venv, real pip, a project with one tiny package."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import types
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "packaging" / "setup_env.py"


class Project:
    """A folder to set up, an index of wheels for it, and the program to run on it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.index = folder / "project", folder / "index"
        self.root.mkdir()
        self.index.mkdir()
        (self.root / "pyproject.toml").write_text('[project]\ndependencies = ["tinydep>=1"]\n')
        self.pin("1.0")

    def pin(self, version: str) -> None:
        (self.root / "constraints.txt").write_text(f"tinydep=={version}\n")
        info = f"tinydep-{version}.dist-info"
        with zipfile.ZipFile(self.index / f"tinydep-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tinydep.py", f"VERSION = {version!r}\nFILLER = '''{'x' * 100_000}'''\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tinydep\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", f"tinydep.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-u", str(PROGRAM), "--root", str(self.root), "--imports", "tinydep", *options]

    def environment(self, **changes: str) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), "PIP_CONFIG_FILE": os.devnull}
        merged = {**clean, **pip, "TURBOQUANT_SKIP_SYSTEM": "1", **changes}
        return {name: value for name, value in merged.items() if value}

    def set_up(self, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(), env=self.environment(**changes), capture_output=True, text=True, timeout=120, check=False
        )

    def kill_when(self, line: str, whole_group: bool = True, **changes: str) -> None:
        """Run the program and kill -9 it (and what it started, or only itself) when it prints `line`."""
        process = subprocess.Popen(
            self.command(), env=self.environment(**changes), stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout
        assert any(line in printed for printed in process.stdout)
        os.killpg(process.pid, signal.SIGKILL) if whole_group else process.kill()
        process.wait()
        process.stdout.close()

    def works(self) -> None:
        done = self.set_up()
        assert done.returncode == 0, done.stderr
        wanted = (self.root / "constraints.txt").read_text().strip().partition("==")[2]
        code = "import tinydep; print(tinydep.VERSION)"
        assert subprocess.check_output([self.venv / "bin" / "python", "-c", code], text=True).strip() == wanted
        assert json.loads((self.venv / "setup.json").read_bytes())["state"] == "ready"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("finished"))
    project.works()
    return project


@pytest.fixture
def ready(project: Project, finished: Project) -> Project:
    """A project of its own whose set-up is done (a copied environment finds itself by its pyvenv.cfg)."""
    shutil.copytree(finished.venv, project.venv, symlinks=True)
    return project


def test_a_second_run_starts_nothing_and_says_nothing(ready: Project) -> None:
    stamp = ready.venv / "setup.json"
    before = stamp.stat().st_mtime_ns, stamp.stat().st_ino
    done = ready.set_up(PIP_FIND_LINKS="/nowhere", PATH="/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (stamp.stat().st_mtime_ns, stamp.stat().st_ino) == before


@pytest.mark.slow
def test_killed_while_it_makes_the_environment_it_begins_afresh(project: Project) -> None:
    project.kill_when("Making .venv")
    began_afresh(project)


def test_killed_while_it_installs_it_begins_afresh(ready: Project) -> None:
    ready.pin("1.3")
    ready.kill_when("Installing 1 packages")
    began_afresh(ready)


def began_afresh(project: Project) -> None:
    assert json.loads((project.venv / "setup.json").read_bytes())["state"] == "installing"
    done = project.set_up()
    assert "making it anew" in done.stdout
    project.works()


def test_it_waits_for_the_pip_that_a_killed_one_left_running(ready: Project) -> None:
    ready.pin("1.2")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # pip asks it and gets no answer for three seconds
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        slow = {"PIP_NO_INDEX": "", "PIP_INDEX_URL": url, "PIP_TIMEOUT": "3", "PIP_RETRIES": "0"}
        ready.kill_when("Installing 1 packages", whole_group=False, **slow)
        done = ready.set_up()
    assert "waiting for it" in done.stdout
    ready.works()


def test_a_changed_pin_is_installed_over_it(ready: Project) -> None:
    ready.pin("2.0")
    ready.works()


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("bin/python", marks=pytest.mark.slow),
        pytest.param("lib", marks=pytest.mark.slow),
        pytest.param("pyvenv.cfg", marks=pytest.mark.slow),
        pytest.param("bin", marks=pytest.mark.slow),
    ],
)
def test_a_broken_environment_is_made_anew(ready: Project, part: str) -> None:
    path = ready.venv / part
    if part == "bin/python":  # the Python that it was made with has been removed
        path.unlink()
        path.symlink_to("/nowhere/python3")
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    ready.pin("1.1")
    ready.works()


@pytest.mark.parametrize(
    "content", ["{", *(pytest.param(c, marks=pytest.mark.slow) for c in ("", "[]", '{"state": "ready"}'))]
)
def test_a_damaged_stamp_costs_an_installation_no_more(ready: Project, content: str) -> None:
    (ready.venv / "setup.json").write_text(content)
    ready.works()


def test_without_a_package_index_it_says_so_and_mends_itself(ready: Project) -> None:
    ready.pin("3.0")
    done = ready.set_up(PIP_FIND_LINKS="")
    assert done.returncode == 1
    assert "no package index offers what is needed" in done.stderr
    assert "run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    ready.works()


def test_without_network_it_says_so(ready: Project) -> None:
    ready.pin("3.0")
    index = "http://127.0.0.1:9/simple"  # the discard port: refused at once
    done = ready.set_up(PIP_FIND_LINKS="", PIP_NO_INDEX="", PIP_INDEX_URL=index, PIP_RETRIES="1")
    assert done.returncode == 1
    assert "the package index can't be reached" in done.stderr
    assert "Check the network" in done.stderr


@pytest.mark.parametrize("blocks", [pytest.param(2, marks=pytest.mark.slow), 60])
def test_a_full_disk_is_named_and_mends_itself(project: Project, ready: Project, blocks: int) -> None:
    """No file may grow past 2 or 60 blocks of 1,024 bytes: the environment or the package doesn't fit."""
    if blocks == 2:
        shutil.rmtree(ready.venv)
    else:
        ready.pin("4.0")
    limited = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-", *ready.command()]
    done = subprocess.run(limited, env=ready.environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    ready.works()


def test_a_folder_that_is_no_environment_is_left_alone(project: Project) -> None:
    project.venv.mkdir()
    (project.venv / "thesis.txt").write_text("precious")
    done = project.set_up()
    assert done.returncode == 1
    assert "is no Python environment" in done.stderr
    assert (project.venv / "thesis.txt").read_text() == "precious"


def test_a_package_that_does_not_load_is_said(ready: Project) -> None:
    ready.pin("5.0")
    command = [*ready.command(), "--imports", "tinydep,no_such_module"]
    done = subprocess.run(command, env=ready.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "don't load" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr


# ---------------------------------------------------------------- system packages and the Python that runs it


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The program as a module, on a system that lacks exactly one library."""
    spec = importlib.util.spec_from_file_location("setup_env_under_test", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LIBRARIES", {"libc.so.6": "libc6", "libnosuch.so.9": "libnosuch9"})
    monkeypatch.setattr(module, "FONTS", (str(PROGRAM.parent),))
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: iter([self]))  # whatever folder: a font is there
    return module


def apt_get(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (folder / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{script}\n')
    (folder / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_user_is_told_the_exact_line(
    program: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_get(tmp_path, monkeypatch, "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    line = "sudo apt-get update && sudo apt-get install -y --no-install-recommends libnosuch9\n"
    with pytest.raises(program.SetupError, match=line):
        program._system_libraries()
    assert not (tmp_path / "calls").exists()


def test_root_installs_what_is_missing_and_only_that(
    program: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_get(tmp_path, monkeypatch, "exit 0")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program._system_libraries()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["update -q", "install -q -y --no-install-recommends libnosuch9"]


def test_a_failing_apt_get_is_reported_with_its_reason(
    program: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_get(tmp_path, monkeypatch, 'test "$1" = update || { echo "E: Unable to fetch some archives" >&2; exit 100; }')
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(program.SetupError, match="apt-get install failed: E: Unable to fetch"):
        program._system_libraries()


def test_other_systems_are_told_what_is_missing(
    program: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(program.SetupError, match=r"lacks libnosuch\.so\.9"):
        program._system_libraries()


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 14, 0)])
def test_an_unsuitable_python_is_told_which_is_needed(
    program: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", namedtuple("V", "major minor micro")(*version))
    with pytest.raises(program.SetupError, match=r"Python 3\.11 to 3\.13 is needed"):
        program._right_python()


def test_an_old_python_can_read_the_program_that_tells_it() -> None:
    ast.parse(PROGRAM.read_text(), feature_version=(3, 8))


def test_what_takes_minutes_says_how_far_it_is(program: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", "for number in range(45): print(number)"]
    code, output = program._output(command, title="Checking …", counted="operations checked")
    assert (code, len(output.splitlines())) == (0, 45)
    assert capsys.readouterr().out.splitlines() == ["Checking …", "  20 operations checked", "  40 operations checked"]
