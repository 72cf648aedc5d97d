"""Which kernels have been checked on this machine, kept from one start to the next."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import mlx.core as mx
import platformdirs

from turboquant.kernels.loader import fingerprint
from turboquant.version import __version__

HOME = "TURBOQUANT_HOME"


class Verified:
    """Names of kernels. A file that can't be read or written costs another check, nothing else."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._names: set[str] = set()
        if path is not None and path.exists():
            try:
                found: Any = json.loads(path.read_text(encoding="utf-8"))
                self._names = {name for name in found if isinstance(name, str)}
            except (OSError, ValueError, TypeError):
                self._names = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        self._names.add(name)
        if self._path is None:
            return
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(sorted(self._names), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()


def of_this_machine() -> Verified:
    """One file for each version of turboquant, of its kernels' text and of MLX, and for each device."""
    device = str(mx.device_info().get("device_name", "gpu")).replace(" ", "-").replace("/", "-")
    home = os.environ.get(HOME)
    folder = Path(home) / "cache" if home else platformdirs.user_cache_path("turboquant")
    mlx = getattr(mx, "__version__", "")  # missing in its stubs
    return Verified(folder / f"kernels-{__version__}-{fingerprint()}-mlx{mlx}-{device}.json")
