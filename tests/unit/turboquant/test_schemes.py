import pytest

from turboquant.errors import UnknownScheme
from turboquant.schemes import KEY_BITS, SCHEMES, VALUE_BITS, parse

# Compression against float16 as published (head dims 64, 80, 96, 128, 256).
RATIOS = {
    "turbo4": (3.76, 3.81, 3.84, 3.88, 3.94),
    "turbo3": (4.92, 4.71, 5.05, 5.12, 5.22),
    "turbo2": (7.11, 7.27, 7.38, 7.53, 7.76),
    "turbo4v2": (4.92, 5.00, 5.05, 5.12, 5.22),
    "turbo4v3": (4.27, 4.21, 4.36, 4.41, 4.49),
    "turbo0v4": (1.58, 1.58, 1.59, 1.59, 1.60),
    "turbo0v2": (1.75, 1.76, 1.76, 1.77, 1.77),
}


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_the_published_ones(name: str) -> None:
    ratios = [parse(name).ratio(dim) for dim in (64, 80, 96, 128, 256)]
    assert ratios == pytest.approx(RATIOS[name], abs=0.006)


def test_every_pair_of_widths_has_one_name_that_parses_back() -> None:
    for key_bits in KEY_BITS:
        for value_bits in VALUE_BITS:
            scheme = parse(f"turbo{key_bits}v{value_bits}")
            assert (scheme.key_bits, scheme.value_bits) == (key_bits, value_bits)
            assert parse(scheme.name) == scheme
            assert parse(f"  {scheme.name.upper()} ") == scheme
    assert parse("turbo4v4").name == "turbo4"
    assert not parse("none").compresses


@pytest.mark.parametrize(
    "name", ["", "turbo", "turbo5", "turbo4v5", "turbo0", "turbo1", "turbo42", "q4", "turbo4v", "4", "turbo٤", None]
)
def test_an_unknown_scheme_is_refused_with_the_list_of_valid_ones(name: str) -> None:
    with pytest.raises(UnknownScheme) as caught:
        parse(name)
    for scheme in SCHEMES:
        assert scheme.name in str(caught.value)
