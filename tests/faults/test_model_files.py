"""Models on a disk that is odd, hostile, full or shared with others: listed, checked, imported and deleted."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine import models, parts
from app.engine.gguf.importing import GgufError, import_gguf
from app.engine.models import InstalledModel
from app.errors import AppError, Interrupted
from tests.engine_kit import make_model
from tests.unit.app.engine.gguf_writer import llama_tensors, metadata, write

COMMIT = "c" * 40


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A hub cache with one whole model, under a name that says nothing."""
    cache = tmp_path / "snapshots"
    make_model(cache / "models--a--tiny" / "snapshots" / COMMIT)
    (cache / "models--a--tiny" / "refs").mkdir()
    (cache / "models--a--tiny" / "refs" / "main").write_text(COMMIT)
    (cache / "models--a--tiny" / "blobs").mkdir()
    return cache


@pytest.fixture
def own(tmp_path: Path) -> Path:
    make_model(tmp_path / "own" / "tiny")
    return tmp_path / "own"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return write(tmp_path / "file.gguf", metadata("llama", llama__block_count=2), llama_tensors())


def listed(own: Path, cache: Path, *added: Path) -> dict[str, InstalledModel]:
    return {model.name: model for model in models.installed(own, cache, added)}


# ---------------------------------------------------------------- listing


def test_what_nobody_can_look_at_is_told_and_hides_nothing(own: Path, cache: Path, tmp_path: Path) -> None:
    """A link to a name that no disk can hold is refused as a folder without permission is, to the administrator too."""
    closed = tmp_path / "closed"
    library = tmp_path / "library"
    make_model(library / "someone" / "good")
    (library / "loop").symlink_to(library)
    for link in (closed, library / "closed", library / "someone" / "odd", own / "mine", cache / "models--a--odd"):
        link.symlink_to("y" * 300)
    found = listed(own, cache, closed, library, tmp_path / ("z" * 300))
    assert {name for name, model in found.items() if model.state == "complete"} == {"tiny", "good"}
    unreadable = {name for name, model in found.items() if "can't be read" in model.reason}
    assert unreadable == {"closed", "odd", "mine", "models--a--odd", "z" * 300}
    assert all(model.repair for name, model in found.items() if name in unreadable)
    assert len(models.installed(own, cache, [closed, library])) == 8  # the loop leads to nothing new


@pytest.mark.parametrize("name", ["Модель é 模型", "[4bit] *?", " ", "a\nb", "<b>x", os.fsdecode(b"bad\xff")])
def test_any_folder_name(own: Path, cache: Path, tmp_path: Path, name: str) -> None:
    (own / "tiny").rename(own / name)
    assert listed(own, cache / "none")[name].state == "complete"
    models.delete(listed(own, cache / "none")[name])
    assert list(own.iterdir()) == []


def test_gguf_files_are_found_where_other_programs_keep_them(
    own: Path, cache: Path, gguf: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    place = library / "someone" / "Some-GGUF"
    place.mkdir(parents=True)
    shutil.move(gguf, place / "file.GGUF")
    (place / "folder.gguf").mkdir()
    (place / "gone.gguf").symlink_to("nowhere")
    (library / "deep" / "deeper" / "deepest").mkdir(parents=True)
    shutil.copy(place / "file.GGUF", library / "deep" / "deeper" / "deepest" / "too deep.gguf")
    found = [model for model in models.installed(own, cache, [library]) if model.kind == "gguf"]
    assert [(model.name, model.repair_action) for model in found] == [("file", "import")]


def test_files_that_come_and_go_meanwhile(own: Path, cache: Path) -> None:
    """As while a download writes: each has a name for a moment."""
    blobs, stop = cache / "models--a--tiny" / "blobs", threading.Event()
    for number in range(20):
        (blobs / f"{number}").write_bytes(b"x")

    def rename() -> None:
        while not stop.is_set():
            for old, new in (("", ".incomplete"), (".incomplete", "")):
                for number in range(20):
                    (blobs / f"{number}{old}").rename(blobs / f"{number}{new}")

    thread = threading.Thread(target=rename)
    thread.start()
    try:
        for _ in range(30):
            assert len(models.installed(own, cache)) == 2
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("main", ["../../../own", "/etc", "..", "", "\0", "x" * 300])
def test_a_branch_that_leads_elsewhere_is_not_followed(own: Path, cache: Path, main: str) -> None:
    repository = cache / "models--a--tiny"
    (repository / "refs" / "main").write_text(main)
    (model,) = models.installed(own / "none", cache)
    assert model.path == repository / "snapshots" / COMMIT
    models.delete(model)
    assert list(cache.iterdir()) == []
    assert (own / "tiny" / "config.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="a file that fails when it is read")
def test_a_blob_that_cannot_be_read_is_damaged(cache: Path, own: Path) -> None:
    (cache / "models--a--tiny" / "blobs" / ("a" * 64)).symlink_to("/proc/self/mem")
    (model,) = models.installed(own / "none", cache)
    found = models.verify(model)
    assert (found.state, found.repair_action) == ("damaged", "download")
    assert "can't be read" in found.reason


# ---------------------------------------------------------------- deleting


def test_a_link_goes_and_what_it_names_stays(own: Path, cache: Path, tmp_path: Path) -> None:
    real = make_model(tmp_path / "elsewhere" / "real")
    shutil.copytree(cache / "models--a--tiny", tmp_path / "elsewhere" / "repository")
    (own / "linked").symlink_to(real)
    (cache / "models--a--moved").symlink_to(tmp_path / "elsewhere" / "repository")
    for name in ("linked", "moved"):
        models.delete(listed(own, cache)[name])
    assert set(listed(own, cache)) == {"tiny"}
    assert (real / "config.json").exists()
    assert (tmp_path / "elsewhere" / "repository" / "snapshots").exists()


def test_a_config_among_the_models_makes_them_none(own: Path, cache: Path) -> None:
    """Deleting that one would delete all."""
    shutil.copy(own / "tiny" / "config.json", own)
    assert [model.path for model in models.installed(own, cache / "none")] == [own / "tiny"]


KILLED_DELETE = """
import os, sys
from pathlib import Path
from app.engine import models, parts
parts.shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), 9)
(model,) = models.installed(Path(sys.argv[1]), Path(sys.argv[2]))
models.delete(model)
"""


@pytest.mark.parametrize("hub", [True, False])
def test_a_killed_delete_leaves_no_half_model(own: Path, cache: Path, hub: bool) -> None:
    places = (own / "none", cache) if hub else (own, cache / "none")
    child = subprocess.run([sys.executable, "-c", KILLED_DELETE, *map(str, places)], cwd=Path(__file__).parents[2])
    assert child.returncode == -9
    place = cache if hub else own
    assert len(list(place.iterdir())) == 1
    assert models.installed(*places) == []
    assert list(place.iterdir()) == []


def test_what_cannot_be_deleted_is_said(own: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    model = listed(own, cache / "none")["tiny"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(AppError, match=r"tiny couldn't be deleted: you have no permission.+still there"):
            models.delete(model)
    assert listed(own, cache / "none")["tiny"].state == "complete"
    with monkeypatch.context() as patch:
        patch.setattr(parts.shutil, "rmtree", refuse)
        with pytest.raises(AppError, match="is deleted, but for files that stayed"):
            models.delete(model)
    assert models.installed(own, cache / "none") == []
    assert list(own.iterdir()) == []  # listing has tried again


# ---------------------------------------------------------------- importing


@pytest.fixture
def limit() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("size", [0, 1000, 60_000])
def test_a_disk_that_is_full_at_any_moment_keeps_nothing(tmp_path: Path, gguf: Path, limit: None, size: int) -> None:
    """No file may grow past `size`."""
    own = tmp_path / "own"
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    with pytest.raises(GgufError, match=r"couldn't be written to .* Nothing of it was kept"):
        import_gguf(gguf, own / "tiny")
    assert list(own.iterdir()) == []


def test_an_import_can_be_cancelled_at_any_moment(tmp_path: Path, gguf: Path) -> None:
    own, moments = tmp_path / "own", 0
    import_gguf(gguf, tmp_path / "whole", progress=lambda done: None)

    def cancel(done: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted

    for moment in range(100):
        left = moment
        try:
            import_gguf(gguf, own / "tiny", progress=cancel)
        except Interrupted:
            moments += 1
            assert not own.exists() or list(own.iterdir()) == []
        else:
            break
    assert moments > 15
    assert [model.state for model in models.installed(own, tmp_path / "none")] == ["complete"]
