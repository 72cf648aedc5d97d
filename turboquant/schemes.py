"""Schemes: how many bits a key and a value coordinate take. Pure Python, no arrays.

A scheme is named `turbo{K}` (keys and values at K bits) or `turbo{K}v{V}`; K = 0 keeps keys raw in 16 bits.
`none` keeps both. Names and widths follow TurboQuant (arXiv 2504.19874) as used for KV caches in MLX.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from turboquant.errors import UnknownScheme

KEY_BITS = (0, 2, 3, 4, 8)
VALUE_BITS = (2, 3, 4, 8)
RAW_BYTES = 2  # a raw coordinate: float16 or bfloat16
NORM_BYTES = 2  # one float16 norm a packed vector


def words_per_vector(dim: int, bits: int) -> int:
    """uint32 words that `dim` codes of `bits` bits take, packed with spill over word boundaries."""
    return (dim * bits + 31) // 32


def vector_bytes(dim: int, bits: int) -> int:
    """Bytes of one stored vector of `dim` coordinates: raw for 0 bits, else packed words and a norm."""
    return dim * RAW_BYTES if bits == 0 else words_per_vector(dim, bits) * 4 + NORM_BYTES


@dataclass(frozen=True)
class Scheme:
    """`key_bits` and `value_bits` a coordinate; 0 means raw 16-bit."""

    name: str
    key_bits: int
    value_bits: int

    @property
    def compresses(self) -> bool:
        return bool(self.key_bits or self.value_bits)

    def bytes_per_token(self, head_dim: int, value_dim: int | None = None) -> int:
        """Bytes of one token's key and value in one kv head, once packed."""
        return vector_bytes(head_dim, self.key_bits) + vector_bytes(value_dim or head_dim, self.value_bits)

    def ratio(self, head_dim: int, value_dim: int | None = None) -> float:
        """Bytes of float16 over bytes of this scheme (no raw tokens counted)."""
        return (head_dim + (value_dim or head_dim)) * RAW_BYTES / self.bytes_per_token(head_dim, value_dim)

    def __str__(self) -> str:
        return self.name


NONE = Scheme("none", 0, 0)


def _named(key_bits: int, value_bits: int) -> Scheme:
    name = f"turbo{key_bits}" if key_bits == value_bits else f"turbo{key_bits}v{value_bits}"
    return Scheme(name, key_bits, value_bits)


_WIDTHS = ((8, 8), (8, 4), (8, 3), (8, 2), (0, 4), (0, 3), (0, 2), (4, 4), (4, 3), (4, 2), (3, 3), (2, 2))
SCHEMES = (NONE, *(_named(k, v) for k, v in _WIDTHS))
"""The schemes offered by name in lists; `parse` knows every other pair of widths too."""


def parse(name: str | Scheme) -> Scheme:
    """The scheme called `name`. Raises UnknownScheme, which lists the valid ones."""
    if isinstance(name, Scheme):
        return name
    text = name.strip().lower() if isinstance(name, str) else ""
    if text == NONE.name:
        return NONE
    if match := re.fullmatch(r"turbo([0-9])(?:v([0-9]))?", text):
        key_bits, value_bits = int(match[1]), int(match[2] or match[1])
        if key_bits in KEY_BITS and value_bits in VALUE_BITS:
            return _named(key_bits, value_bits)
    listed = ", ".join(scheme.name for scheme in SCHEMES)
    raise UnknownScheme(
        f"There is no scheme {name!r}. Valid ones: {listed}; in general turbo{{K}} or turbo{{K}}v{{V}} "
        f"with K in {', '.join(map(str, KEY_BITS))} and V in {', '.join(map(str, VALUE_BITS))}."
    )
