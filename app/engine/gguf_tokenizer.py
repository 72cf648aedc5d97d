"""The tokenizer inside a GGUF file, as the files that transformers reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from app.engine.gguf_file import GgufError, GgufFile, setting

# What splits text before the merges, by the file's `tokenizer.ggml.pre`.
_PRE_TOKENIZERS: dict[str, Callable[[], Any]] = {
    "smollm": lambda: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    ),
    "gpt-2": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
}
_CONTROL, _USER_DEFINED = 3, 4


def tokenizer_files(file: GgufFile, config: dict[str, Any]) -> dict[str, str]:
    """tokenizer.json, tokenizer_config.json and generation_config.json as text."""
    meta = file.metadata
    kind, pre = setting(meta, "tokenizer.ggml.model", str), setting(meta, "tokenizer.ggml.pre", str)
    if kind != "gpt2" or pre not in _PRE_TOKENIZERS:
        known = ", ".join(_PRE_TOKENIZERS)
        raise GgufError(f"Its tokenizer ({kind}, {pre}) can't be imported.", f"Byte-level ones ({known}) can.")
    tokens, types = setting(meta, "tokenizer.ggml.tokens", list), setting(meta, "tokenizer.ggml.token_type", list)
    merges = setting(meta, "tokenizer.ggml.merges", list)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens) or len(types) != len(tokens) or len(tokens) != config["vocab_size"]:
        raise GgufError("Its tokenizer is inconsistent: tokens repeat, or their number isn't the vocabulary's.")
    try:
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(merge.split(" ")) for merge in merges]))
    except Exception as error:  # the tokenizers library raises bare Exception
        raise GgufError("Its tokenizer is inconsistent.", detail=str(error)) from error
    tokenizer.pre_tokenizer = _PRE_TOKENIZERS[pre]()
    tokenizer.decoder = decoders.ByteLevel()
    for token, token_type in zip(tokens, types, strict=True):
        if token_type in (_CONTROL, _USER_DEFINED):
            added = AddedToken(token, special=token_type == _CONTROL, normalized=False)
            tokenizer.add_special_tokens([added]) if added.special else tokenizer.add_tokens([added])
    special = _special_tokens(meta, tokens, config["eos_token_id"])
    if meta.get("tokenizer.ggml.add_bos_token", False):
        bos = special.get("bos_token")
        if bos is None:
            raise GgufError("It asks for a begin token and names none.")
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A $B", special_tokens=[(bos, vocabulary[bos])]
        )
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": config["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
        **special,
    }
    if "tokenizer.chat_template" in meta:
        settings["chat_template"] = setting(meta, "tokenizer.chat_template", str)
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id") if key in config}
    return {
        "tokenizer.json": tokenizer.to_str(),
        "tokenizer_config.json": json.dumps(settings, ensure_ascii=False, indent=1),
        "generation_config.json": json.dumps(generation, indent=1),
    }


def _special_tokens(meta: dict[str, Any], tokens: list[str], end_tokens: list[int]) -> dict[str, str]:
    found = {}
    for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")):
        key = f"tokenizer.ggml.{key}_token_id"
        if key in meta:
            index = setting(meta, key, int)
            if not 0 <= index < len(tokens):
                raise GgufError(f"Its {name} token, {index}, isn't in the vocabulary of {len(tokens)}.")
            found[f"{name}_token"] = tokens[index]
    if "eos_token" not in found or max(end_tokens) >= len(tokens):
        raise GgufError("It names no end token of its vocabulary, so a reply would never end.")
    return found
