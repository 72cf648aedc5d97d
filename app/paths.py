"""Where the application keeps things, and how it writes a file.

Nothing is written anywhere else: a bundle may lie in a read-only place. `TURBOQUANT_HOME` puts everything below one
folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import re
import secrets
from collections.abc import Callable
from pathlib import Path

import platformdirs

from app.errors import AppError
from app.words import say, why

log = logging.getLogger(__name__)

_NAME = "turboquant-chat"
# What comes with the program: icons, translations, licences; in a bundle also models. Read only.
RESOURCES = Path(__file__).resolve().parents[1] / "resources"


def data_dir() -> Path:
    """Conversations and models: what must not get lost."""
    return _made("data", platformdirs.user_data_path)


def cache_dir() -> Path:
    """What can be made again."""
    return _made("cache", platformdirs.user_cache_path)


def settings_dir() -> Path:
    return _made("settings", platformdirs.user_config_path)


def logs_dir() -> Path:
    return _made("logs", platformdirs.user_log_path)


def models_dir() -> Path:
    return _make(data_dir() / "models")


def bundled_models_dir() -> Path:
    """The models that a bundle brings; elsewhere there is no such folder."""
    return RESOURCES / "models"


def snapshots_dir() -> Path:
    """Saved key/value caches. A lost one costs a prefill, so they count as cache."""
    return _make(cache_dir() / "snapshots")


def beside(path: Path) -> Path:
    """A name in the same folder for what is to become `path`: as short as any, however long that one is."""
    return path.with_name(f".{secrets.token_hex(4)}{_machine()}.{os.getpid()}.tmp")


def sweep(folder: Path) -> None:
    """Remove what programs on this machine that were killed left of `beside`'s files."""
    left = re.compile(rf"\.[0-9a-f]{{8}}{_machine()}\.(?P<process>\d{{1,9}})\.tmp")
    try:
        found = [(entry, named) for entry in os.scandir(folder) if (named := left.fullmatch(entry.name))]
        for entry, named in found:
            if not _runs(int(named["process"])):
                os.unlink(entry)
    except OSError as error:
        log.warning("what was left in %s can't be removed: %s", folder, error)


def _machine() -> str:
    return hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def write_atomic(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Replace `path` by `content` so that a reader, or a crash, sees the old file or the new one whole.

    `mode` is what the new file allows at most (the umask takes from it). Raises OSError with the old file untouched.
    """
    temporary = beside(path)
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` last through a power cut. Windows can't open a folder and doesn't need to."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _made(kind: str, standard: Callable[..., Path]) -> Path:
    override = os.environ.get("TURBOQUANT_HOME")
    if override:
        return _make(Path(override).expanduser().absolute() / kind)
    return _make(standard(_NAME, appauthor=False))


def _make(folder: Path) -> Path:
    try:
        # Conversations are private: nobody else on the machine reads them.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AppError(
            say("The folder {0} can't be made: {1}. Nothing was changed.", folder, why(error)),
            say("Make it writable for you, or set TURBOQUANT_HOME to a folder that is."),
            repr(error),
        ) from error
    return folder


def shown(path: Path) -> str:
    """A path as people write it."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
