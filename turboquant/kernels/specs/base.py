"""The one description of every kernel: its text's constants, its buffers, its grid. For the runtime and for the tests.

A kernel is a body (NAME.metal), the constants set before it, and the names of its buffers. Everything that changes from
step to step (lengths, capacities, splits) lies in the buffer `dims`, so that nothing is compiled again. Pure Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from turboquant.rotation import factors
from turboquant.schemes import words_per_vector

Target = Literal["metal", "cuda"]
Shape = tuple[int, ...]

MAX_DIM = 512
MAX_ODD = 15  # the odd factor of a dimension is multiplied in registers
MAX_ROWS = 8  # query tokens that the decode kernel takes at once
SEGMENTS = 64  # key segments that one split may meet
MIN_ELEMENTS = 8  # MLX passes a smaller input in another address space, which would be another text
SHARED_BYTES = {"metal": 32768, "cuda": 49152}  # threadgroup memory that every GPU has
DIMS = 16  # integers in `dims`
TRIALS = 8  # places for trial scales


def supports(dim: int) -> bool:
    """Whether there are kernels for vectors of `dim` coordinates."""
    power, odd = factors(dim)
    return power >= 8 and odd <= MAX_ODD and 32 <= dim <= MAX_DIM


def supports_split(dim: int) -> bool:
    """Whether there are kernels for split keys of `dim` channels."""
    return supports(dim) and factors(dim // 2)[0] >= 4


@dataclass(frozen=True)
class Kernel:
    """What is compiled. `types` are the inputs' element types: they are in the text too, so they are in the name.

    `texts`: the files that make the body, if not `body` alone; `headers`: those before it. `kept`: inputs that the
    kernel writes to and leaves as they were.
    """

    body: str
    constants: tuple[tuple[str, int | str], ...]
    inputs: tuple[str, ...]
    types: tuple[str, ...]
    outputs: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # unused inputs, and the one that the text names in their place
    threads: int = 0  # CUDA: of a group, where registers are to be kept so few that `residents` groups fit a core
    residents: int = 0
    texts: tuple[str, ...] = ()
    headers: tuple[str, ...] = ("common.h",)
    kept: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        values = [str(value) for _, value in self.constants] + [str(self.residents), *self.types]
        return "_".join(["tq", self.body, *values]).replace("float", "f")


@dataclass(frozen=True)
class Launch:
    """How it is called: threads, threads of a group, and the outputs' shapes and element types."""

    grid: tuple[int, int, int]
    group: tuple[int, int, int]
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """The codec of one part, keys or values, as a kernel sees it. `split`: bits + 1 and bits - 1 in turn (split.py);
    `lower_trials` are then the narrower half's."""

    dim: int
    bits: int
    matched: bool = True
    trials: int = 1
    split: bool = False
    lower_trials: int = 1

    @property
    def words(self) -> int:
        return words_per_vector(self.dim, self.bits)

    @property
    def norm_type(self) -> str:
        return "uint16" if self.split else "float16"

    @property
    def vectors(self) -> int:
        """Vectors that a simdgroup holds."""
        return 32 // min(factors(self.dim)[0] // (1 + self.split), 32)

    def constants(self, prefix: str = "") -> tuple[tuple[str, int | str], ...]:
        power, odd = factors(self.dim)
        names = ("P", "M", "B" if prefix else "BITS", "TRIALS", "MATCHED", "SPLIT", "LTRIALS")
        values = (power, odd, self.bits, self.trials, int(self.matched), int(self.split), self.lower_trials)
        return tuple((prefix + name, value) for name, value in zip(names, values, strict=True))
