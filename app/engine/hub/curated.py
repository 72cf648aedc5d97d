"""A short list of models to begin with, which needs no search: all chat, all are of kinds that mlx-lm runs.

Names only. Sizes, licences and popularity come from the hub; whether the installed mlx-lm runs one is looked up.
"""

from __future__ import annotations

from app.engine import support
from app.hub_events import HubModel
from app.words import say


def _rows() -> tuple[tuple[str, str, str], ...]:
    """(repository, model_type, note)."""
    return (
        ("mlx-community/Llama-3.2-1B-Instruct-4bit", "llama", say("Small and quick; for simple questions.")),
        (
            "mlx-community/gemma-3-1b-it-4bit",
            "gemma3_text",
            say("Small and quick; long conversations take little memory."),
        ),
        ("mlx-community/Qwen3-1.7B-4bit", "qwen3", say("Small; can think before it answers.")),
        ("mlx-community/Llama-3.2-3B-Instruct-4bit", "llama", say("A good start on a computer with 8 GB.")),
        ("mlx-community/Qwen3-4B-4bit", "qwen3", say("Can think before it answers; many languages.")),
        ("mlx-community/Mistral-7B-Instruct-v0.3-4bit", "mistral", say("A classic of its size.")),
        ("mlx-community/Qwen3-8B-4bit", "qwen3", say("Strong for its size; for 16 GB and more.")),
        ("mlx-community/Qwen3-14B-4bit", "qwen3", say("For 24 GB and more.")),
        (
            "mlx-community/gpt-oss-20b-MXFP4-Q8",
            "gpt_oss",
            say("Thinks at length, answers fast; for 24 GB and more."),
        ),
        (
            "mlx-community/Qwen3-30B-A3B-4bit",
            "qwen3_moe",
            say("As fast as a small model, as good as a large one; for 32 GB."),
        ),
    )


def models() -> list[HubModel]:
    """The list without the network: those that the installed mlx-lm knows."""
    rows = []
    for repo_id, kind, note in _rows():
        if not support.unsupported({"model_type": kind}):
            rows.append(HubModel(repo_id, model_type=kind, mlx=True, support="supported", note=note))
    return rows
