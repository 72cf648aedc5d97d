# Every target sets up what it needs first; a second run starts at once.
PYTHON ?= python3
PY := .venv/bin/python
SETUP = @command -v $(PYTHON) >/dev/null || { echo "Python 3.11 to 3.13 is needed: no $(PYTHON) was found."; exit 1; }; \
	$(PYTHON) packaging/setup_env.py

.PHONY: run demo test test-slow test-long test-bundle lint bundle preview translations bench screenshots

run:  ## the window; without a display, the scripted chat with its pictures and numbers in demo/
	$(SETUP) --starter
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then exec $(PY) -m app; \
	else exec $(PY) -m app --demo demo/; fi

demo:  ## the scripted chat
	$(SETUP) --starter
	@$(PY) -m app --demo demo/

test:
	$(SETUP) --extras dev
	@$(PY) -m pytest

test-slow:  ## what takes more than seconds
	$(SETUP) --extras dev
	@$(PY) -m pytest -m slow

test-long:  ## what takes minutes: every scheme on every family, quality on every text, a real GGUF file, a Mac's program
	$(SETUP) --extras bundle,dev,preview
	@$(PY) -m pytest -m long

lint:
	$(SETUP) --extras dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports

bundle:  ## this platform's program to be given away, in dist/
	$(SETUP) --extras bundle
	@$(PY) packaging/bundle.py
	@if [ "$$(uname)" = Darwin ]; then packaging/macos/build_app.sh; fi

test-bundle: bundle  ## the program in dist/ as a person has it
	$(SETUP) --extras bundle,dev
	@$(PY) -m pytest -m bundle -n 0

preview:  ## a Mac's program, assembled and checked on Linux; nobody has started it
	$(SETUP) --starter --extras bundle,preview
	@$(PY) packaging/macos/assemble.py

translations:  ## what Qt's tools read from what the window and the layers below it say; for whoever has changed a sentence
	$(SETUP) --extras dev
	@$(PY) packaging/translations.py

bench:
	$(SETUP) --starter
	@$(PY) -m turboquant bench

screenshots:  ## every page in its states, light and dark, in screenshots/
	$(SETUP) --starter --extras dev
	@$(PY) -m tests.ui.screenshots screenshots
