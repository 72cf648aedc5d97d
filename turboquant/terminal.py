"""What the commands share: numbers taken from the command line, rows shown as JSON, as Markdown or as a table."""

from __future__ import annotations

import argparse
import json
from typing import Any

Rows = list[dict[str, Any]]


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def lengths(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def why(error: Exception) -> str:
    """What stood in the way of a file, as a part of a sentence that names it."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is no UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def show(options: argparse.Namespace, value: Any, rows: Rows) -> None:
    """`value` with --json, else `rows`."""
    if options.json:
        print(json.dumps(value, indent=1))
    elif getattr(options, "markdown", False):
        print(markdown(rows))
    else:
        table(rows)


def table(rows: Rows) -> None:
    if not rows:
        return
    cells = _cells(rows)
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def markdown(rows: Rows) -> str:
    """A pipe table; columns of numbers are aligned to the right."""
    if not rows:
        return ""
    head, *body = ["| " + " | ".join(row) + " |" for row in _cells(rows)]
    numbers = [not isinstance(value, str) or value[:1].isdigit() for value in rows[0].values()]
    rule = "".join("|--:" if number else "|---" for number in numbers) + "|"
    return "\n".join([head, rule, *body])


def _cells(rows: Rows) -> list[list[str]]:
    return [list(rows[0]), *[[_cell(value) for value in row.values()] for row in rows]]


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
