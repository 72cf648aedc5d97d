"""Which marks of thinking models write. The engine keeps them in a reply's text; the window folds what stands between.

A reply's text is self-contained: where a chat template has already written the opening mark into the prompt, the engine
puts it at the head of the reply.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """`opening` … `closing` stand around the thoughts. `answer` stands before the answer where a model marks that too."""

    opening: str
    closing: str
    answer: str = ""


# One row for every way of writing that models in use have. None's opening begins with another's.
KNOWN = (
    Marks("<think>", "</think>"),  # DeepSeek R1, Qwen 3, QwQ, SmolLM3, GLM, MiniMax, Phi 4 reasoning
    Marks("<thinking>", "</thinking>"),
    Marks("<thought>", "</thought>"),  # EXAONE Deep
    Marks("<reasoning>", "</reasoning>"),
    Marks("[THINK]", "[/THINK]"),  # Magistral
    Marks("<seed:think>", "</seed:think>"),  # Seed-OSS
    Marks("<longcat_think>", "</longcat_think>"),
    Marks("<|think:start|>", "<|think:end|>"),
    Marks("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    Marks("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),  # Command A Reasoning
    Marks("◁think▷", "◁/think▷"),  # Kimi
    Marks("<|channel>thought\n", "<channel|>"),  # Gemma 4
    # gpt-oss ("harmony"): a message of its own for the thoughts, then one for the answer
    Marks("<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>"),
)
