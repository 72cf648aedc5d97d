"""The one description of every kernel: its text's constants, its buffers, its grid. For the runtime and for the tests.

A kernel is a body (NAME.metal), the constants set before it, and the names of its buffers. Everything that changes from
step to step (lengths, capacities, splits) lies in the buffer `dims`, so that nothing is compiled again. Pure Python.
"""

from __future__ import annotations

from collections.abc import Iterator
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
SHARED_BYTES = 32768  # threadgroup memory that every Apple GPU has
DIMS = 16  # integers in `dims`
SPLIT_ROWS = 256  # a split of the body is at least so long
SINGLE_ROWS = 1536  # up to here one dispatch does everything
RESIDENT_GROUPS = {"cuda": 264, "metal": 160}  # threadgroups that fill a large GPU at once
TRIALS = 8  # places for trial scales


def supports(dim: int) -> bool:
    """Whether there are kernels for vectors of `dim` coordinates."""
    power, odd = factors(dim)
    return power >= 8 and odd <= MAX_ODD and 32 <= dim <= MAX_DIM


@dataclass(frozen=True)
class Kernel:
    """What is compiled. `types` are the inputs' element types: they are in the text too, so they are in the name."""

    body: str
    constants: tuple[tuple[str, int | str], ...]
    inputs: tuple[str, ...]
    types: tuple[str, ...]
    outputs: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # unused inputs, and the one that the text names in their place
    threads: int = 0  # CUDA: of a group, where registers are to be kept so few that `residents` groups fit a core
    residents: int = 0

    @property
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
    """The codec of one part, keys or values, as a kernel sees it."""

    dim: int
    bits: int
    matched: bool = True
    trials: int = 1

    @property
    def words(self) -> int:
        return words_per_vector(self.dim, self.bits)

    @property
    def vectors(self) -> int:
        """Vectors that a simdgroup holds."""
        return 32 // min(factors(self.dim)[0], 32)

    def constants(self, prefix: str = "") -> tuple[tuple[str, int | str], ...]:
        power, odd = factors(self.dim)
        names = ("P", "M", "B" if prefix else "BITS", "TRIALS", "MATCHED")
        values = (power, odd, self.bits, self.trials, int(self.matched))
        return tuple((prefix + name, value) for name, value in zip(names, values, strict=True))


ENCODE_SIMDGROUPS = 4


def encode(part: Part, dtype: str, calibration: int = 0, calibration_dtype: str = "float16") -> Kernel:
    """Vectors of `dtype` to codes; `calibration` 0, 1 (an offset a head) or 2 (and a channel scale)."""
    absent = (("offset", "x"), ("channel", "x"))[calibration:]
    given = ("offset", "channel")[:calibration]
    return Kernel(
        "encode",
        (*part.constants(), ("CAL", calibration), ("VPG", ENCODE_SIMDGROUPS)),
        ("x", "dims", "consts", *given),
        (dtype, "int32", "float32", *(calibration_dtype,) * calibration),
        ("words", "norms"),
        absent,
    )


def encode_launch(part: Part, rows: int) -> Launch:
    per_group = ENCODE_SIMDGROUPS * part.vectors
    return Launch(
        (32 * ENCODE_SIMDGROUPS * -(-rows // per_group), 1, 1),
        (32 * ENCODE_SIMDGROUPS, 1, 1),
        ((rows, part.words), (rows,)),
        ("uint32", "float16"),
    )


def encode_pair(
    keys: Part, values: Part, dtype: str, calibration: int = 0, calibration_dtype: str = "float16"
) -> Kernel:
    """Keys and values in one launch; `calibration` is the keys'."""
    return Kernel(
        "encode_pair",
        (*keys.constants("K"), ("CAL", calibration), *values.constants("V"), ("VPG", ENCODE_SIMDGROUPS)),
        ("k", "v", "dims", "kconsts", "vconsts", *("offset", "channel")[:calibration]),
        (dtype, dtype, "int32", "float32", "float32", *(calibration_dtype,) * calibration),
        ("kwords", "knorms", "vwords", "vnorms"),
        (("offset", "k"), ("channel", "k"))[calibration:],
    )


def encode_pair_launch(keys: Part, values: Part, rows: int) -> Launch:
    per_group = ENCODE_SIMDGROUPS * min(keys.vectors, values.vectors)
    return Launch(
        (32 * ENCODE_SIMDGROUPS * -(-rows // per_group), 1, 2),
        (32 * ENCODE_SIMDGROUPS, 1, 1),
        ((rows, keys.words), (rows,), (rows, values.words), (rows,)),
        ("uint32", "float16", "uint32", "float16"),
    )


DEQUANTISE_SIMDGROUPS = 8


def dequantise(part: Part, dtype: str, raw_dtype: str | None = None, calibration: int = 0) -> Kernel:
    """Packed rows in rotated space as `dtype`; with `raw_dtype` also the raw first tokens and tail, rotated.

    `calibration` 1 adds the rotated offset of a row's segment, 2 also scales the channels of raw rows.
    """
    power, odd = factors(part.dim)
    inputs, types = ["words", "norms", "dims", "consts"], ["uint32", "float16", "int32", "float32"]
    aliases = []
    for names, kind, stand_in, present in (
        (("first", "tail"), raw_dtype or "", "norms", raw_dtype is not None),
        (("lift",), "float32", "consts", calibration > 0),
        (("starts",), "int32", "dims", calibration > 0),
        (("channel",), "float16", "norms", calibration > 1),
    ):
        if present:
            inputs += names
            types += [kind] * len(names)
        else:
            aliases += [(name, stand_in) for name in names]
    constants: tuple[tuple[str, int | str], ...] = (
        ("OT", dtype),
        ("P", power),
        ("M", odd),
        ("BITS", part.bits),
        ("RAW", int(raw_dtype is not None)),
        ("CAL", calibration),
        ("RPG", DEQUANTISE_SIMDGROUPS),
    )
    return Kernel("dequantise", constants, tuple(inputs), tuple(types), ("out",), tuple(aliases))


def dequantise_launch(part: Part, dtype: str, batch_heads: int, rows: int) -> Launch:
    groups = -(-rows // DEQUANTISE_SIMDGROUPS)
    return Launch(
        (32 * DEQUANTISE_SIMDGROUPS * groups, batch_heads, 1),
        (32 * DEQUANTISE_SIMDGROUPS, 1, 1),
        ((batch_heads, rows, part.dim),),
        (dtype,),
    )


@dataclass(frozen=True)
class Geometry:
    """How the decode kernel spreads its work over a group (attend.metal names these GS, LPT, N, NSG, NR)."""

    rows: int  # query rows that share one unpacking
    lanes: int  # lanes that hold one token
    tokens: int  # tokens of a lane
    simdgroups: int
    raw_simdgroups: int = 0  # of these on the raw tokens, where one dispatch does everything
    residents: int = 2  # groups that are to fit a core at once (CUDA: the compiler spares registers for it)

    @property
    def tile(self) -> int:
        """Tokens that a simdgroup reads at once, whole: a buffer's capacity is a multiple of it."""
        return 32 // self.lanes * self.tokens


def geometry(key_dim: int, value_dim: int, rows: int, single: bool = False, target: Target = "cuda") -> Geometry:
    """A fitting geometry for `rows` query rows of a kv head. `single`: for the one dispatch over a short cache."""
    fitting = [n for n in (8, 16, 32) if key_dim % n == 0 and value_dim % n == 0]
    dim = max(key_dim, value_dim)

    def lanes_for(share: int) -> int:
        return next((n for n in fitting if dim // n <= share), fitting[-1])

    shared, lanes = 1, lanes_for(16)
    if (rows > 1 and not single) or lanes == 32:  # 32 lanes to one row would hold 32 tokens each
        lanes = lanes_for(9)
        shared = 4 if rows > 2 and dim // lanes <= 10 else 2
    halvings = {1: 0, 2: 1, 4: 2}[shared]
    tokens = max(lanes >> halvings, 4)
    wanted = 16 if single and target == "cuda" and dim // lanes * tokens <= 128 else 8
    for simdgroups in (n for n in (16, 8, 4, 2) if n <= wanted):
        found = Geometry(
            shared,
            lanes,
            tokens,
            simdgroups,
            max(1, simdgroups // 8) if single else 0,
            1 if single else {8: 2, 4: 3, 2: 4}[simdgroups],
        )
        if shared_bytes(found, key_dim, value_dim, 8, 8, True) <= SHARED_BYTES:
            return found
    raise ValueError(f"No geometry fits head dimensions {key_dim} and {value_dim} into {SHARED_BYTES} bytes.")


def shared_bytes(g: Geometry, key_dim: int, value_dim: int, key_bits: int, value_bits: int, calibrated: bool) -> int:
    """Threadgroup memory of attend.metal, alignment of the tables included."""
    queries = 2 * g.rows * (key_dim + g.lanes)
    sums = g.simdgroups * g.rows * (value_dim + g.lanes)
    weights = 4 * (g.simdgroups * g.tile * g.rows // 4 + 1)
    segments = SEGMENTS * (g.rows + 1) + 1 if calibrated else 2
    tables = 2 * 1024 if key_bits else 1024
    return 4 * (max(queries, sums) + weights + 2 * g.simdgroups * g.rows + segments) + tables + 64


@dataclass(frozen=True)
class Attend:
    """Decode attention of one kind of layer. `key_bits` 0: raw keys, of the raw tokens' type.

    `length`: newest tokens asked about; `group`: query heads of a kv head; `calibration` as in `encode`; `sinks`: 0
    none, 1 fewer than MIN_ELEMENTS, 2 more; `single`: one dispatch does everything, for short caches.
    """

    key_dim: int
    value_dim: int
    key_bits: int
    value_bits: int
    kv_heads: int
    group: int
    length: int = 1
    dtype: str = "float16"
    raw_dtype: str = "float16"
    calibration: int = 0
    window: bool = False
    soft_cap: bool = False
    sinks: int = 0
    single: bool = False
    target: Target = "cuda"
    override: Geometry | None = None  # benchmarks try others

    @property
    def rows(self) -> int:
        return self.group * self.length

    @cached_property
    def geometry(self) -> Geometry:
        return self.override or geometry(self.key_dim, self.value_dim, self.rows, self.single, self.target)

    @property
    def groups(self) -> int:
        """Threadgroups that a kv head's rows take."""
        return -(-self.rows // self.geometry.rows)

    @property
    def value_at(self) -> int:
        """Where the values' constants begin, behind 8 numbers and the keys' constants."""
        return 8 + self._consts(self.key_dim, self.key_bits)

    @staticmethod
    def _consts(dim: int, bits: int) -> int:
        return dim + factors(dim)[1] ** 2 + (1 << bits)

    def kernel(self) -> Kernel:
        g = self.geometry
        (kp, km), (vp, vm) = factors(self.key_dim), factors(self.value_dim)
        constants: dict[str, int | str] = {
            "OT": self.dtype if self.single else "float32",
            "RT": self.raw_dtype,
            **{"KP": kp, "KM": km, "KB": self.key_bits, "VP": vp, "VM": vm, "VB": self.value_bits},
            **{"ROWS": self.rows, "L": self.length, "GS": g.rows, "LPT": g.lanes, "N": g.tokens, "NSG": g.simdgroups},
            **{"NR": g.raw_simdgroups, "CAL": self.calibration, "SEGS": SEGMENTS, "WIN": int(self.window)},
            **{"CAP": int(self.soft_cap), "SINK": self.sinks if self.single else 0, "HKV": self.kv_heads},
            **{"FINAL": int(self.single), "KAT": 8, "VAT": self.value_at},
        }
        raw = self.raw_dtype
        keys = [("kpack", "uint32"), ("knorm", "float16")] if self.key_bits else [("kpack", raw)]
        buffers = [("q", self.dtype), *keys, ("vpack", "uint32"), ("vnorm", "float16")]
        buffers += [("fk", raw), ("fv", raw), ("tk", raw), ("tv", raw), ("consts", "float32"), ("dims", "int32")]
        buffers += [("starts", "int32"), ("offs", "float16")] if self.calibration else []
        buffers += [("chan", "float16")] if self.calibration > 1 else []
        buffers += [("sinks", self.dtype)] if self.sinks and self.single else []
        present = {name for name, _ in buffers}
        stand_ins = (("knorm", "vnorm"), ("starts", "dims"), ("offs", "vnorm"), ("chan", "vnorm"), ("sinks", "q"))
        aliases = tuple((name, other) for name, other in stand_ins if name not in present)
        names, types = zip(*buffers, strict=True)
        return Kernel(
            "attend", tuple(constants.items()), names, types, ("part",), aliases, 32 * g.simdgroups, g.residents
        )

    def inputs(self) -> tuple[str, ...]:
        """Of both dispatches, but for what passes between them."""
        names = self.kernel().inputs
        return names if self.single or not self.sinks else (*names, "sinks")

    def launch(self, batch: int, splits: int) -> Launch:
        """`splits` counts the raw tokens' one too; 1 where `single`."""
        g, rows = self.geometry, batch * self.kv_heads * self.rows
        return Launch(
            (32 * g.simdgroups, batch * self.kv_heads * self.groups, splits),
            (32 * g.simdgroups, 1, 1),
            ((rows, self.value_dim) if self.single else (rows, splits, self.value_dim + 2),),
            (self.dtype if self.single else "float32",),
        )

    def splits(self, batch: int, body: int) -> int:
        """How many parts to cut `body` rows into, the raw tokens' part counted."""
        if self.single:
            return 1
        share = RESIDENT_GROUPS[self.target] // (batch * self.kv_heads * self.groups)
        return max(1, min(share - 1, -(-body // SPLIT_ROWS))) + 1

    def merge(self) -> Kernel:
        power, odd = factors(self.value_dim)
        constants: tuple[tuple[str, int | str], ...] = (
            ("OT", self.dtype),
            ("P", power),
            ("M", odd),
            ("NSG", self._merge_simdgroups),
            ("ROWS", self.rows),
            ("L", self.length),
            ("HKV", self.kv_heads),
            ("SINK", self.sinks),
            ("AT", self.value_at),
        )
        inputs, types = ("part", "consts", "dims"), ("float32", "float32", "int32")
        if self.sinks:
            return Kernel("attend_merge", constants, (*inputs, "sinks"), (*types, self.dtype), ("out",))
        return Kernel("attend_merge", constants, inputs, types, ("out",), (("sinks", "part"),))

    def merge_launch(self, batch: int) -> Launch:
        rows, threads = batch * self.kv_heads * self.rows, 32 * self._merge_simdgroups
        return Launch((threads, rows, 1), (threads, 1, 1), ((rows, self.value_dim),), (self.dtype,))

    @property
    def _merge_simdgroups(self) -> int:
        return 4 if self.value_dim > 256 else 8


def catalogue(target: Target) -> Iterator[Kernel]:
    """Every kernel text that the backend can ask for, up to head counts: all dims, bits, types and switches.

    Switches that a text takes independently of each other vary in turn over the product of dims and bits, not in a
    product of their own.
    """
    dims, floats = (64, 72, 80, 96, 112, 120, 128, 192, 256, 512), ("float16", "bfloat16", "float32")
    turn = 0
    for dim in dims:
        for value_bits in (2, 3, 4, 8):
            for key_bits in (0, 2, 3, 4, 8):
                dtype = floats[turn % 3]
                yield from _layer(dim, dim, key_bits, value_bits, dtype, turn, target)
                turn += 1
    for key_dim, value_dim in ((192, 128), (64, 128), (96, 64), (256, 512), (80, 120)):
        for key_bits, value_bits in ((4, 4), (0, 2), (8, 3)):
            for dtype in floats:
                yield from _layer(key_dim, value_dim, key_bits, value_bits, dtype, turn, target)
                turn += 1


def _layer(
    key_dim: int, value_dim: int, key_bits: int, value_bits: int, dtype: str, turn: int, target: Target
) -> Iterator[Kernel]:
    raw = "float16" if dtype == "float32" else dtype
    calibration = turn // 3 % 3 if key_bits else 0
    keys, values = Part(key_dim, key_bits, True, 1 + 7 * (turn % 2)), Part(value_dim, value_bits, False, 8)
    if key_bits:
        yield encode(keys, dtype, calibration)
        yield encode_pair(keys, values, dtype, calibration)
        yield dequantise(keys, dtype, raw, calibration)
    yield encode(values, dtype)
    yield dequantise(values, dtype)
    yield dequantise(values, dtype, raw)
    for single in (False, True):
        spec = Attend(
            key_dim, value_dim, key_bits, value_bits,
            kv_heads=(1, 2, 8)[turn % 3], group=(1, 2, 3, 4, 5, 7, 8)[turn % 7], length=(1, 1, 2, 3, 8)[turn % 5],
            dtype=dtype, raw_dtype=raw, calibration=calibration,
            window=turn // 2 % 2 == 1, soft_cap=turn // 4 % 2 == 1, sinks=turn % 4 % 3, single=single, target=target,
        )  # fmt: skip
        yield spec.kernel()
        if not single:
            yield spec.merge()
