"""Makes turboquant/kernels/golden.npz: python -m tests.kernels.golden_vectors, from the repository's root."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from tests.kernels import numpy_reference
from tests.kernels.numpy_reference import Array
from tests.kernels.running import Attend, Encode
from turboquant.codec import Codec
from turboquant.kernels import constants, golden, specs
from turboquant.split import SplitCodec

ENCODE = [
    Encode(128, 4, calibration=2, trials=8, outlier=False),
    Encode(64, 3, matched=False, trials=8, outlier=False),
    Encode(80, 8, outlier=False),
    Encode(72, 2, calibration=1, outlier=False),
    Encode(128, 3, calibration=2, outlier=False, split=True),
]
SMALL: dict[str, Any] = {"body": 50, "capacity": 64, "tail": 12, "tail_capacity": 16}
ATTEND = [
    Attend(128, calibration=2, starts=(0, 30), **SMALL),
    Attend(128, split=True, key_bits=3, value_bits=3, calibration=2, starts=(0, 30), **SMALL),
    Attend(80, key_bits=3, value_bits=2, group=3, length=3, window=40, sinks=True, **SMALL),
    Attend(64, key_bits=0, value_bits=4, group=2, single=True, **SMALL),
    Attend(96, 64, key_bits=8, value_bits=3, group=2, soft_cap=2.0, single=True, **SMALL),
]


def content() -> dict[str, Any]:
    """The file's arrays by name."""
    cases: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}

    def add(case: dict[str, Any], given: dict[str, Any], used: tuple[str, ...], **want: Any) -> None:
        number = len(cases)
        cases.append(case)
        arrays.update({f"{number}.{name}": given[name] for name in used})
        arrays.update({f"{number}.{name.replace('_', '.')}": value for name, value in want.items()})

    for encode in ENCODE:
        named, x = encode.problem()
        part = constants.part(encode.codec())
        words, norms = _encoded(x, encode.codec())
        add(
            {
                **{
                    "kind": "encode",
                    "name": f"encode d={part.dim} {part.bits} bit{' split' if part.split else ''}",
                    "part": asdict(part),
                },
                "calibration": encode.calibration,
            },
            {**named, "x": named["x"]},
            specs.encode(part, "float16", encode.calibration).inputs,
            want_words=words,
            want_norms=norms,
        )
    for attend in ATTEND:
        named, want = attend.problem()
        spec = attend.spec("metal")
        fields = {name: value for name, value in asdict(spec).items() if name not in ("target", "override")}
        name = f"attend K{spec.key_bits} V{spec.value_bits} d={spec.key_dim}/{spec.value_dim} rows={spec.rows}"
        add({"kind": "attend", "name": name, "spec": fields}, named, spec.inputs(), want=want.astype(np.float32))
    return {"cases": np.array(json.dumps({"version": golden.VERSION, "cases": cases})), **arrays}


def _encoded(x: Array, codec: Codec | SplitCodec) -> tuple[Array, Array]:
    """Words and norms of x (n, dim), already shifted, scaled and in order."""
    if not isinstance(codec, SplitCodec):
        codes, norms = _codes(x, codec)
        return numpy_reference.pack(codes, codec.bits), norms
    (upper, upper_norms), (lower, lower_norms) = _codes(x[:, 0::2], codec.upper), _codes(x[:, 1::2], codec.lower)
    steps = np.log2(np.maximum([upper_norms, lower_norms], 1e-30)) * 32 + 128
    assert (np.abs(steps - np.floor(steps) - 0.5) > 1e-3).all(), "a norm between two steps"
    high, low = np.clip(np.round(steps), 1, 255).astype(np.uint16)
    stored = np.where((upper_norms == 0) & (lower_norms == 0), 0, high << 8 | low).astype(np.uint16)
    return numpy_reference.pack(upper | lower << (codec.bits + 1), 2 * codec.bits), stored


def _codes(x: Array, codec: Codec) -> tuple[Array, Array]:
    found = numpy_reference.encode(x, codec, margin=3e-7)
    best, rows = found.cosines.argmax(-1), np.arange(len(x))
    # nothing in the file may hang on the last bit: no coordinate next to a boundary, no two trials alike
    rivals = found.cosines > found.cosines.max(-1, keepdims=True) - 1e-6
    same = (found.codes == found.codes[rows, best][:, None]).all(-1)
    clear = ~found.close[rows, best].any(-1) & (same | ~rivals).all(-1)
    assert clear[np.abs(x).sum(-1) > 0].all(), codec
    return found.codes[rows, best], found.norms[rows, best]


def main() -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **content())
    golden.FILE.write_bytes(buffer.getvalue())
    print(f"{golden.FILE}: {len(buffer.getvalue())} bytes")


if __name__ == "__main__":
    main()
