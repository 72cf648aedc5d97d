"""Reply settings, files and counts in the window with the real engine: a tiny model, and the starter for depth."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app import attachments
from app.attachments import Attachment
from tests.engine_kit import load_tokenizer, make_model
from tests.ui.test_real_engine import Running

TEXT = (
    "The harbour town lay quiet in the morning. Boats came in with the tide, and the fishermen sold herring on the "
    "quay. Anna kept the lighthouse, and each evening she wrote the name of every ship into a blue book. "
) * 3


def again(running: Running) -> str:
    """The last message, answered once more."""
    running.window.chat.choices.on_retry()
    running.until(lambda: not running.window.chat.generating)
    return running.replies()[-1].source()


def test_settings_reach_the_reply_and_counts_come_beside_it(
    qtbot: QtBot, turboquant_home: Path, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "tiny")
    (folder / "generation_config.json").write_text('{"temperature": 0.9, "top_k": 50}')
    running = Running(qtbot, folder)
    composer, generation = running.window.composer, running.window.chat.generation
    generation.apply({"temperature": 0.8, "seed": 7, "max_tokens": 30})
    assert generation.params.top_k == 50, "the model's own, beside what the user has chosen"
    first = running.say("hello the hello " * 30).source()
    assert again(running) == first
    stop = next(letter for letter in first[5:] if letter.isascii() and letter.isalpha())
    generation.set("stop", (stop,))
    assert again(running) == first[: first.index(stop)]
    generation.apply({"max_tokens": 3000})
    composer.set_content("go on")
    composer.on_submitted()
    note = Attachment("note.txt", "hello " * 40)
    composer.files.add(note)
    composer.edit.setPlainText("the hello")
    tokenizer = load_tokenizer(folder)
    tokens = sum(len(tokenizer.encode(text)) for text in (attachments.block(note), "the hello"))
    running.until(lambda: composer.note.startswith(f"{tokens} tokens"))
    assert running.window.chat.generating, "it was counted in the midst of the reply"
    running.window.chat.stop()
    running.until(lambda: not running.window.chat.generating)
    running.quit()


def test_another_system_prompt_begins_the_curve_anew_also_after_a_restart(
    qtbot: QtBot, turboquant_home: Path, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "tiny")
    running = Running(qtbot, folder)
    running.say("hello the hello " * 30)
    running.pick("turbo2")
    running.say("and then")
    before = running.window.panel.chart.history
    assert len(before.markers) == 1
    assert before.points[0].scheme == "turbo4"
    running.window.chat.generation.set("system_prompt", "the hello hello")
    running.say("and now")
    history = running.window.panel.chart.history
    points = [(p.tokens, p.used_bytes, p.scheme) for p in history.points]
    assert points[0] == (0, 0, "turbo2")
    assert {scheme for _, _, scheme in points} == {"turbo2"}
    assert history.markers == []
    assert running.window.panel.value("context") == running.window.composer.note.removeprefix("Context ")
    running.quit()
    again = Running(qtbot, folder)
    again.until(lambda: not again.engine.busy)
    stored = again.window.panel.chart.history
    assert {(p.tokens, p.used_bytes, p.scheme) for p in stored.points} <= set(points)
    assert (stored.points[0].tokens, stored.points[-1].tokens) == (0, points[-1][0])
    assert stored.markers == []
    again.quit()


@pytest.mark.slow
def test_five_turns_with_the_starter(qtbot: QtBot, turboquant_home: Path, starter_model_path: Path) -> None:
    """Under a system prompt, with a file: only what is new is read, and the seed says the same again."""
    running = Running(qtbot, starter_model_path)
    generation, composer = running.window.chat.generation, running.window.composer
    generation.apply({"system_prompt": "Answer in one short sentence.", "seed": 3, "max_tokens": 16,
                      "repetition_penalty": 1.1, "stop": ("lighthouse keeper",)})  # fmt: skip
    composer.files.add(Attachment("town.txt", TEXT))
    for number in range(5):
        composer.edit.setPlainText(f"Question {number}: who kept the lighthouse?")
        composer.on_submitted()
        running.until(lambda: not running.window.chat.generating)
        figures = running.replies()[-1].figures.split("reused ")[1].split(" ")
        reused, prompt = int(figures[0]), int(figures[2])
        assert reused > 0 if number else reused == 0
        assert not number or prompt - reused < 40
    last = running.replies()[-1].source()
    assert again(running) == last
    generation.reset("seed")
    generation.set("temperature", 2.0)
    assert again(running) != last
    running.quit()
