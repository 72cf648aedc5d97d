"""A short list of models to begin with, which needs no search: all chat, all are of kinds that mlx-lm runs.

Names only. Sizes, licences and popularity come from the hub; whether the installed mlx-lm runs one is looked up.
"""

from __future__ import annotations

from app.engine import support
from app.hub_events import HubModel

# (repository, model_type, note)
_MODELS = (
    ("mlx-community/Llama-3.2-1B-Instruct-4bit", "llama", "Small and quick; for simple questions."),
    ("mlx-community/gemma-3-1b-it-4bit", "gemma3_text", "Small; most of its layers remember a short window only."),
    ("mlx-community/Qwen3-1.7B-4bit", "qwen3", "Small; can think before it answers."),
    ("mlx-community/Llama-3.2-3B-Instruct-4bit", "llama", "A good start on a computer with 8 GB."),
    ("mlx-community/Qwen3-4B-4bit", "qwen3", "Can think before it answers; many languages."),
    ("mlx-community/Mistral-7B-Instruct-v0.3-4bit", "mistral", "A classic of its size."),
    ("mlx-community/Qwen3-8B-4bit", "qwen3", "Strong for its size; for 16 GB and more."),
    ("mlx-community/Qwen3-14B-4bit", "qwen3", "For 24 GB and more."),
    ("mlx-community/gpt-oss-20b-MXFP4-Q8", "gpt_oss", "Reasons at length, answers fast; for 24 GB and more."),
    ("mlx-community/Qwen3-30B-A3B-4bit", "qwen3_moe", "As fast as a small model, as good as a large one; for 32 GB."),
)


def models() -> list[HubModel]:
    """The list without the network: those that the installed mlx-lm knows."""
    rows = []
    for repo_id, kind, note in _MODELS:
        if not support.unsupported({"model_type": kind}):
            rows.append(HubModel(repo_id, model_type=kind, mlx=True, support="supported", note=note))
    return rows
