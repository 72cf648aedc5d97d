"""Set the project up: system libraries, `.venv` with the pinned packages, the starter model.

Plain standard library, run by whatever Python 3 there is (`make run` and `make test` do). It does what isn't done yet
and nothing twice: a stamp inside the environment says what it holds, and says so while it is being changed, so that a
set-up that was cut short is seen and begun afresh. Every failure ends in a sentence that says what to do.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import IO, Any

OLDEST, NEWEST = (3, 11), (3, 13)  # pyproject.toml's requires-python

# What Qt's offscreen, xcb and wayland plugins load and a bare Debian 12 lacks (ldd over PySide6-Essentials 6.9.3),
# and OpenBLAS, which makes MLX's prefill on a CPU 4.7 times faster than the BLAS in its wheel.
LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libopenblas.so.0": "libopenblas0",
}
FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
FONT_PACKAGE = "fonts-dejavu-core"


class SetupError(Exception):
    """What failed and what to do, for a person."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """What is wanted. `imports` are modules that must load at the end."""

    root: Path
    venv: Path
    extras: frozenset[str]
    imports: tuple[str, ...] = ("mlx.core", "mlx_lm", "PySide6.QtWidgets")
    system: bool = True
    starter: bool = False

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def constraints(self) -> Path:
        return self.root / "constraints.txt"

    @property
    def stamp(self) -> Path:
        return self.venv / "setup.json"

    def project(self) -> dict[str, Any]:
        import tomllib

        with (self.root / "pyproject.toml").open("rb") as file:
            project: dict[str, Any] = tomllib.load(file)["project"]
        return project

    def fingerprint(self) -> str:
        """Changes when the environment has to."""
        project = self.project()
        parts = [project["dependencies"], project.get("optional-dependencies"), self.constraints.read_text("utf-8")]
        parts += [sys.version, platform.machine()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def run(setup: Setup) -> None:
    """Bring the environment to what `setup` wants. Raises SetupError; running it again mends what can be mended."""
    if _finished(setup):
        return
    # The children inherit the lock: pip may outlive a killed set-up, and the next one must wait for it.
    with (setup.root / "pyproject.toml").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another set-up is at work here; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _finished(setup):
            return
        stamp = _read_stamp(setup)
        if not _packages_ready(setup, stamp):
            if setup.system and sys.platform == "linux":
                _system_libraries()
            _environment(setup, stamp, lock)
        if setup.starter:
            _starter(setup, lock)


# ---------------------------------------------------------------- the stamp


def _read_stamp(setup: Setup) -> dict[str, Any]:
    try:
        stamp = json.loads(setup.stamp.read_bytes())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(setup: Setup, stamp: dict[str, Any]) -> None:
    temporary = setup.stamp.with_suffix(".tmp")
    temporary.write_text(json.dumps(stamp, indent=1), "utf-8")
    temporary.replace(setup.stamp)


def _packages_ready(setup: Setup, stamp: dict[str, Any]) -> bool:
    return (
        stamp.get("state") == "ready"
        and stamp.get("fingerprint") == setup.fingerprint()
        and setup.extras <= set(stamp.get("extras", ()))
        and os.access(setup.python, os.X_OK)  # False too when the Python it points to is gone
    )


def _finished(setup: Setup) -> bool:
    stamp = _read_stamp(setup)
    if not _packages_ready(setup, stamp):
        return False
    starter = stamp.get("starter", {}).get(os.environ.get("TURBOQUANT_HOME", ""), "")
    return not setup.starter or Path(starter, "starter.json").is_file()


# ---------------------------------------------------------------- steps


def _system_libraries() -> None:
    """Install what is missing on Debian and its children as root; otherwise say what to install."""
    missing = [soname for soname in LIBRARIES if not _loads(soname)]
    packages = [LIBRARIES[soname] for soname in missing]
    if not any(next(Path(folder).expanduser().rglob("*.[to]tf"), None) for folder in FONTS):
        missing, packages = [*missing, "any font"], [*packages, FONT_PACKAGE]
    if importlib.util.find_spec("ensurepip") is None:
        missing, packages = [*missing, "Python's venv module"], [*packages, f"python3.{sys.version_info.minor}-venv"]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise SetupError(
            f"The system lacks {', '.join(missing)}.\n"
            "Install these with your system's package manager, then run the same command again.\n"
            "To go on without them: TURBOQUANT_SKIP_SYSTEM=1 (Qt's window may then not open)."
        )
    if os.geteuid() != 0:
        raise SetupError(
            "Some system packages are missing. Run this line, then the same command again:\n\n"
            f"    sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}\n\n"
            "To go on without them: TURBOQUANT_SKIP_SYSTEM=1 (Qt's window may then not open)."
        )
    print(f"Installing system packages: {' '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
        code, output = _output(["apt-get", *arguments], env=environment)
        if code:
            lines = [line for line in output.splitlines() if line.startswith("E:")]
            raise SetupError(
                f"apt-get {arguments[0]} failed: {(lines or ['no reason given'])[-1]}\n"
                "Check the network and that no other installation is running, then run the same command again."
            )


def _loads(soname: str) -> bool:
    """Ask the dynamic loader itself: it knows every place that a program would be served from."""
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _environment(setup: Setup, stamp: dict[str, Any], lock: IO[bytes]) -> None:
    """`.venv` with the pinned packages of the project and its extras."""
    wanted = setup.extras | set(stamp.get("extras", ()))
    changing = {"state": "installing", "extras": sorted(wanted), "starter": stamp.get("starter", {})}
    if setup.venv.exists() and (stamp.get("state") == "installing" or not _healthy(setup)):
        print(f"{setup.venv.name} is broken or half made: making it anew.", flush=True)
        _remove(setup.venv)
    if not setup.venv.exists():
        setup.venv.mkdir(parents=True)
        _write_stamp(setup, changing)
        title = f"Making {setup.venv.name} with Python {platform.python_version()} …"
        # Two steps, because venv hides what ensurepip says.
        make = [sys.executable, "-m", "venv", "--without-pip", str(setup.venv)]
        for command in (make, [str(setup.python), "-m", "ensurepip", "--default-pip"]):
            code, output = _output(command, lock, title=title)
            if code:
                raise SetupError(_explain("The environment couldn't be made", code, output, setup.venv))
            title = ""
    _write_stamp(setup, changing)
    project = setup.project()
    requirements = list(project["dependencies"])
    for extra in sorted(wanted):
        requirements += project["optional-dependencies"][extra]
    title = f"Installing {len(requirements)} packages and what they need (a few minutes the first time) …"
    command = [
        str(setup.python),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar=off",
    ]
    command += ["--constraint", str(setup.constraints), *requirements]
    code, output = _output(command, lock, title, shown=("Downloading ", "Installing ", "Building "))
    if code:
        raise SetupError(_explain("The packages couldn't be installed", code, output, setup.venv))
    if setup.imports:
        code, output = _output([str(setup.python), "-c", "import " + ", ".join(setup.imports)], lock)
        if code:
            raise SetupError(_explain("The packages are installed but don't load", code, output, setup.venv))
    _write_stamp(setup, {**changing, "state": "ready", "fingerprint": setup.fingerprint()})


def _healthy(setup: Setup) -> bool:
    """Whether its Python starts, is of this version and has a pip that works."""
    check = "import sys, pip._internal.cli.main; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([str(setup.python), "-c", check], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.split() == [str(part) for part in sys.version_info[:2]]


def _remove(venv: Path) -> None:
    ours = venv.is_dir() and not venv.is_symlink()
    if not ours or not ((venv / "setup.json").exists() or (venv / "pyvenv.cfg").exists() or not any(venv.iterdir())):
        raise SetupError(f"{venv} is no Python environment. Move it away, then run the same command again.")
    shutil.rmtree(venv)


def _starter(setup: Setup, lock: IO[bytes]) -> None:
    command = [str(setup.python), "-m", "app.engine.starter"]
    code, output = _output(command, lock, shown=("Downloading", "Checking", "Converting"), cwd=setup.root)
    lines = output.strip().splitlines() or ["no reason given"]
    if code:
        raise SetupError(f"{lines[-1]}\nThe packages are installed; the same command goes on from here.")
    stamp = _read_stamp(setup)
    homes = {**stamp.get("starter", {}), os.environ.get("TURBOQUANT_HOME", ""): lines[-1]}
    _kernels(setup, lock)
    _write_stamp(setup, {**stamp, "starter": homes})


def _kernels(setup: Setup, lock: IO[bytes]) -> None:
    """Compile the kernels now, so that the first reply needn't wait for it; say it where one computes wrongly here."""
    command = [str(setup.python), "-m", "turboquant", "selftest"]
    title = "Compiling and checking the kernels for this machine (a few minutes the first time) …"
    code, output = _output(command, lock, title, cwd=setup.root, counted="operations checked")
    if code:
        reason = (output.strip().splitlines() or [f"it ended with status {code}"])[-1]
        print(f"{reason}. The program runs all the same; `{' '.join(command)}` says more.")


# ---------------------------------------------------------------- commands and their failures


def _output(
    command: list[str],
    lock: IO[bytes] | None = None,
    title: str = "",
    shown: tuple[str, ...] = (),
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    counted: str = "",
) -> tuple[int, str]:
    """Run `command`; its exit status and output. Prints `title` once it runs, then each line that begins as `shown`, or
    how many lines have come, of what is `counted`: in place on a terminal, elsewhere now and then.
    """
    environment = {**(env or os.environ), "PYTHONUNBUFFERED": "1"}
    lines = []
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
        env=environment,
        pass_fds=(lock.fileno(),) if lock else (),
    )
    try:
        if title:
            print(title, flush=True)
        assert process.stdout
        for line in process.stdout:
            lines.append(line)
            if shown and line.lstrip().startswith(shown) and " kB)" not in line:
                line = re.sub(r"(-[\d.]+\w*)-\S+\.whl", r"\1", line)  # a wheel's tags say nothing to a person
                print("  " + textwrap.shorten(line, 100, placeholder=" …"), flush=True)
            if counted and (sys.stdout.isatty() or len(lines) % 20 == 0):
                print(f"  {len(lines)} {counted}", end="\r" if sys.stdout.isatty() else "\n", flush=True)
        if counted and sys.stdout.isatty():
            print()
        return process.wait(), "".join(lines)
    finally:
        process.kill()  # nothing when it has ended; else Ctrl-C came
        process.wait()


_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_NETWORK = (
    "NewConnectionError",
    "name resolution",
    "Name or service not known",
    "Network is unreachable",
    "ConnectTimeout",
    "ReadTimeout",
    "ProxyError",
    "SSLError",
    "Connection refused",
    "Connection aborted",
    "No route to host",
)
# A pinned version that isn't offered reads as a conflict with its constraint.
_NOT_OFFERED = ("Could not find a version", "No matching distribution", "conflicting dependencies")


def _explain(what: str, code: int, output: str, venv: Path) -> str:
    def first(texts: tuple[str, ...]) -> str:
        return next((line for line in output.splitlines() if any(text in line for text in texts)), "")

    if code < 0:
        why, cure, reason = f"it was stopped by signal {-code}", "Close other programs if memory is short", ""
    elif reason := first(_FULL):
        free = shutil.disk_usage(venv if venv.exists() else venv.parent).free
        why, cure = f"the disk is full ({free / 1e6:,.0f} MB left)", "Make room (2 GB are enough)"
    elif reason := first(_NETWORK):
        why, cure = "the package index can't be reached", "Check the network"
    elif reason := first(_NOT_OFFERED):
        why = "no package index offers what is needed (no network, PIP_NO_INDEX set, or a mirror that lacks it)"
        cure = "Check the network and pip's settings"
    elif reason := first(("Permission denied",)):
        why, cure = f"{venv} can't be written", "Make the folder yours"
    else:
        reason = first(("ERROR:", "Error:")) or output.strip().rpartition("\n")[2]
        why, cure = "the reason is below", "Mend that"
    return (
        f"{what}: {why}.\n{cure}, then run the same command again: it repairs itself.\n{reason.strip()[:300]}".rstrip()
    )


# ---------------------------------------------------------------- start


def _right_python() -> None:
    """Go on under a Python of a supported version, or say that there is none."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
            os.execv(found, [found, *sys.argv])
    raise SetupError(
        f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed and this is {platform.python_version()}.\n"
        "Install one (python.org, Homebrew, or your system's packages), then run `make PYTHON=python3.12 …`."
    )


def main() -> int:
    here = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=here, help="the folder with pyproject.toml and constraints.txt")
    parser.add_argument("--venv", type=Path, help="default: ROOT/.venv")
    parser.add_argument("--extras", default="", help="optional dependencies, separated by commas")
    parser.add_argument("--imports", help="modules that must load, separated by commas")
    parser.add_argument("--starter", action="store_true", help="install the starter model too")
    options = parser.parse_args()
    extras = {extra for extra in options.extras.split(",") if extra}
    if sys.platform == "linux" and options.root == here and "cuda" not in extras:
        extras.add("cpu")
    setup = Setup(
        root=options.root.resolve(),
        venv=options.venv or options.root.resolve() / ".venv",
        extras=frozenset(extras),
        system=not os.environ.get("TURBOQUANT_SKIP_SYSTEM"),
        starter=options.starter,
    )
    if options.imports is not None:
        setup = dataclasses.replace(setup, imports=tuple(name for name in options.imports.split(",") if name))
    try:
        _right_python()
        run(setup)
    except SetupError as error:
        print(f"\nSet-up stopped. {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n{_explain('Set-up stopped', 1, str(error), setup.venv)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nSet-up stopped. Run the same command again: it goes on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
