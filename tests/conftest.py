"""What every test has: no display, no network, a home of its own, the same seeds."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import platformdirs
import pytest

# The real cache folder, found before HOME changes and passed on to pytest-xdist's workers: the starter model is fetched
# and converted once per machine.
_CACHE = Path(os.environ.get("TURBOQUANT_TEST_CACHE") or platformdirs.user_cache_path("turboquant-chat-tests"))
_HOME = tempfile.TemporaryDirectory(prefix="turboquant-tests-")

# Before Qt, mlx or the application is imported: they read these once.
for _name in [name for name in os.environ if name.startswith(("XDG_", "HF_", "TURBOQUANT_"))]:
    del os.environ[_name]
os.environ |= {
    "TURBOQUANT_TEST_CACHE": str(_CACHE),
    "HOME": _HOME.name,
    "TURBOQUANT_HOME": str(Path(_HOME.name) / "turboquant"),
    "QT_QPA_PLATFORM": "offscreen",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "LC_ALL": "C.UTF-8",
}
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    # A folder each for what MLX and numba compile: neither bears two processes that write the same entry at once.
    # Python has found its own temporary folder above and stays there.
    (_CACHE / _worker).mkdir(parents=True, exist_ok=True)
    os.environ |= {"TMPDIR": str(_CACHE / _worker), "NUMBA_CACHE_DIR": str(_CACHE / _worker / "numba")}
    # There is a worker a core: more threads of BLAS would only wait for each other.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

if TYPE_CHECKING:
    from tests.faults.hub import LoopbackHub

import turboquant  # noqa: E402, F401  (loads OpenBLAS, which must come before the first import of mlx)

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for the network fails, whether or not there is one."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            pytest.fail(f"A test tried to reach {address}.")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def turboquant_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for data, cache and settings, of this test alone."""
    monkeypatch.setenv("TURBOQUANT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def loopback_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    """A hub on this machine that huggingface_hub takes for the hub, with a cache and an account of this test alone."""
    from huggingface_hub import close_session, constants

    from tests.faults.hub import LoopbackHub

    with LoopbackHub() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{")[2]
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{hub.url}/{{{template}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "hf-login"))
        yield hub
        close_session()


@pytest.fixture(scope="session")
def starter_model_path() -> Path:
    """The folder of the real starter model, ready for `mlx_lm.load`."""
    from app.engine import starter

    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:  # several workers want it, one fetches it
        fcntl.flock(lock, fcntl.LOCK_EX)
        return starter.install(models_dir=_CACHE / "models")


@pytest.fixture
def tiny_llama() -> Any:
    """A random-weight llama: 3 layers, 4 query heads over 2 key/value heads, head_dim 64, vocabulary 512, float32."""
    import mlx.core as mx
    from mlx_lm.models import llama

    mx.random.seed(7)
    model = llama.Model(
        llama.ModelArgs(
            model_type="llama",
            hidden_size=256,
            num_hidden_layers=3,
            intermediate_size=384,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=64,
            rms_norm_eps=1e-5,
            vocab_size=512,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
        )
    )
    model.eval()
    mx.eval(model.parameters())
    return model
