"""What was chosen for replies: kept as JSON, read field by field, and what holds where nothing was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import generation
from app.generation import DEFAULTS, GenerationParams, Value

CHOSEN: dict[str, Value] = {
    "system_prompt": "Be “brief”.\n", "temperature": 0.2, "top_p": 0.5, "top_k": 12, "min_p": 0.05,
    "repetition_penalty": 1.2, "repetition_context": 32, "max_tokens": 77, "seed": 0, "stop": ("\n\n", "END"),
    "thinking": False,
}  # fmt: skip


def test_what_is_written_is_read_again() -> None:
    assert generation.read(generation.write(CHOSEN)) == CHOSEN
    assert set(CHOSEN) == set(GenerationParams.__dataclass_fields__)
    assert generation.write({}) == ""
    assert generation.read("") == {}


@pytest.mark.parametrize("text", ["{", "[]", "null", "[" * 100_000, "\x00"])
def test_damage_is_nothing_chosen(text: str) -> None:
    assert generation.read(text) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1), ("temperature", float("nan")), ("temperature", "0.5"), ("temperature", True),
        ("top_p", 0), ("top_p", 1.5), ("top_k", 1.5), ("top_k", -1), ("min_p", 2), ("seed", -1), ("seed", 1 << 40),
        ("max_tokens", 0), ("repetition_penalty", 0), ("stop", "END"), ("stop", [""]), ("stop", [1]),
        ("stop", ["x"] * 99), ("stop", ["\ud800"]), ("system_prompt", "\udfff"), ("temperature", 10**400),
        ("top_k", 10**400), ("seed", -(10**400)), ("max_tokens", float("inf")), ("thinking", 1),
        ("system_prompt", None), ("system_prompt", ["a"]), ("unheard_of", 1),
    ],
)  # fmt: skip
def test_an_odd_field_takes_no_other_with_it(name: str, value: object) -> None:
    document = {**json.loads(generation.write(CHOSEN)), name: value}
    expected = {field: chosen for field, chosen in CHOSEN.items() if field != name}
    assert generation.read(json.dumps(document)) == expected


SCALARS = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=5)
ANY = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3))


@given(st.dictionaries(st.sampled_from([*CHOSEN, "other"]), ANY))
def test_whatever_is_stored_gives_settings_that_hold(document: dict[str, object]) -> None:
    params = generation.resolve(generation.read(json.dumps(document)), {})
    for name, limits in generation.RANGES.items():
        value = getattr(params, name)
        assert (name == "seed" and value is None) or limits.holds(value)


def test_the_users_choice_comes_before_the_models_and_that_before_the_programs() -> None:
    model = generation.of_model({"temperature": 1, "top_k": 20, "max_new_tokens": 512, "top_p": 7, "min_p": -(10**400)})
    assert model == {"temperature": 1.0, "top_k": 20, "max_tokens": 512}
    params = generation.resolve({"temperature": 0.3}, model)
    assert (params.temperature, params.top_k, params.top_p) == (0.3, 20, DEFAULTS.top_p)
