"""Why something is as it is: a sentence that a program can tell in another language."""

from __future__ import annotations


class Reason(str):
    """A text of `template`, a literal, and the `values` that stand in it for {0}, {1} …"""

    template: str
    values: tuple[object, ...]

    def __new__(cls, template: str, *values: object) -> Reason:
        text = super().__new__(cls, template.format(*values))
        text.template, text.values = template, values
        return text

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]  # for copies
        return self.template, *self.values


UNSHARED = Reason("its attention doesn't go through mlx-lm's shared function")
CHANGED = Reason("the model changes its keys and values between cache and attention")
