"""What the scheme dropdown offers: sizes from the schemes' widths, closeness from the measurements."""

from __future__ import annotations

from dataclasses import asdict

from app.events import SchemeFidelity, SchemeOption
from turboquant import fidelity, schemes


def scheme_options(head_dim: int) -> tuple[SchemeOption, ...]:
    """Every scheme, for a model whose heads have this dim."""
    measured = {name: SchemeFidelity(**asdict(figures)) for name, figures in fidelity.measured().items()}
    return tuple(
        SchemeOption(s.name, s.key_bits, s.value_bits, s.ratio(head_dim), measured.get(s.name)) for s in schemes.SCHEMES
    )
