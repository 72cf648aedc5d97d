"""The list of models on this machine: what is there, what is wrong with it, and what to do about it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from app.engine import models
from app.engine.gguf.importing import import_gguf
from app.engine.models import InstalledModel
from app.errors import AppError, Interrupted
from app.events import LoadModel, ModelLoaded
from tests.engine_kit import ask, drive, make_model, one, ready_engine, transcript
from tests.unit.app.engine.gguf_writer import llama_tensors, metadata, write

REPO = "mlx-community/Tiny-Llama-4bit"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The hub's cache with the tiny model in it, laid out as huggingface_hub does it."""
    cache = tmp_path / "hub"
    repository = cache / f"models--{REPO.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("c" * 40)
    for folder in (repository / "blobs", repository / "refs", snapshot):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text("c" * 40)
    for file in make_model(tmp_path / "source").iterdir():
        content = file.read_bytes()
        large = file.suffix == ".safetensors"
        name = (hashlib.sha256(content) if large else hashlib.sha1(b"blob %d\0" % len(content) + content)).hexdigest()
        (repository / "blobs" / name).write_bytes(content)
        (snapshot / file.name).symlink_to(Path("../../blobs") / name)
    return cache


def snapshot_of(cache: Path) -> Path:
    return next(cache.glob("*/snapshots/*"))


def only(cache: Path, own: Path | None = None) -> InstalledModel:
    (model,) = models.installed(own or cache / "none", cache)
    return model


# ---------------------------------------------------------------- the hub's cache


def test_a_model_of_the_hub_is_known_by_its_name(cache: Path, tmp_path: Path) -> None:
    model = only(cache)
    assert (model.name, model.repo_id, model.kind, model.state) == ("Tiny-Llama-4bit", REPO, "hub", "complete")
    assert (model.reason, model.repair_action, model.note) == ("", "", "")
    assert (model.chat_template, model.context_tokens, model.deletable) == (True, 4096, True)
    blobs = sum(file.stat().st_size for file in (cache / "models--mlx-community--Tiny-Llama-4bit/blobs").iterdir())
    assert blobs <= model.disk_bytes < blobs + 2000
    assert model.weights_bytes < model.disk_bytes
    loaded = one(ModelLoaded, drive(ready_engine(model.path, tmp_path), LoadModel(str(model.path))))
    assert loaded.model.name == "Tiny-Llama-4bit"


def test_a_download_under_way_is_incomplete(cache: Path) -> None:
    snapshot = snapshot_of(cache)
    blob = (snapshot / "model.safetensors").resolve()
    blob.rename(blob.with_suffix(".incomplete"))
    model = only(cache)
    assert (model.state, model.repair_action) == ("incomplete", "download")
    assert "download isn't finished" in model.reason
    shutil.rmtree(snapshot)  # as it is before the first file is whole
    model = only(cache)
    assert (model.state, model.name, model.repo_id) == ("incomplete", "Tiny-Llama-4bit", REPO)


def test_a_missing_blob_is_listed(cache: Path) -> None:
    """huggingface_hub's own scan calls such a repository corrupted and leaves it out."""
    (snapshot_of(cache) / "model.safetensors").resolve().unlink()
    model = only(cache)
    assert (model.state, model.repair_action) == ("incomplete", "download")
    assert "no weights" in model.reason or "missing" in model.reason
    (snapshot_of(cache) / "config.json").resolve().unlink()
    assert only(cache).state == "incomplete"


def test_a_cut_file_is_damaged(cache: Path) -> None:
    blob = (snapshot_of(cache) / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:-10])
    model = only(cache)
    assert (model.state, model.repair_action) == ("damaged", "download")
    assert "cut short" in model.reason


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_flipped_byte_is_found_when_the_bytes_are_looked_at(cache: Path, name: str) -> None:
    blob = (snapshot_of(cache) / name).resolve()
    assert models.verify(only(cache)).state == "complete"
    content = bytearray(blob.read_bytes())
    content[-5] ^= 1
    blob.write_bytes(content)
    steps: list[float] = []
    found = models.verify(only(cache), steps.append)
    assert (found.state, found.repair_action) == ("damaged", "download")
    assert name in found.reason
    assert steps == sorted(steps)

    def cancel(done: float) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        models.verify(only(cache), cancel)


def test_the_main_branch_is_the_model_and_the_latest_without_one(cache: Path) -> None:
    old = snapshot_of(cache)
    new = shutil.copytree(old, old.with_name("d" * 40), symlinks=True)
    assert only(cache).path == old
    shutil.rmtree(old.parent.parent / "refs")
    os.utime(old, (1, 1))
    assert only(cache).path == new


def test_what_is_no_model_is_left_out(cache: Path) -> None:
    (cache / "models--a--config-less" / "snapshots" / "x").mkdir(parents=True)
    (cache / "models--a--config-less" / "snapshots" / "x" / "README.md").write_text("x")
    (cache / "datasets--a--b" / "snapshots" / "x").mkdir(parents=True)
    (cache / "models--file").write_text("x")
    assert only(cache).repo_id == REPO
    assert models.installed(cache / "none", cache / "no such cache") == []


def test_one_broken_model_hides_no_other(cache: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    make_model(own / "whole")
    (own / "broken").mkdir()
    (own / "broken" / "config.json").write_bytes(b"\xff\x00")
    (own / "speech").mkdir()
    (own / "speech" / "config.json").write_text('{"model_type": "whisper"}')
    (own / ".half.1.part").mkdir()
    (own / ".half.1.part" / "config.json").write_text("{}")
    found = {model.name: model.state for model in models.installed(own, cache)}
    assert found == {
        "broken": "damaged",
        "speech": "incomplete",
        "Tiny-Llama-4bit": "complete",
        "whole": "complete",
    }


# ---------------------------------------------------------------- shards


def sharded(folder: Path, index: bool) -> Path:
    weights = mx.load(str(folder / "model.safetensors"))
    names = sorted(weights)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in parts.items():
        mx.save_safetensors(str(folder / file), {name: weights[name] for name in part})
    (folder / "model.safetensors").unlink()
    if index:
        placed = {name: file for file, part in parts.items() for name in part}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    return folder


@pytest.mark.parametrize("index", [True, False])
def test_every_shard_counts(tmp_path: Path, index: bool) -> None:
    folder = sharded(make_model(tmp_path / "tiny"), index)
    assert models.judge(folder).state == "complete"
    second = folder / "model-00002-of-00002.safetensors"
    content = second.read_bytes()
    second.unlink()
    found = models.judge(folder)
    assert found.state == "incomplete"
    assert "1 of 2 weight files are missing, first model-00002" in found.reason
    second.write_bytes(content[:-1])
    assert models.judge(folder).state == "damaged"


def test_a_shard_with_other_tensors_is_damaged(tmp_path: Path) -> None:
    folder = sharded(make_model(tmp_path / "tiny"), index=True)
    shutil.copy(folder / "model-00001-of-00002.safetensors", folder / "model-00002-of-00002.safetensors")
    found = models.judge(folder)
    assert found.state == "damaged"
    assert "lacks tensors" in found.reason


# ---------------------------------------------------------------- chat templates


def test_a_template_in_a_file_of_its_own_is_used(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "own" / "tiny", chat_template=None)
    (base,) = models.installed(tmp_path / "own", tmp_path / "none")
    assert (base.state, base.chat_template) == ("complete", False)
    assert "base model" in base.note
    text = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] }}\n{% endfor %}"
    (folder / "chat_template.jinja").write_text(text)
    (model,) = models.installed(tmp_path / "own", tmp_path / "none")
    assert (model.chat_template, model.note) == (True, "")
    assert ask(ready_engine(folder, tmp_path), transcript("Hello")).prompt_tokens > 5


@pytest.mark.parametrize(
    ("name", "content", "there"),
    [
        ("chat_template.json", '{"chat_template": "{{ x }}"}', True),
        ("chat_template.json", "{", False),
        ("tokenizer_config.json", '{"chat_template": [{"name": "default", "template": "x"}]}', True),
        ("tokenizer_config.json", '{"chat_template": ""}', False),
        ("tokenizer_config.json", "[]", False),
    ],
)
def test_where_a_template_may_be(tmp_path: Path, name: str, content: str, there: bool) -> None:
    folder = make_model(tmp_path / "tiny", chat_template=None)
    (folder / name).write_text(content)
    assert models.judge(folder).chat_template is there


# ---------------------------------------------------------------- what the user added


def test_folders_and_files_that_the_user_added(tmp_path: Path) -> None:
    library = tmp_path / "library"
    single = make_model(tmp_path / "single")
    nested = make_model(library / "someone" / "nested")
    source = write(tmp_path / "file.gguf", metadata("llama", llama__block_count=2), llama_tensors())
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(source.read_bytes()[:-100])
    foreign = write(tmp_path / "foreign.gguf", metadata("mamba"), llama_tensors())
    gone = tmp_path / "gone"
    found = {
        model.path: model
        for model in models.installed(
            tmp_path / "own", tmp_path / "none", [single, library, source, cut, foreign, gone]
        )
    }
    assert {path: model.state for path, model in found.items()} == {
        single: "complete",
        nested: "complete",
        source: "complete",
        cut: "damaged",
        foreign: "unsupported",
        gone: "incomplete",
    }
    assert (found[source].kind, found[source].repair_action) == ("gguf", "import")
    assert (found[source].context_tokens, found[source].chat_template) == (512, True)
    assert "architecture mamba" in found[foreign].reason
    assert found[gone].repair_action == "remove"
    assert not any(model.deletable for model in found.values())
    # Imported, it is one of the program's own.
    imported = import_gguf(source, tmp_path / "own" / "file")
    assert any(model.path == imported and model.deletable for model in models.installed(tmp_path / "own", gone))


def test_added_twice_it_is_listed_once(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "own" / "tiny")
    (model,) = models.installed(tmp_path / "own", tmp_path / "none", [folder, tmp_path / "own"])
    assert model.deletable


# ---------------------------------------------------------------- deleting


def test_deleting(cache: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "own" / "tiny")
    kept = make_model(tmp_path / "mine")
    for model in models.installed(tmp_path / "own", cache, [kept]):
        if model.path == kept:
            with pytest.raises(AppError, match="folder of your own"):
                models.delete(model)
        else:
            models.delete(model)
            models.delete(model)  # gone already
    assert not folder.exists()
    assert list(cache.iterdir()) == []
    assert (kept / "config.json").exists()


def test_names_for_people(tmp_path: Path) -> None:
    assert models.display_name(tmp_path / "models--org--Some-Model-4bit" / "snapshots" / "0a1b") == "Some-Model-4bit"
    assert models.display_name(tmp_path / "SmolLM2") == "SmolLM2"
    assert models.display_name(tmp_path / "snapshots" / "x") == "x"
