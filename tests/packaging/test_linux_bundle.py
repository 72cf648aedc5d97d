"""The Linux bundle as it is given to people: `make test-bundle` builds it, then runs these."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.bundled import NAME, ROOT, Machine, contents, machine, wait_until
from tests.packaging.screen import Screen, screen
from turboquant.backends.cpu_kernels import prebuilt

pytestmark = [pytest.mark.bundle, pytest.mark.skipif(sys.platform != "linux", reason="of the Linux bundle")]
DIST = ROOT / "dist"


@pytest.fixture(scope="module")
def folder() -> Path:
    found = DIST / NAME
    assert (found / NAME).exists(), "there is no bundle: `make bundle` builds it"
    return found


@pytest.fixture
def bundle(folder: Path) -> Iterator[Machine]:
    with machine(folder) as found:
        yield found


@pytest.fixture
def desk(folder: Path) -> Iterator[tuple[Machine, Screen]]:
    with screen() as display, machine(folder, display.display) as found:
        yield found, display


def test_the_selftest_passes_and_writes_nothing_into_the_bundle(bundle: Machine) -> None:
    before = contents(bundle.program.parent)
    report = bundle.home / "report.json"

    done = bundle.run("--selftest", "--json", "--report", str(report))

    told = json.loads(done.stdout)
    failed = [step for step in told["steps"] if not step["ok"]]
    assert (done.returncode, failed) == (0, [])
    assert told["ok"]
    assert told["bundle"]
    assert json.loads(report.read_text()) == told
    assert len(told["steps"]) == 6
    assert contents(bundle.program.parent) == before
    assert bundle.processes() == []


def test_the_selftest_fails_where_something_is_missing(bundle: Machine) -> None:
    """With its streams closed: the file and the exit status tell it."""
    model = next((bundle.program.parent / "_internal" / "resources" / "models").iterdir())
    subprocess.run(["chmod", "-R", "u+w", str(model)], check=True)
    (model / "model.safetensors").unlink()
    report = bundle.home / "report.txt"

    assert bundle.start("--selftest", "--report", str(report)).wait(timeout=120) == 1

    lines = report.read_text().splitlines()
    assert next(line for line in lines if line.startswith("FAIL")).split()[1] == "generation"
    assert sum(line.startswith("ok") for line in lines) == 5


def test_a_person_chats_switches_quits_and_reopens(desk: tuple[Machine, Screen], tmp_path: Path) -> None:
    """By keys alone, all streams closed, no Python on the path, home empty and the program's folder read-only."""
    bundle, display = desk
    before = contents(bundle.program.parent)
    try:
        first = bundle.start()
        display.focus()
        _say(bundle, display, "Hello there, who are you?")
        _wait_for_reply(bundle, display, 1)

        scheme = bundle.ask("SELECT scheme FROM conversations")[0][0]
        display.press("ctrl+shift+k")
        display.press("Down")
        display.press("Return")
        wait_until(lambda: bundle.ask("SELECT scheme FROM conversations")[0][0] != scheme, "the other scheme")

        display.press("ctrl+q")
        assert first.wait(timeout=30) == 0
        assert bundle.processes() == []
        assert list(bundle.home.rglob("*.tqcache"))

        second = bundle.start()
        display.focus()
        _say(bundle, display, "And again, please?")
        _wait_for_reply(bundle, display, 2)
        reused = bundle.ask("SELECT reused_tokens FROM messages WHERE role = 'assistant' ORDER BY seq")[-1][0]
        assert reused > 0
        display.press("ctrl+q")
        assert second.wait(timeout=30) == 0
    except AssertionError:
        display.shoot(tmp_path / "screen.png")
        print(bundle.log(), bundle.ask("SELECT role, state, content FROM messages ORDER BY seq"))
        raise

    assert [text for (text,) in bundle.ask("SELECT content FROM messages WHERE role = 'user' ORDER BY seq")] == [
        "Hello there, who are you?",
        "And again, please?",
    ]
    assert " ERROR " not in bundle.log(), bundle.log()
    assert bundle.processes() == []
    assert {path.name for path in bundle.home.parent.iterdir()} == {NAME, "home"}  # no socket, no temporary file
    assert contents(bundle.program.parent) == before


def test_of_two_starts_at_once_one_stays(desk: tuple[Machine, Screen]) -> None:
    bundle, display = desk

    both = [bundle.start(), bundle.start()]

    wait_until(lambda: [process for process in both if process.poll() is not None], "the second start's end")
    ended = [process.poll() for process in both]
    assert sorted(ended, key=str) == [0, None]
    display.focus()
    assert len(display.windows()) == 1
    display.press("ctrl+q")
    assert both[ended.index(None)].wait(timeout=30) == 0
    assert bundle.processes() == []


def test_a_home_that_is_nowhere_is_said(bundle: Machine) -> None:
    """HOME empty: nothing is made at the root of the file system, and the selftest needs none."""
    done = subprocess.run(
        bundle.command("--selftest", "--json"),
        env={**bundle.environment, "HOME": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert json.loads(done.stdout)["ok"]
    assert not [name for name in (".local", ".cache", ".config") if Path("/", name).exists()]


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v3", "x86-64-v2"])
def test_the_loops_of_each_processor_compute_what_numbas_do(folder: Path, level: str) -> None:
    """Every operation against the reference, with the bundle's library in the place of numba."""
    library = folder / "_internal" / "turboquant" / "backends" / "cpu_kernels" / f"{level}.so"
    if not prebuilt._flags().issuperset(prebuilt.LEVELS[level]):
        pytest.skip(f"this processor is no {level}")
    script = (
        "import sys, turboquant\n"
        "from pathlib import Path\n"
        "from turboquant import selftest\n"
        "from turboquant.backends import cpu\n"
        "from turboquant.backends.cpu_kernels import prebuilt\n"
        "calls = []\n"
        "for name, loop in prebuilt.load(Path(sys.argv[1])).items():\n"
        "    setattr(cpu, name, lambda *given, loop=loop, name=name: (calls.append(name), loop(*given)))\n"
        "bad = [check for check in selftest.run() if not check.ok]\n"
        "assert not bad, bad\n"
        "assert set(calls) == set(prebuilt.LOOPS), calls\n"
        "import numpy\n"
        "wrong = numpy.zeros((4, 4), numpy.uint16)\n"
        "try: cpu.dequantise(wrong, wrong[0], wrong[0].astype('f'), 4, False, wrong.astype('f'))\n"
        "except TypeError as error: print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(library)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "dequantise: argument 0 is 2-dimensional of 'H', not 2 of 'I'\n"


def test_libraries_and_licences_are_there(folder: Path) -> None:
    inside = folder / "_internal"
    licences = json.loads((inside / "resources" / "licences" / "licences.json").read_text("utf-8"))

    names = {licence["name"] for licence in licences}
    assert all(licence["text"].strip() for licence in licences)
    assert {"Qt", "mlx", "Python", "SmolLM2-135M-Instruct", "libopenblas0-pthread (Debian)"} <= names
    carried = {path.name.split("-")[0].lower().replace("_", "-") for path in inside.glob("*.dist-info")}
    told = {name.lower().replace("_", "-") for name in names}
    assert carried <= told
    assert not list(inside.rglob("*llvmlite*"))


def test_qts_libraries_can_be_replaced(bundle: Machine) -> None:
    """As the LGPL wants it: the program takes whatever lies there under the name, another build of it too."""
    place = bundle.program.parent / "_internal" / "PySide6" / "Qt" / "lib"
    place.chmod(0o755)
    for name in ("libQt6Core.so.6", "libQt6Widgets.so.6"):
        carried = (place / name).read_bytes()
        (place / name).unlink()
        (place / name).write_bytes(b"no library")
        assert bundle.run("--help").returncode != 0
        (place / name).write_bytes(carried + b"of another make")
        assert bundle.run("--help").returncode == 0


def test_the_deb_unpacks_to_a_program_that_the_desktop_finds(tmp_path: Path) -> None:
    package = next(DIST.glob("*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(package), str(tmp_path)], check=True)
    control = subprocess.run(["dpkg-deb", "-f", str(package)], capture_output=True, text=True, check=True).stdout

    program = (tmp_path / "usr" / "bin" / NAME).resolve()
    assert program == tmp_path / "usr" / "lib" / NAME / NAME
    share = tmp_path / "usr" / "share"
    entry = share / "applications" / f"{NAME}.desktop"
    assert "MimeType=application/x-turbochat;" in entry.read_text("utf-8")
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", str(entry)], check=True)
    subprocess.run(["update-mime-database", str(share / "mime")], check=True)
    assert "application/x-turbochat:*.turbochat" in (share / "mime" / "globs").read_text()
    for size, icon in ((48, f"apps/{NAME}.png"), (256, "mimetypes/application-x-turbochat.png")):
        assert (share / "icons" / "hicolor" / f"{size}x{size}" / icon).stat().st_size > 500
    assert "libc6 (>= 2." in control
    assert "libegl1" in control
    done = subprocess.run(
        [str(tmp_path / "usr" / "bin" / NAME), "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "--selftest" in done.stdout


def test_the_archive_puts_itself_into_the_menu_and_out_again(tmp_path: Path) -> None:
    archive, place = next(DIST.glob("*.tar.gz")), tmp_path / "A folder & more"
    place.mkdir()
    listed = subprocess.run(["tar", "-tzf", str(archive)], capture_output=True, text=True, check=True).stdout
    assert {line.split("/")[0] for line in listed.splitlines()} == {NAME}
    wanted = [f"{NAME}/share", f"{NAME}/desktop-entry.sh"]
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(place), *wanted], check=True)
    share = tmp_path / "share"
    script = [str(place / NAME / "desktop-entry.sh")]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_DATA_HOME": str(share)}

    subprocess.run(script, env=environment, check=True)
    entry = (share / "applications" / f"{NAME}.desktop").read_text("utf-8")
    icons = list(share.rglob("*.png"))
    subprocess.run([*script, "--remove"], env=environment, check=True)

    assert f'Exec="{place}/{NAME}/{NAME}" %f' in entry
    assert len(icons) == 18
    assert not list(share.rglob("*turbo*"))


def _say(bundle: Machine, display: Screen, text: str) -> None:
    """Type it and press Enter, which sends nothing until the model is loaded: then again."""
    display.type(text)
    before = _said(bundle)
    wait_until(lambda: _said(bundle) > before or display.press("Return"), "the message's way into the library")


def _said(bundle: Machine) -> int:
    return len(bundle.ask("SELECT id FROM messages WHERE role = 'user'"))


def _wait_for_reply(bundle: Machine, display: Screen, number: int) -> None:
    """Stopped by Escape once some of it is there: a small model may go on for thousands of tokens."""

    def ended() -> bool:
        rows = bundle.ask("SELECT state, content FROM messages WHERE role = 'assistant' ORDER BY seq")
        if len(rows) < number:
            return False
        state, text = rows[-1]
        if state in ("complete", "length", "interrupted"):
            return True
        if text:
            display.focus()
            display.press("Escape")
        return False

    wait_until(ended, f"reply {number}")
