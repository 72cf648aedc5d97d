"""`turboquant-chat --selftest`: whether everything that the program needs works on this machine.

Runs in a home of its own that is removed afterwards: nothing of the user's is read or written. Every check is told,
whatever becomes of the one before.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app import paths
from app.errors import AppError

if TYPE_CHECKING:
    from app.engine.engine import Engine
    from app.events import Command

Wanted = TypeVar("Wanted")

QUESTION = "Say in one sentence what a cache is good for. " * 12  # long enough for the scheme to pack something
TOKENS = 16
SCHEME = "turbo4"


class SelftestError(Exception):
    """What didn't work, for a person."""


@dataclass(frozen=True)
class Step:
    """One check. `detail`: what was found, or what went wrong."""

    name: str
    ok: bool
    seconds: float
    detail: str


def main(as_json: bool = False, report: Path | None = None) -> int:
    """Run every check and say what became of it: on stdout, and in the file `report`. The exit status: 0 if all passed
    and the report is there.

    Without a stdout, and where nobody reads it, only the file is written.
    """
    starter = _starter()
    before = dict(os.environ)
    steps = []
    with tempfile.TemporaryDirectory(prefix="turboquant-selftest-") as home:
        os.environ |= {"TURBOQUANT_HOME": home, "HF_HOME": str(Path(home, "hub")), "QT_QPA_PLATFORM": "offscreen"}
        try:
            for step in run(starter):
                steps.append(step)
                if not as_json:
                    _say(_line(step) + "\n")
        finally:
            os.environ.clear()
            os.environ.update(before)
    passed = all(step.ok for step in steps)
    document = json.dumps({"ok": passed, **_machine(), "steps": [asdict(step) for step in steps]}, indent=1) + "\n"
    words = "Everything works." if passed else "Something doesn't work: see above."
    _say(document if as_json else words + "\n")
    if report is not None:
        lines = "".join(_line(step) + "\n" for step in steps)
        try:
            paths.write_atomic(report, (document if as_json else f"{lines}{words}\n").encode())
        except OSError as error:
            print(f"The report can't be written to {report}: {error.strerror or error}.", file=sys.stderr)
            return 1
    return 0 if passed else 1


def run(starter: Path | None) -> Iterator[Step]:
    """Each check as it ends. `starter`: the folder of the starter model. All of it in one thread: it touches MLX."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("libraries", _libraries),
        ("model families", _families),
        ("device", _device),
        ("kernels", _kernels),
        ("generation and snapshot", lambda: _conversation(starter)),
        ("window", _window),
    )
    for name, check in checks:
        begin = time.perf_counter()
        try:
            ok, detail = True, check()
        except BaseException as error:  # a library may even end the program
            if isinstance(error, KeyboardInterrupt):
                raise
            ok, detail = False, str(error) if isinstance(error, SelftestError) else f"{type(error).__name__}: {error}"
        yield Step(name, ok, round(time.perf_counter() - begin, 2), detail)


def _line(step: Step) -> str:
    return f"{'ok  ' if step.ok else 'FAIL'}  {step.name:24} {step.seconds:7.2f} s  {step.detail}"


def _say(text: str) -> None:
    if sys.stdout is not None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:  # whoever read it has gone, or its disk is full: Python would try once more at its end
            sys.stdout = None


def _machine() -> dict[str, object]:
    from turboquant.version import __version__

    return {
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "bundle": bool(getattr(sys, "frozen", False)),
    }


def _starter() -> Path | None:
    from app.engine import starter

    try:
        return starter.installed()
    except AppError:  # no folder can be made for this user
        return None


# ---------------------------------------------------------------- the checks


def _libraries() -> str:
    """What is only imported when it is needed must be there too."""
    import turboquant  # noqa: F401  (before MLX: it loads a faster BLAS)

    # isort: split
    import huggingface_hub
    import mlx_lm
    import PySide6
    import transformers

    for name in ("gguf", "hf_xet", "markdown_it", "psutil", "safetensors", "sentencepiece", "tokenizers"):
        importlib.import_module(name)
    from pygments.lexers import get_lexer_by_name

    for language in ("python", "c++", "swift", "bash", "json"):
        get_lexer_by_name(language)
    found = [
        ("MLX", importlib.metadata.version("mlx")),
        ("mlx-lm", mlx_lm.__version__),
        ("Qt", PySide6.__version__),
        ("transformers", transformers.__version__),
        ("huggingface_hub", huggingface_hub.__version__),
    ]
    return ", ".join(f"{name} {version}" for name, version in found) + f", {_keychain()}"


def _keychain() -> str:
    """Where the hub's token would be kept; a machine without a keychain works as well."""
    import keyring
    import keyring.backends.fail

    backend = keyring.get_keyring()
    if isinstance(backend, keyring.backends.fail.Keyring):
        return "no keychain on this machine"
    return f"keychain {type(backend).__module__.rpartition('.')[2]}"


def _families() -> str:
    """Every family of models that may be chosen, every tool parser and chat template that a model may name."""
    import pkgutil

    import mlx_lm.chat_templates
    import mlx_lm.tool_parsers

    from app.engine.support import families

    kinds = sorted(families())
    names = [f"mlx_lm.models.{kind}" for kind in kinds]
    for package in (mlx_lm.tool_parsers, mlx_lm.chat_templates):
        names += [module.name for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]
    failed = []
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed.append(f"{name} ({type(error).__name__}: {error})")
    if failed or len(kinds) < 50:
        raise SelftestError(f"{len(kinds)} families found; not loaded: {', '.join(failed) or 'none'}")
    return f"{len(kinds)} families, {len(names) - len(kinds)} parsers and templates"


def _device() -> str:
    import mlx.core as mx

    product = mx.arange(6, dtype=mx.float32).reshape(2, 3) @ mx.ones((3, 2))
    if product.tolist() != [[3.0, 3.0], [12.0, 12.0]]:
        raise SelftestError(f"a product of two matrices is wrong: {product.tolist()}")
    return str(mx.default_device())


def _kernels() -> str:
    from turboquant import backends, selftest

    checks = list(selftest.run(seconds=60))  # a GPU's kernels are compiled at first use, for seconds each
    failed = [f"{check.operation} {check.case} (error {check.error:.1e})" for check in checks if not check.ok]
    if failed or not checks:
        raise SelftestError(f"{len(failed)} of {len(checks)} differ from the reference: {'; '.join(failed)}")
    return f"{len(checks)} comparisons of the {backends.choose().name} backend with the reference"


def _conversation(starter: Path | None) -> str:
    """A reply; its cache saved, read by another engine, and the conversation continued from it."""
    if starter is None:
        raise SelftestError("the starter model isn't installed: `make run` or the window does that")
    from app import events as ev
    from app.engine.engine import Engine

    params = ev.GenerationParams(temperature=0.0, max_tokens=TOKENS, seed=1)
    asked = (ev.ChatMessage("1", "user", QUESTION),)
    load = ev.LoadModel(str(starter), SCHEME)
    engine = Engine(paths.snapshots_dir())
    _ask(engine, load, ev.ModelLoaded)
    first = _ask(engine, ev.Generate("selftest", "2", asked, SCHEME, params), ev.TurnFinished)
    if first.generated_tokens == 0 or not first.text:
        raise SelftestError("the starter model said nothing")
    saved = _ask(engine, ev.SaveSnapshots(), ev.SnapshotSaved)
    list(engine.close())

    engine = Engine(paths.snapshots_dir())
    _ask(engine, load, ev.ModelLoaded)
    said = (*asked, ev.ChatMessage("2", "assistant", first.text))
    read = _ask(engine, ev.OpenConversation("selftest", said, SCHEME, params), ev.SnapshotLoaded)
    again = (*said, ev.ChatMessage("3", "user", "And in another?"))
    second = _ask(engine, ev.Generate("selftest", "4", again, SCHEME, params), ev.TurnFinished)
    list(engine.close())
    if read.tokens != saved.tokens or second.reused_tokens < read.tokens - TOKENS:
        raise SelftestError(
            f"of {saved.tokens} tokens saved {read.tokens} were read and {second.reused_tokens} used again"
        )
    return (
        f"{first.generated_tokens} tokens at {first.tokens_per_s:.1f} tokens/s; "
        f"{saved.snapshot_bytes:,} bytes saved, {second.reused_tokens} tokens of them used again"
    )


def _ask(engine: Engine, command: Command, wanted: type[Wanted]) -> Wanted:
    """The first event of the wanted kind. What the engine says went wrong is raised."""
    found: Wanted | None = None
    for event in engine.run(command, threading.Event()):
        if isinstance(event, wanted) and found is None:
            found = event
        error = getattr(event, "error", None)
        if error is not None:
            raise SelftestError(f"{type(command).__name__}: {error}")
    if found is None:
        raise SelftestError(f"{type(command).__name__} was answered without {wanted.__name__}")
    return found


def _window() -> str:
    """The window with its theme, icons and pages, painted without a display. Its engine isn't started."""
    from PySide6.QtWidgets import QApplication

    from app import licences
    from app.engine import starter
    from app.library.conversations import Library
    from app.settings import Settings
    from app.ui.text import formula
    from app.ui.window.main_window import MainWindow
    from app.ui.window.startup import make_application
    from app.work.engine_thread import EngineThread
    from app.work.hub_service import HubService

    app = QApplication.instance() or make_application()
    assert isinstance(app, QApplication)
    engine = EngineThread()
    window = MainWindow(Library(), engine, HubService(), Settings(), starter.installed, starter.install)
    window.start()
    window.show()
    QApplication.processEvents()
    image = window.grab().toImage()
    colours = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    window.close()
    engine.shutdown()
    window.close_library()
    if image.width() < 400 or len(colours) < 8:
        raise SelftestError(f"it shows next to nothing: {image.width()} × {image.height()}, {len(colours)} colours")
    if app.windowIcon().isNull():
        raise SelftestError("its icon is missing")
    if formula.typeset(r"\frac{a}{b}", display=True) is None:
        raise SelftestError("a formula can't be set")
    if without := [licence.name for licence in licences.shipped() if not licence.text]:
        raise SelftestError(f"the licences of {', '.join(without)} are missing")
    return f"{image.width()} × {image.height()} on {QApplication.platformName()}, {len(colours)} colours"
