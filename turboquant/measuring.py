"""The commands that measure fidelity: eval, needle and report."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from turboquant import fidelity, terminal
from turboquant.errors import TurboQuantError
from turboquant.schemes import parse

COMMON = "none,turbo0v4,turbo4,turbo3,turbo2"
STARTER = "starter"
_PROGRESS = 64  # tokens


def add_commands(commands: Any) -> None:
    """`commands`: what argparse's add_subparsers returned."""
    command = commands.add_parser("eval", help="perplexity and KL divergence of schemes on texts")
    command.add_argument("--model", nargs="+", default=[STARTER], help="'starter' or folders with MLX models")
    command.add_argument("--text", type=Path, nargs="+", required=True, help="UTF-8 text files")
    command.add_argument(
        "--prompt", type=terminal.positive, default=256, help="tokens that are prefilled (%(default)s)"
    )
    command.add_argument("--tokens", type=terminal.positive, default=256, help="and fed one by one (%(default)s)")
    command.add_argument("--contexts", type=terminal.lengths, default=[], help="measure at these lengths instead")
    command.add_argument("--last", type=terminal.positive, help="means over the newest tokens only, by default all")
    _variants(command)
    command.add_argument("--markdown", action="store_true", help="a pipe table")
    command.set_defaults(run=_eval)

    command = commands.add_parser("needle", help="whether a code word is found again in a long text")
    command.add_argument("--model", nargs="+", default=[STARTER], help="'starter' or folders with MLX models")
    command.add_argument("--text", type=Path, required=True, help="a UTF-8 text file to hide it in")
    command.add_argument(
        "--contexts", type=terminal.lengths, default=[1024, 2048, 4096], help="lengths of prompts %(default)s"
    )
    command.add_argument("--depths", type=_numbers, default=[0, 25, 50, 75, 100], help="per cent %(default)s")
    _variants(command)
    command.add_argument("--markdown", action="store_true", help="a pipe table")
    command.set_defaults(run=_needle)

    command = commands.add_parser("report", help="measure what docs/fidelity.md says, and write it")
    command.add_argument("--models", nargs="+", default=[STARTER], help="'starter' or folders with MLX models")
    command.add_argument(
        "--only", default="", help="of schemes, models, contexts, cross, needle (all); 'nothing': just write the page"
    )
    command.add_argument(
        "--texts", type=Path, default=Path("tests/data/texts"), help="a folder with .txt files (%(default)s)"
    )
    command.add_argument(
        "--data", type=Path, default=Path(__file__).with_name(fidelity.DATA), help="where the figures are kept"
    )
    command.add_argument("--out", type=Path, default=Path("docs/fidelity.md"), help="the page (%(default)s)")
    command.set_defaults(run=_report)


def _variants(command: argparse.ArgumentParser) -> None:
    command.add_argument("--schemes", default=COMMON, help="names, separated by commas (%(default)s)")
    command.add_argument("--calibrate", choices=("on", "off", "both"), default="on", help="key statistics (on)")
    command.add_argument("--tail", type=not_negative, help="newest tokens that always stay raw, by default 32")


def _eval(options: argparse.Namespace) -> int:
    variants = _chosen(options)
    texts = [_read(path) for path in options.text]
    from turboquant import backends
    from turboquant.evaluate import evaluate

    rows: terminal.Rows = []
    for name in options.model:
        folder = model_folder(name)
        model, tokenizer = load(folder)
        ids = [tokenizer.encode(text) for text in texts]
        measured = evaluate(
            model,
            ids,
            options.prompt,
            options.tokens,
            variants,
            contexts=options.contexts,
            last=options.last or 0,
            progress=_say,
        )
        for result in measured:
            rows.append(asdict(result) | {"model": folder.name, "text": options.text[result.text].name})
    names = ", ".join(model_folder(name).name for name in options.model)
    summary = {"model": names, "backend": backends.choose().name, "results": rows}
    terminal.show(options, summary, [_short(row) for row in rows])
    return 0


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of the table; the widest of the figures are in the JSON alone."""
    columns = ("model", "text", "context", "scheme", "calibrate", "ppl", "kld", "top1")
    sizes = ("kv_used_bytes", "packed_bytes", "raw_bytes", "statistics_bytes", "kv_fp16_bytes")
    calibrate = {"calibrate": "on" if row["calibrate"] else "off"}
    return {name: (row | calibrate)[name] for name in (*columns, *sizes)}


def _needle(options: argparse.Namespace) -> int:
    variants = _chosen(options)
    text = _read(options.text)
    from turboquant import backends
    from turboquant.needle import needle

    rows: terminal.Rows = []
    for name in options.model:
        folder = model_folder(name)
        model, tokenizer = load(folder)

        def encode(part: str, tokenizer: Any = tokenizer) -> list[int]:
            return list(tokenizer.encode(part, add_special_tokens=False))

        for recall in needle(model, encode, encode(text), options.contexts, options.depths, variants):
            rows.append({"model": folder.name} | asdict(recall))
            print(f"{recall.context} tokens, {recall.depth} %: {recall.scheme} {recall.found}", file=sys.stderr)
    summary = {"backend": backends.choose().name, "results": rows, "summary": recalls(rows)}
    terminal.show(options, summary, recalls(rows))
    if not options.json:
        print(
            f"\nAt each length {len(options.depths)} code words were asked for: how many were found, of those that the "
            "uncompressed model finds."
        )
    return 0


def _report(options: argparse.Namespace) -> int:
    from turboquant import fidelity_report
    from turboquant.fidelity_document import document

    for path in (options.out, options.data):  # before what takes an hour
        if not path.absolute().parent.is_dir():
            raise TurboQuantError(f"{path} can't be written: there is no folder {path.parent}.")
    sections = options.only.split(",") if options.only else list(fidelity_report.SECTIONS)
    if sections != ["nothing"]:
        if unknown := set(sections) - set(fidelity_report.SECTIONS):
            known = ", ".join(fidelity_report.SECTIONS)
            raise TurboQuantError(f"There is no section {', '.join(sorted(unknown))}. Valid ones: {known}.")
        texts = {path.stem: _read(path) for path in sorted(options.texts.glob("*.txt"))}
        if fidelity_report.LONG_TEXT not in texts:
            raise TurboQuantError(f"{options.texts} holds no {fidelity_report.LONG_TEXT}.txt. Give a folder that does.")
        for name in options.models:
            folder = model_folder(name)
            model, tokenizer = load(folder)
            bench = fidelity_report.Bench(folder.name, model, tokenizer, texts, _say)
            fidelity_report.measure(bench, sections, options.data)
    held = fidelity_report.read(options.data)
    fidelity_report.write(options.out, document(held["sections"]))
    terminal.show(options, held, [{"written": str(options.out)}])
    return 0


def recalls(rows: terminal.Rows) -> terminal.Rows:
    """A row a model and scheme and a column a length: code words found, of those that the uncompressed cache found."""
    table: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["model"], row["scheme"]
        line = table.setdefault(key, {"model": key[0], "scheme": key[1]})
        found, known = line.get(str(row["context"]), (0, 0))
        line[str(row["context"])] = found + (row["found"] and row["reference_found"]), known + row["reference_found"]
    return [
        {name: "{} of {}".format(*value) if isinstance(value, tuple) else value for name, value in line.items()}
        for line in table.values()
    ]


def _chosen(options: argparse.Namespace) -> list[Any]:
    """The variants that the options ask for. Raises UnknownScheme before anything is loaded."""
    schemes = [parse(name) for name in options.schemes.split(",")]
    from turboquant.segments import Policy
    from turboquant.side_by_side import Variant

    policy = Policy() if options.tail is None else replace(Policy(), tail=options.tail)
    calibrate = {"on": [True], "off": [False], "both": [True, False]}[options.calibrate]
    return [Variant(scheme, on, policy) for scheme in schemes for on in calibrate]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TurboQuantError(f"The text {path} can't be read: {terminal.why(error)}.") from error


def model_folder(name: str) -> Path:
    """The folder of a model. Raises TurboQuantError where there is none."""
    folder = _starter() if name == STARTER else Path(name)
    if not (folder / "config.json").is_file():
        raise TurboQuantError(f"{folder} holds no MLX model: config.json is missing. Give its folder, or 'starter'.")
    return folder


def load(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer. Raises TurboQuantError."""
    import mlx_lm

    try:
        return mlx_lm.load(str(folder))[:2]
    except Exception as error:  # of many kinds: whatever a damaged or unknown model folder makes mlx-lm raise
        raise TurboQuantError(f"The model in {folder} can't be loaded: {error}") from error


def _starter() -> Path:
    """The application installs the starter model and says where; the library doesn't know the application."""
    command = [sys.executable, "-m", "app.engine.starter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TurboQuantError(f"The starter model isn't available: {done.stderr.strip()}")
    return Path(done.stdout.strip().splitlines()[-1])


def _say(fed: int) -> None:
    if fed % _PROGRESS == 0:
        print(f"{fed} tokens", file=sys.stderr)


def not_negative(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _numbers(text: str) -> Sequence[int]:
    return [not_negative(part) for part in text.split(",")]
