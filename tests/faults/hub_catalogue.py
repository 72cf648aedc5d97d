"""`python -m tests.faults.hub`: a hub on this machine for the real window, with the starter and others to look at.

The large models are listed only: their facts and configs are there, their weights aren't.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.faults.hub import Fault, LoopbackHub
from tests.faults.hub_models import CONFIG, small_model
from tests.faults.hub_repos import Blob, Repo, blobs

TOKEN = "hf_loopbackTokenThatIsKnown"

_LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256}
_QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151936}
_SHAPE = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
# (repository, family, shape, intermediate, context, weights' bytes, downloads, likes)
_LISTED: tuple[tuple[str, dict[str, Any], tuple[int, ...], int, int, int, int, int], ...] = (
    ("mlx-community/Llama-3.2-1B-Instruct-4bit", _LLAMA, (2048, 16, 32, 8, 64), 8192, 131072, 695_000_000, 180_000, 41),
    ("mlx-community/Llama-3.2-3B-Instruct-4bit", _LLAMA, (3072, 28, 24, 8, 128), 8192, 131072, 1_807_000_000, 9_900, 9),
    ("mlx-community/Qwen3-1.7B-4bit", _QWEN, (2048, 28, 16, 8, 128), 6144, 40960, 968_000_000, 21_500, 9),
    ("mlx-community/Qwen3-4B-4bit", _QWEN, (2560, 36, 32, 8, 128), 9728, 40960, 2_263_000_000, 40_100, 21),
    ("mlx-community/Qwen3-8B-4bit", _QWEN, (4096, 36, 32, 8, 128), 12288, 40960, 4_607_000_000, 32_027, 35),
    ("mlx-community/Qwen3-14B-4bit", _QWEN, (5120, 40, 40, 8, 128), 17408, 40960, 8_308_000_000, 12_800, 17),
)  # fmt: skip


def fill(hub: LoopbackHub, starter: Path | None, medium: int = 20_000_000) -> None:
    """Put the catalogue into a hub. The medium model has 4 · `medium` bytes."""
    hub.tokens[TOKEN] = "somebody"
    if starter is not None:
        kept = {path.name: path for path in starter.iterdir() if path.is_file() and path.name != "starter.json"}
        hub.add("mlx-community/SmolLM2-135M-Instruct", dict(kept), downloads=90_000, likes=55)
    for number, (repo_id, family, shape, intermediate, context, weights, downloads, likes) in enumerate(_LISTED):
        config = {
            **family,
            **dict(zip(_SHAPE, shape, strict=True)),
            "intermediate_size": intermediate,
            "max_position_embeddings": context,
            "rms_norm_eps": 1e-6,
            "rope_theta": 500000.0,
            "tie_word_embeddings": True,
            "quantization": {"group_size": 64, "bits": 4},
            "quantization_config": {"group_size": 64, "bits": 4},
        }
        files = blobs(
            {"config.json": json.dumps(config).encode(), "tokenizer.json": b"{}", "tokenizer_config.json": b"{}"}
        )
        files["model.safetensors"] = Blob(b"", large=True, claimed_bytes=weights)
        hub.repos[repo_id] = Repo(
            repo_id,
            files,
            downloads=downloads,
            likes=likes,
            updated=f"2025-{number + 3:02}-11T09:30:00.000Z",
            tags=("mlx", "safetensors", "text-generation", "4-bit"),
            licence="llama3.2" if family is _LLAMA else "apache-2.0",
            parameters={"U32": weights // 4},
        )
    hub.add("mlx-community/small-and-whole", small_model(), downloads=900, likes=4)
    hub.add("mlx-community/medium-and-whole", small_model(medium, seed=5), downloads=800, likes=3)
    hub.add("mlx-community/gated-by-terms", small_model(seed=11), gated="auto", licence="gemma", downloads=700)
    hub.add(
        "mlx-community/gated-and-open-to-you", small_model(seed=13), gated="manual", access={"somebody": "accepted"}
    )
    hub.add("mlx-community/refused-to-you", small_model(seed=15), gated="manual", access={"somebody": "rejected"})
    unknown = small_model(seed=17) | {"config.json": json.dumps({**CONFIG, "model_type": "holograph"}).encode()}
    hub.add("mlx-community/of-an-unknown-kind", unknown, downloads=600)
    own_code = small_model(seed=19) | {"config.json": json.dumps({**CONFIG, "model_file": "model.py"}).encode()}
    hub.add("mlx-community/with-code-of-its-own", own_code, downloads=500)
    lacking = small_model(seed=21)
    del lacking["model-00002-of-00002.safetensors"]
    hub.add("mlx-community/lacking-a-part", lacking, downloads=400)
    hub.add("someone/plain-safetensors", small_model(seed=23), tags=("safetensors", "text-generation"), downloads=300)
    hub.add("someone/only-gguf", {"model.gguf": b"GGUF" + b"\0" * 5000}, tags=("gguf",), downloads=200)


def fault(text: str) -> Fault:
    """`kind:where[:at[:times]]`; where may hold colons, so at and times are told by being numbers."""
    kind, *rest = text.split(":")
    numbers: list[float] = []
    while len(rest) > 1 and len(numbers) < 2 and rest[-1].lstrip("-").replace(".", "", 1).isdigit():
        numbers.insert(0, float(rest.pop()))
    at, times = (numbers + [0.0, 1.0][len(numbers) :])[:2]
    return Fault(kind, ":".join(rest), at=at, times=int(times))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.hub", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0, metavar="BYTES", help="bytes a second of every body")
    parser.add_argument("--fault", action="append", default=[], metavar="KIND:WHERE[:AT[:TIMES]]", type=fault)
    parser.add_argument("--starter", type=Path, help="the starter's folder; by default the installed one")
    options = parser.parse_args()
    from app.engine import starter

    hub = LoopbackHub(options.port)
    fill(hub, options.starter or starter.installed())
    hub.rate, hub.faults = options.rate, options.fault
    with hub:
        print(f"HF_ENDPOINT={hub.url}   (a token it knows: {TOKEN})", flush=True)
        try:
            hub.closing.wait()
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
