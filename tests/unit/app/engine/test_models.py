"""Model folders judged from their files, and loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine import models
from app.engine.engine import Engine
from app.errors import AppError, Interrupted
from app.events import Generate, LoadModel, ModelFailed, ModelLoaded, TurnFailed, TurnFinished
from tests.engine_kit import GREEDY, drive, load, make_model, one, transcript

NAMES = st.sampled_from(["model_type", "text_config", "hidden_size", "data_offsets", "weight_map", "n_ctx"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_model(tmp_path / "tiny")


def test_a_whole_folder_is_complete(folder: Path) -> None:
    found = models.judge(folder)
    assert (found.state, found.reason) == ("complete", "")
    assert found.weights_bytes == (folder / "model.safetensors").stat().st_size
    assert [m.name for m in models.installed(folder.parent)] == ["tiny"]
    assert models.installed(folder / "nothing here") == []


@pytest.mark.parametrize(
    ("damage", "state", "words"),
    [
        (lambda f: (f / "config.json").unlink(), "incomplete", "config.json is missing"),
        (lambda f: (f / "config.json").write_bytes(b"{"), "damaged", "can't be read"),
        (lambda f: (f / "config.json").write_text("[]"), "damaged", "isn't an object"),
        (lambda f: (f / "model.safetensors").unlink(), "incomplete", "no weights"),
        (lambda f: (f / "model.safetensors").write_bytes(b"xy"), "damaged", "damaged"),
        (lambda f: _cut(f / "model.safetensors"), "damaged", "cut short"),
        (lambda f: (f / "tokenizer.json").unlink(), "incomplete", "tokenizer"),
        (lambda f: _index(f, "model-2.safetensors"), "incomplete", "1 of 2 weight files are missing"),
        (lambda f: _set(f, model_type="no_such_family"), "unsupported", "no_such_family"),
        (lambda f: _set(f, model_type="../llama"), "unsupported", "llama"),
        (lambda f: _set(f, model_type=None), "unsupported", "no model_type"),
        (lambda f: _set(f, model_file="own.py"), "unsupported", "never run"),
        (lambda f: _set(f, num_attention_heads=0), "unsupported", "num_attention_heads is 0"),
        (lambda f: _set(f, max_position_embeddings="4096"), "unsupported", "max_position_embeddings is '4096'"),
        (lambda f: _set(f, hidden_size=True), "unsupported", "hidden_size is True"),
        (lambda f: (f / "config.json").write_text("[" * 100_000), "damaged", "can't be read"),
        (lambda f: _header(f, {"a": {"data_offsets": []}}), "damaged", "damaged"),
        (lambda f: _header(f, {"a": {"data_offsets": [0, "x"]}}), "damaged", "damaged"),
        (lambda f: _header(f, {"a": {"data_offsets": {}}}), "damaged", "damaged"),
        (lambda f: _header(f, {"a": 5}), "damaged", "damaged"),
        (lambda f: _header(f, [1]), "damaged", "damaged"),
        (lambda f: _index(f, 5), "damaged", "can't be used"),
        (lambda f: _index(f, "\0"), "damaged", "can't be used"),
        (lambda f: _index(f, "."), "damaged", "can't be used"),
        (lambda f: _index(f, "../other/model.safetensors"), "damaged", "can't be used"),
        (lambda f: _index(f, "/etc/model.safetensors"), "damaged", "can't be used"),
        (lambda f: _index(f, "weights.safetensors"), "damaged", "can't be used"),
        (lambda f: _index(f, f"model{'x' * 300}.safetensors"), "damaged", "can't be read"),
        (lambda f: (f / "model-extra.safetensors").write_bytes(b"x"), "damaged", "model-extra.safetensors is cut"),
        (lambda f: _header(f, {}), "damaged", "no tensors"),
        (lambda f: _header(f, {"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 0]}}), "damaged", "damaged"),
        (lambda f: _replaced(f / "config.json").symlink_to("config.json"), "damaged", "can't be read"),
        (lambda f: os.mkfifo(_replaced(f / "config.json")), "damaged", "can't be read"),
        (lambda f: _replaced(f / "config.json").mkdir(), "damaged", "can't be read"),
        (lambda f: os.truncate(f / "config.json", 1 << 40), "damaged", "can't be read"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, damage: object, state: str, words: str) -> None:
    damage(folder)  # type: ignore[operator]
    found = models.judge(folder)
    assert found.state == state
    assert words in found.reason
    with pytest.raises(AppError, match="tiny"):
        models.require(folder)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=st.dictionaries(NAMES, ANYTHING), header=ANYTHING, index=st.none() | ANYTHING)
def test_whatever_the_files_say_there_is_a_verdict(
    tmp_path: Path, config: object, header: object, index: object
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    _header(tmp_path, header)
    listing = tmp_path / "model.safetensors.index.json"
    listing.unlink(missing_ok=True)
    if index is not None:
        listing.write_text(json.dumps(index))
    found = models.judge(tmp_path)
    assert (found.state == "complete") is (found.reason == "")


def test_a_remapped_family_is_supported(folder: Path) -> None:
    _set(folder, model_type="mistral")
    assert models.judge(folder).state == "complete"


def test_loading_tells_shape_and_context(folder: Path) -> None:
    loaded = load(folder)
    info = loaded.info
    assert (info.layers, info.kv_heads, info.head_dim, info.context_tokens) == (2, 2, 64, 4096)
    assert info.weights_bytes == models.judge(folder).weights_bytes - _header_bytes(folder)
    assert len(info.fingerprint) == 32
    assert info.backend in ("numba", "reference", "metal", "cuda")


def test_every_source_of_end_tokens_counts(folder: Path) -> None:
    _set(folder, eos_token_id=11)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [12, 13]}))
    loaded = load(folder)
    assert loaded.end_tokens == {11, 12, 13, loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")}


def test_half_precision_weights_become_float32_on_the_cpu(folder: Path) -> None:
    weights = mx.load(str(folder / "model.safetensors"))
    mx.save_safetensors(str(folder / "model.safetensors"), {k: v.astype(mx.float16) for k, v in weights.items()})
    loaded = load(folder)
    expected = mx.float32 if mx.default_device() == mx.cpu else mx.float16
    assert loaded.model.model.embed_tokens.weight.dtype == expected


def test_a_stop_during_the_load_leaves_nothing(folder: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        load(folder, stop)
    engine = Engine(folder.parent)
    failed = one(ModelFailed, drive(engine, LoadModel(str(folder)), stop))
    assert failed.error.message == "Stopped."
    one(ModelLoaded, drive(engine, LoadModel(str(folder))))


def test_a_config_that_lies_about_its_weights_is_reported(folder: Path) -> None:
    _set(folder, num_hidden_layers=3)
    failed = one(ModelFailed, drive(Engine(folder.parent), LoadModel(str(folder))))
    assert "couldn't be loaded" in failed.error.message
    assert failed.error.hint


def test_a_broken_folder_doesnt_cost_the_loaded_model(folder: Path, tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    one(ModelLoaded, drive(engine, LoadModel(str(folder))))
    one(ModelFailed, drive(engine, LoadModel(str(tmp_path / "gone"))))
    one(TurnFinished, drive(engine, Generate("c", "r", transcript("hi"), "turbo4", GREEDY)))


def test_without_a_model_a_turn_fails_with_a_reason(tmp_path: Path) -> None:
    failed = one(TurnFailed, drive(Engine(tmp_path), Generate("c", "r", transcript("hi"), "turbo4", GREEDY)))
    assert "No model" in failed.error.message


def test_swapping_models_leaves_one_in_memory(tmp_path: Path) -> None:
    first, second = make_model(tmp_path / "a"), make_model(tmp_path / "b", seed=8)
    engine = Engine(tmp_path)
    sizes = []
    for folder in (first, second, first, second):
        loaded = one(ModelLoaded, drive(engine, LoadModel(str(folder))))
        one(TurnFinished, drive(engine, Generate("c", "r", transcript("hi"), "turbo4", GREEDY)))
        sizes.append(mx.get_active_memory())
    assert max(sizes) - sizes[0] < loaded.model.weights_bytes / 2


def _set(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _header(folder: Path, header: object) -> None:
    content = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(content).to_bytes(8, "little") + content)


def _replaced(file: Path) -> Path:
    file.unlink()
    return file


def _index(folder: Path, name: object) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": name}}))


def _header_bytes(folder: Path) -> int:
    return 8 + int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")


def test_code_that_comes_with_a_model_is_never_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither run nor asked about: a question on standard input would hang the window."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked on standard input"))
    own = {"AutoConfig": "own.Config", "AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]}
    (folder / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nclass Config: ...\nclass Tokenizer: ...\n")
    _set(folder, auto_map=own)
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"auto_map": own}))
    engine = Engine(folder.parent)
    events = drive(engine, LoadModel(str(folder)))
    assert isinstance(events[-1], ModelLoaded | ModelFailed)
    assert not (folder / "ran").exists()


def test_it_loads_and_answers_without_standard_streams(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a windowed program."""
    engine = Engine(folder.parent)
    with monkeypatch.context() as patch:
        for name in ("stdin", "stdout", "stderr"):
            patch.setattr(sys, name, None)
        events = drive(engine, LoadModel(str(folder)))
        events += drive(engine, Generate("c", "r", transcript("hi"), "turbo4", GREEDY))
    one(ModelLoaded, events)
    one(TurnFinished, events)


@pytest.mark.parametrize(
    "first",
    [
        "import app.engine.engine",
        "import app.engine.loader",
        "from app.engine.support import unsupported; assert unsupported({'model_type': 'phi-msft'}) == ''",
    ],
)
def test_the_fast_blas_comes_before_mlx(first: str) -> None:
    """turboquant loads it. Behind MLX's own it would be of no use, and prefill seven times slower."""
    program = f"""
import sys
class Watch:
    seen = []
    @classmethod
    def find_spec(cls, name, *_):
        cls.seen.append(name)
sys.meta_path.insert(0, Watch)
{first}
print(Watch.seen.index("turboquant") < Watch.seen.index("mlx"))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[4], check=True
    )
    assert run.stdout.splitlines()[-1] == "True"
