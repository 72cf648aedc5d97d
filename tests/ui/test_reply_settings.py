"""The settings of the replies: what is shown, what is sent, what is kept, and the profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QLocale, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app import events as ev
from app.generation import DEFAULTS, GenerationParams
from app.ui.replies.generation_fields import NumberField, SeedField, StopsField, SwitchField, TextField
from app.ui.replies.generation_panel import GenerationPanel
from tests.ui.conftest import Bench
from tests.ui.fake_engine import FakeEngine

MODEL = {"temperature": 0.6, "top_k": 20}


class Settings:
    """The card, as a person uses it."""

    def __init__(self, bench: Bench, thinking: bool | None = None) -> None:
        self.bench = bench
        model = bench.window.models.model
        assert model is not None
        bench.window.models.model = replace(model, generation=tuple(MODEL.items()), thinking=thinking)
        bench.window.models.changed.emit()
        bench.window.actions_.reply_settings.trigger()
        QApplication.processEvents()

    @property
    def panel(self) -> GenerationPanel:
        return self.bench.window.reply_settings.panel

    def type(self, name: str, text: str) -> None:
        field = self.panel.fields[name]
        if isinstance(field, TextField):
            field.text.setPlainText(text)
        elif isinstance(field, SeedField):
            field.number.setFocus()
            field.number.selectAll()
            QTest.keyClicks(field.number, text) if text else QTest.keyClick(field.number, Qt.Key.Key_Delete)
        else:
            assert isinstance(field, NumberField)
            field.number.selectAll()
            QTest.keyClicks(field.number, text)
            QTest.keyClick(field.number, Qt.Key.Key_Return)

    def menu(self) -> dict[str, Callable[[], None]]:
        self.panel.on_menu()
        return {action.text(): action.trigger for action in self.panel.profile.menu().actions() if action.text()}

    def ticked(self) -> list[str]:
        self.panel.on_menu()
        return [action.text() for action in self.panel.profile.menu().actions() if action.isChecked()]

    def sent(self) -> GenerationParams:
        self.bench.say("hello")
        command = self.bench.engine.received[-1]
        assert isinstance(command, ev.Generate)
        return command.params


@pytest.fixture
def settings(bench: Bench) -> Iterator[Settings]:
    made = Settings(bench, thinking=True)
    yield made
    if not bench.closed:
        made.panel.close_card()


def test_what_isnt_chosen_follows_the_model_and_says_so(settings: Settings) -> None:
    assert settings.sent() == replace(DEFAULTS, **MODEL)
    temperature, top_p = settings.panel.fields["temperature"], settings.panel.fields["top_p"]
    assert isinstance(temperature, NumberField)
    assert (temperature.number.value(), temperature.back.isHidden()) == (0.6, True)
    assert "Model's default" in temperature.hint
    assert "Model's default" not in top_p.hint
    settings.type("temperature", "1.25")
    assert (temperature.back.isHidden(), temperature.back.text()) == (False, "Reset to 0.60")
    temperature.back.click()
    assert (temperature.number.value(), settings.bench.chat.generation.chosen) == (0.6, {})


def test_every_field_reaches_the_engine_and_is_kept(settings: Settings, start: Callable[..., Bench]) -> None:
    panel, bench = settings.panel, settings.bench
    settings.type("system_prompt", "Be brief.\nIn French.")
    for name, text in {"temperature": "0.2", "top_p": "0.5", "top_k": "7", "min_p": "0.1", "repetition_penalty": "1.1",
                       "repetition_context": "32", "max_tokens": "99", "seed": "5"}.items():  # fmt: skip
        settings.type(name, text)
    settings.type("stop", "END\n\\n\\nUser:\n\na\\\\nb")
    switch = panel.fields["thinking"]
    assert isinstance(switch, SwitchField)
    switch.buttons[False].click()
    expected = GenerationParams(
        "Be brief.\nIn French.", 0.2, 0.5, 7, 0.1, 1.1, 32, 99, 5, ("END", "\n\nUser:", "a\\nb"), False
    )
    assert settings.sent() == expected
    name = bench.chat.current
    bench.chat.new()
    assert bench.chat.generation.chosen == {}, "a new conversation follows the model"
    bench.close()
    again = start(FakeEngine())
    again.chat.open(name)
    assert again.chat.generation.params == expected
    stops = again.window.reply_settings.panel.fields["stop"]
    assert isinstance(stops, StopsField)
    assert stops.text.toPlainText() == "END\n\\n\\nUser:\na\\\\nb"


def test_a_slider_and_its_number_are_one(settings: Settings) -> None:
    field = settings.panel.fields["top_p"]
    assert isinstance(field, NumberField)
    assert field.slider is not None
    field.slider.setValue(40)
    assert (field.number.value(), settings.bench.chat.generation.chosen) == (0.4, {"top_p": 0.4})
    settings.type("top_p", "0.9")
    assert field.slider.value() == 90


@pytest.mark.parametrize("text", ["-1", "x", "1.5", str(1 << 40), "9" * 5000])
def test_an_odd_seed_is_refused_and_what_was_there_holds(settings: Settings, text: str) -> None:
    settings.type("seed", "7")
    settings.type("seed", text)
    field = settings.panel.fields["seed"]
    assert "whole number from 0" in field.hint
    # Its first letters were a seed, so that one holds.
    assert settings.bench.chat.generation.chosen["seed"] == 7 or text[0] in "19"
    settings.type("seed", "")
    assert settings.bench.chat.generation.chosen == {}
    assert "whole number" not in field.hint


def test_too_many_stop_strings_are_refused(settings: Settings) -> None:
    settings.type("stop", "END\n  ")
    assert settings.bench.chat.generation.chosen == {"stop": ("END",)}
    settings.type("stop", "\n".join(f"stop {n}" for n in range(40)))
    assert "At most" in settings.panel.fields["stop"].hint
    assert settings.bench.chat.generation.chosen == {"stop": ("END",)}


def test_numbers_stay_within_their_range(settings: Settings) -> None:
    settings.type("temperature", "9")
    settings.type("max_tokens", "0")
    params = settings.bench.chat.generation.params
    assert 0 <= params.temperature <= 2
    assert params.max_tokens >= 1


@pytest.mark.parametrize("language", ["de_DE", "en_US"])
def test_a_number_is_read_with_a_point_and_with_a_comma(qtbot: QtBot, language: str) -> None:
    got: list[object] = []
    for name, typed, meant in (("top_p", "0.25", 0.25), ("top_p", "0,25", 0.25), ("max_tokens", "4.096", 4096),
                               ("max_tokens", "4,096", 4096)):  # fmt: skip
        field = NumberField(name, "Name", "words", None)  # type: ignore[arg-type]
        qtbot.addWidget(field)
        field.number.setLocale(QLocale(language))
        field.chosen.connect(lambda _, value: got.append(value))
        field.number.selectAll()
        QTest.keyClicks(field.number, typed)
        QTest.keyClick(field.number, Qt.Key.Key_Return)
        assert got[-1] == meant


def test_thinking_is_there_only_where_it_can_be_switched(bench: Bench) -> None:
    settings = Settings(bench, thinking=None)
    assert settings.panel.fields["thinking"].isHidden()
    settings.panel.close_card()
    settings = Settings(bench, thinking=False)
    switch = settings.panel.fields["thinking"]
    assert isinstance(switch, SwitchField)
    assert (switch.isHidden(), switch.buttons[False].isChecked()) == (False, True)
    settings.panel.close_card()


def test_while_a_reply_is_written_it_says_when_changes_hold(settings: Settings) -> None:
    bench = settings.bench
    bench.engine.hold = True
    bench.type("hello")
    bench.composer.on_submitted()
    assert "from the next one on" in settings.panel._now.text()
    settings.type("temperature", "0.3")
    assert bench.engine.received[-1].params.temperature == 0.6
    bench.engine.hold = False
    bench.rest()
    assert "from the next one on" not in settings.panel._now.text()
    assert settings.sent().temperature == 0.3


def test_settings_belong_to_their_conversation(settings: Settings) -> None:
    bench = settings.bench
    settings.type("temperature", "0.3")
    bench.say("hello")
    one = bench.chat.current
    bench.chat.new()
    bench.say("other")
    assert bench.engine.received[-1].params.temperature == 0.6
    bench.chat.open(one)
    assert bench.chat.generation.params.temperature == 0.3
    assert bench.chat.generation.params_of(bench.library.conversations()[0].id).temperature in (0.3, 0.6)


def test_a_message_that_moves_to_a_new_conversation_takes_the_settings_along(start: Callable[..., Bench]) -> None:
    bench = start(FakeEngine(context=64))
    bench.say("first")
    bench.chat.generation.set("system_prompt", "Be brief.")
    one = bench.chat.current
    bench.say("word " * 80)
    bench.engine.context = 8192
    bench.chat.choices.on_move_to_new()
    bench.rest()
    assert bench.chat.current != one
    assert bench.engine.received[-1].params.system_prompt == "Be brief."
    assert bench.library.generation(bench.chat.current) == bench.library.generation(one)


def test_profiles_are_made_applied_changed_renamed_and_deleted(settings: Settings) -> None:
    panel, generation = settings.panel, settings.bench.chat.generation
    settings.type("temperature", "0.3")
    settings.menu()["Save as a new profile…"]()
    for blank in ("  ", "\u200b\u2060"):
        panel.name.setText(blank)
        assert not panel.save.isEnabled()
    panel.name.setText("Calm")
    QTest.keyClick(panel.name, Qt.Key.Key_Return)
    assert (panel.profile.text(), settings.ticked()) == ("Calm", ["Calm"])
    settings.type("temperature", "0.4")
    assert panel.profile.text() == "Calm (changed)"
    settings.menu()["Save the changes to “Calm”"]()
    settings.menu()["No profile: as the model has it"]()
    assert (panel.profile.text(), generation.chosen) == ("No profile", {})
    settings.menu()["Calm"]()
    assert generation.chosen == {"temperature": 0.4}
    settings.menu()["Rename “Calm”…"]()
    panel.name.setText("Quiet & calm")
    panel.save.click()
    assert [profile.name for profile in generation.profiles] == ["Quiet & calm"]
    settings.menu()["Save as a new profile…"]()
    panel.name.setText("QUIET & CALM")
    assert not panel.save.isEnabled()
    assert "There is a profile of that name" in panel._now.text()
    panel.on_naming_over()
    settings.menu()["New conversations begin with “Quiet && calm”"]()
    settings.bench.chat.new()
    assert generation.chosen == {"temperature": 0.4}
    settings.type("top_k", "2")
    settings.menu()["Save the changes to “Quiet && calm”"]()
    settings.bench.chat.new()
    assert generation.chosen == {"temperature": 0.4, "top_k": 2}
    settings.menu()["Delete “Quiet && calm”"]()
    assert (generation.profiles, generation.for_new) == ([], {})
    assert generation.chosen == {"temperature": 0.4, "top_k": 2}, "the conversation keeps its settings"
    assert [text for text in settings.bench.window.notices.texts() if "is deleted" in text]


def test_the_card_stays_when_what_has_the_focus_in_it_goes(settings: Settings) -> None:
    """A name that is saved or given up, a field that is reset: the focus goes on inside."""
    panel = settings.panel
    settings.bench.window.activateWindow()
    for leave in (panel.name, panel.save, panel.name.parentWidget().findChildren(QPushButton)[-1]):
        settings.menu()["Save as a new profile…"]()
        panel.name.setText(f"Name {leave.text()}")
        leave.setFocus()
        QTest.keyClick(leave, Qt.Key.Key_Return if leave is panel.name else Qt.Key.Key_Space)
        QApplication.processEvents()
        assert not panel.name.isVisible()
        assert panel.isVisible()
        assert panel.profile.hasFocus()
    settings.type("temperature", "0.3")
    field = panel.fields["temperature"]
    field.back.setFocus()
    QTest.keyClick(field.back, Qt.Key.Key_Space)
    assert not field.back.isVisible()
    assert panel.isVisible()
    assert field.isAncestorOf(QApplication.focusWidget())


def test_the_card_opens_at_its_top(settings: Settings) -> None:
    settings.bench.window.resize(800, 500)
    settings.panel.close_card()
    settings.bench.window.actions_.reply_settings.trigger()
    QApplication.processEvents()
    bar = settings.panel._scroll.verticalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(bar.maximum())
    settings.panel.close_card()
    settings.bench.window.actions_.reply_settings.trigger()
    QApplication.processEvents()
    assert bar.value() == 0


def test_a_deleted_profile_comes_back_as_it_was(settings: Settings) -> None:
    generation = settings.bench.chat.generation
    settings.type("top_k", "3")
    generation.save_as("Calm")
    generation.begin_with("Calm")
    (profile,) = generation.profiles
    generation.delete("Calm")
    assert generation.for_new == {}
    generation._bring_back(profile)
    assert (generation.profiles, generation.for_new) == ([profile], {"top_k": 3})


def test_the_profile_for_new_conversations_outlives_the_program(start: Callable[..., Bench]) -> None:
    bench = start()
    bench.chat.generation.set("max_tokens", 50)
    bench.chat.generation.save_as("Short")
    bench.chat.generation.begin_with("Short")
    bench.close()
    again = start(FakeEngine())
    assert again.chat.generation.params.max_tokens == 50
    again.say("hello")
    assert again.engine.received[-1].params.max_tokens == 50
    assert again.library.generation(again.chat.current) == {"max_tokens": 50}


def test_the_card_closes_with_escape_a_press_elsewhere_and_when_the_focus_leaves(settings: Settings) -> None:
    bench, panel = settings.bench, settings.panel
    bench.engine.hold = True
    bench.type("hello")
    bench.composer.on_submitted()
    QTest.keyClick(panel.fields["system_prompt"].text, Qt.Key.Key_Escape)  # type: ignore[attr-defined]
    assert panel.isHidden()
    assert bench.chat.generating, "Escape was the card's"
    bench.engine.hold = False
    bench.rest()
    button = bench.composer.settings
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.isVisible()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.isHidden(), "its button closes it too"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QTest.mouseClick(bench.transcript.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert panel.isHidden()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    bench.window.sidebar.search.setFocus()
    assert panel.isHidden()


@pytest.mark.parametrize("size", [(640, 420), (1280, 800), (1800, 1200)])
def test_the_card_stays_inside_the_window(bench: Bench, size: tuple[int, int]) -> None:
    bench.window.resize(*size)
    QApplication.processEvents()
    settings = Settings(bench, thinking=True)
    inner = settings.panel.geometry().marginsRemoved(settings.panel.contentsMargins())
    assert bench.window.rect().contains(inner)
    assert inner.height() > 250
    settings.panel.close_card()


def test_a_models_notice_about_its_format_is_said_once(bench: Bench) -> None:
    model = bench.window.models.model
    assert model is not None
    base = replace(model, format_notice="This is a base model.")
    for _ in range(2):
        bench.engine.event_emitted.emit(ev.ModelLoaded(base, (), 0.1))
    assert bench.window.notices.texts().count("This is a base model.") == 1
    bench.engine.event_emitted.emit(ev.ModelLoaded(model, (), 0.1))
    assert "This is a base model." not in bench.window.notices.texts()


def test_damaged_settings_are_the_models(bench: Bench) -> None:
    bench.say("hello")
    bench.library._db.execute('UPDATE conversations SET generation = \'{"temperature": "hot", "top_k": 4}\'')
    name = bench.chat.current
    bench.chat.new()
    bench.chat.open(name)
    assert bench.chat.generation.chosen == {"top_k": 4}
