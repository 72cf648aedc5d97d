"""The tokenizer inside a GGUF file, as the files that transformers reads.

Two kinds: byte-level BPE ("gpt2") with its merges, and SentencePiece's BPE ("llama"), whose merges follow from the
scores of its tokens. What a file means is what llama.cpp does with it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from app.engine.gguf.container import GgufError, GgufFile, setting
from app.words import say

# What splits text before the merges, by the file's `tokenizer.ggml.pre`.
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3, _QWEN2 = _WORDS + r"|\p{N}{1,3}" + _REST, _WORDS + r"|\p{N}" + _REST
_SPLITS = {
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "smaug-bpe": _LLAMA3,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
}
_BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
_GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
_PRE_TOKENIZERS = {
    "gpt-2": _GPT2,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _GPT2]),
} | {
    name: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), behavior="isolated"), _BYTE_LEVEL])
    for name, split in _SPLITS.items()
}
# These take a word that is a token as it is, without looking at merges, and begin each text with a token of their own.
_LLAMA3_KIND = ("llama-bpe", "llama3", "llama-v3")
_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 2, 3, 4, 6
_SPACE = "▁"
_LONGEST_TOKEN = 1024  # characters; 256 spaces are the longest known, and the time to find merges grows by the square


def tokenizer_files(file: GgufFile, config: dict[str, Any]) -> dict[str, str]:
    """tokenizer.json, tokenizer_config.json and generation_config.json as text. Raises GgufError.

    The tokenizer has then shown that it gives texts back as they were.
    """
    meta = file.metadata
    kind, pre = setting(meta, "tokenizer.ggml.model", str), setting(meta, "tokenizer.ggml.pre", str, "default")
    tokens, types = setting(meta, "tokenizer.ggml.tokens", list), setting(meta, "tokenizer.ggml.token_type", list)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens) or len(types) != len(tokens) or len(tokens) != config["vocab_size"]:
        raise GgufError(say("Its tokenizer is inconsistent: tokens repeat, or their number isn't the vocabulary's."))
    if not all(isinstance(token, str) and len(token) <= _LONGEST_TOKEN for token in tokens):
        raise GgufError(
            say("Its tokenizer is inconsistent: tokens of more than {0} characters, or none.", _LONGEST_TOKEN)
        )
    try:
        if kind == "gpt2" and pre in _PRE_TOKENIZERS:
            tokenizer = _byte_level(vocabulary, setting(meta, "tokenizer.ggml.merges", list), pre)
        elif kind == "llama" and pre == "default":
            scores = setting(meta, "tokenizer.ggml.scores", list)
            prefix = meta.get("tokenizer.ggml.add_space_prefix", True)
            tokenizer = _sentencepiece(vocabulary, scores, types, bool(prefix))
        else:
            known = ", ".join(_PRE_TOKENIZERS)
            raise GgufError(
                say("Its tokenizer ({0}, {1}) can't be imported.", f"{kind:.40}", f"{pre:.40}"),
                say("SentencePiece and {0} can.", known),
            )
    except GgufError:
        raise
    except Exception as error:  # the tokenizers library raises bare Exception
        raise GgufError(say("Its tokenizer is inconsistent."), detail=str(error)) from error
    for kept, add in ((_CONTROL, tokenizer.add_special_tokens), (_USER_DEFINED, tokenizer.add_tokens)):
        whole = [token for token, token_type in zip(tokens, types, strict=True) if token_type == kept]
        add([AddedToken(token, special=kept == _CONTROL, normalized=False) for token in whole])
    _check(tokenizer, types)
    special = _special_tokens(meta, tokens, config["eos_token_id"])
    if meta.get("tokenizer.ggml.add_bos_token", kind == "llama" or pre in _LLAMA3_KIND):
        bos = special.get("bos_token")
        if bos is None:
            raise GgufError(say("It asks for a begin token and names none."))
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


def _byte_level(vocabulary: dict[str, int], merges: list[str], pre: str) -> Tokenizer:
    halves = [merge.partition(" ") for merge in merges]
    pairs = [(left, right) for left, _, right in halves]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=pre in _LLAMA3_KIND))
    tokenizer.pre_tokenizer = _PRE_TOKENIZERS[pre]
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(vocabulary: dict[str, int], scores: list[float], types: list[int], prefix: bool) -> Tokenizer:
    """Spaces are ▁, with one before every text if `prefix`; what no token spells falls back to a token a byte."""
    unknown = next((token for token, index in vocabulary.items() if types[index] == _UNKNOWN), None)
    tokenizer = Tokenizer(
        models.BPE(
            vocab=vocabulary,
            merges=_merges(vocabulary, scores, types),
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=_BYTE in types,
        )
    )
    spaces = normalizers.Replace(" ", _SPACE)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), spaces]) if prefix else spaces
    steps = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if prefix else steps)
    return tokenizer


def _merges(vocabulary: dict[str, int], scores: list[float], types: list[int]) -> list[tuple[str, str]]:
    """Every pair of tokens that spells a third, in the order of the third's score: SentencePiece joins the best first.

    Tokens that are matched whole are never made of others.
    """
    if len(scores) != len(types):
        raise GgufError(say("Its tokenizer is inconsistent: tokens and scores differ in number."))
    plain = {token for token, index in vocabulary.items() if types[index] not in (_CONTROL, _USER_DEFINED, _BYTE)}
    merges = []
    for token in sorted(plain, key=lambda token: (-scores[vocabulary[token]], vocabulary[token])):
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in plain and right in plain:
                merges.append((left, right))
    return merges


def _check(tokenizer: Tokenizer, types: list[int]) -> None:
    """Raise GgufError unless 1,000 texts, made of the file's own tokens and of characters, come back as they were."""
    random = np.random.default_rng(0)
    plain = [index for index, token_type in enumerate(types) if token_type == 1]
    if tokenizer.get_vocab_size() != len(types) or not plain:
        raise GgufError(say("Its tokenizer is inconsistent: its tokens aren't its vocabulary."))
    spelled = tokenizer.decode_batch([[int(index)] for index in random.choice(plain, 2000)])
    texts = []
    for number in range(1000):
        words = "".join(random.choice(spelled, int(random.integers(1, 12))))
        letters = "".join(map(chr, random.integers(32, 0x2FFF, int(random.integers(0, 6)))))
        texts.append((words + letters if number % 2 else letters + words).replace("\ufffd", "?").replace(_SPACE, " "))
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    decoded = tokenizer.decode_batch([text.ids for text in encoded], skip_special_tokens=False)
    for text, back in zip(texts, decoded, strict=True):
        if back != text:
            raise GgufError(
                say("Its tokenizer doesn't give texts back as they were."),
                detail=f"{text!r} became {back!r}",
            )


def _special_tokens(meta: dict[str, Any], tokens: list[str], end_tokens: list[int]) -> dict[str, str]:
    found = {}
    for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")):
        key = f"tokenizer.ggml.{key}_token_id"
        if key in meta:
            index = setting(meta, key, int)
            if not 0 <= index < len(tokens):
                raise GgufError(say("Its {0} token, {1}, isn't in the vocabulary of {2}.", name, index, len(tokens)))
            found[f"{name}_token"] = tokens[index]
    if "eos_token" not in found or max(end_tokens) >= len(tokens):
        raise GgufError(say("It names no end token of its vocabulary, so a reply would never end."))
    return found
