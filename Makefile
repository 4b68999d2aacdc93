# depl: the targets are the manual. `make` or `make help` lists them.
# Needs python3 (3.11 or newer), make and a package index; every recipe is plain POSIX sh.
SHELL := /bin/sh
PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin/python
PIP := $(BIN) -m pip --disable-pip-version-check --quiet
TYPES = $(BIN) -m mypy --strict -p depl
FOLDERS := benchmarks depl docs heuristics instances models tests
# Copies of the locks that the environment was made from: they are the stamps.
RUNTIME := $(VENV)/requirements.lock
EDITABLE := $(VENV)/pyproject.toml
DEV := $(VENV)/requirements-dev.lock

# A caller's Python settings must not leak into the environment; figures need no screen.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
export MPLBACKEND ?= Agg

.DEFAULT_GOAL := help
.PHONY: help demo picture test lint style unit slow recheck slowest fuzz mutation surroundings browser docs pages numbers newest bench lock build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile
	@printf '%s\n' '' 'Variables:' \
	  '  WORKERS=2           processes of the tests' \
	  '  PYTHON=python3.12   what .venv is made with (3.11 or newer)' \
	  '  UPGRADE=--upgrade   with make lock: move the pins' \
	  'The tests of one room: .venv/bin/python -m pytest tests/models/risk'

demo: $(EDITABLE) ## make .venv if needed, then run the main job
	@$(BIN) -m depl demo

picture: $(EDITABLE) ## draw the pictures of README and docs again
	@$(BIN) -m depl.plot.gallery docs/figures

# mypy uses one core for about a tenth of the time of the tests, so it runs beside them. What it has to say
# comes last if it objects; else the last line is pytest's summary.
test: style ## ruff, mypy and the tests
	@objections=$$(mktemp); trap 'rm -f "$$objections"' EXIT; \
	$(TYPES) >"$$objections" 2>&1 & types=$$!; \
	tests=0; $(MAKE) --no-print-directory unit || tests=$$?; \
	wait $$types || { cat "$$objections"; exit 1; }; exit $$tests

lint: style ## ruff and mypy alone
	@$(TYPES)

style: $(DEV)
	@$(BIN) -m ruff check .
	@$(BIN) -m ruff format --check .

unit: $(DEV) ## the tests alone
	@$(BIN) -m pytest -n $(WORKERS) --dist worksteal

slow: $(DEV) ## the tests that take minutes, and recheck
	@$(BIN) -m pytest -n $(WORKERS) --dist worksteal -m slow
	@$(MAKE) --no-print-directory recheck

recheck: $(DEV) ## ask a minute of every recorded study again: exit code 3 if anything is answered otherwise
	@$(BIN) -m depl bench compare --workers $(WORKERS)

slowest: $(DEV) ## the tests, and how long the forty slowest take
	@$(BIN) -m pytest -n $(WORKERS) --dist worksteal --durations=40

fuzz: $(DEV) ## corrupted files of every kind to every reader (SEED=... for the same ones again)
	@$(BIN) -m pytest -n $(WORKERS) tests/checks/test_fuzz.py --hypothesis-profile=fuzz $(if $(SEED),--hypothesis-seed=$(SEED))

mutation: $(DEV) ## small faults in a room, and whether its tests notice: hours (ROOM=... SEED=... MUTANTS=...)
	@$(BIN) -m tests.checks.mutation --room $(or $(ROOM),risk) $(if $(SEED),--seed $(SEED)) $(if $(MUTANTS),--mutants $(MUTANTS))

surroundings: $(DEV) ## the tests in another order, offline, as another user, with other Pythons: hours (ONLY=...)
	@$(BIN) -m tests.checks.surroundings $(ONLY)

browser: $(DEV) ## the reports in headless Chromium (CHROMIUM=program if it is not on the path)
	@$(BIN) -m pytest -m browser

docs: $(DEV) ## the pages, into build/docs
	@$(BIN) -m sphinx -W --keep-going -b html docs build/docs

# Nine tenths of `make docs` are what modules say of themselves, and most of the rest the lessons.
pages: $(DEV) ## whether pages written by hand are in order; no lesson runs and no docstring is read
	@$(BIN) -m sphinx -W --keep-going -q -b html -t by_hand -D plot_gallery=0 docs build/pages

numbers: $(DEV) ## measured numbers in README, paper.md and pages, written from the records and attempts
	@$(BIN) docs/measured_numbers.py

# The tests lie where no package of this checkout does, so that they find the one that is installed.
# All but the one about the links of a checkout, and of the slow ones that about what HiGHS prints.
LINKS := tests/depl/test_starting.py::test_a_copy_without_symbolic_links_says_what_to_do
QUIET := tests/models/programs/test_highs.py::test_the_first_solve_of_a_process_writes_nothing
NEWEST := tests/depl/commands tests/depl/test_cli.py tests/depl/test_starting.py tests/models/programs
newest: $(DEV) ## the wheel with the newest version of every dependency: --json, outside optima, demo
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; set -e; \
	$(BIN) -m build --no-isolation --outdir "$$folder" . >"$$folder/log" || { cat "$$folder/log"; exit 1; }; \
	$(PYTHON) -m venv "$$folder/venv"; cp -R tests docs README.md pyproject.toml "$$folder"; cd "$$folder"; \
	venv/bin/python -m pip install --quiet "$$(echo depl-*.whl)[dev]"; venv/bin/python -m pip list; \
	venv/bin/depl demo; tests=0; \
	venv/bin/python -m pytest $(NEWEST) --deselect $(LINKS) || tests=$$?; \
	venv/bin/python -m pytest -m slow $(QUIET) && exit $$tests

bench: $(DEV) ## record all studies at this commit (STUDIES="a b" for some); again, to go on where it stopped
	@$(BIN) -m depl bench record $(STUDIES) --workers $(WORKERS)
	@$(BIN) -m depl bench table

build: $(DEV) ## the wheel and the source archive, into dist
	@$(BIN) -m build --no-isolation

# Only the public index may decide a hash, so settings of this machine's pip are put aside.
# Pins stay as they are; `make lock UPGRADE=--upgrade` moves them.
COMPILE := env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null \
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN) -m piptools compile --quiet --generate-hashes --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
	--allow-unsafe --all-build-deps $(UPGRADE)

lock: $(DEV) ## write both lock files again from pyproject.toml
	@$(COMPILE) --output-file requirements.lock pyproject.toml
	@$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

clean: ## remove what the other targets made
	rm -rf $(VENV) build demo dist docs/built_lessons docs/reference/rooms *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@# compiled files and kernels, and then the folders of which nothing else is left, as rooms that were renamed leave them
	find $(FOLDERS) -type d -name __pycache__ -prune -exec rm -rf {} +
	find $(FOLDERS) -depth -type d -exec rmdir {} + 2>/dev/null || true

# Not remade for a new time stamp alone (a fresh checkout), only when the lock itself changed.
$(RUNTIME): requirements.lock
	@if cmp -s requirements.lock $(RUNTIME); then touch $(RUNTIME); exit 0; fi; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "depl needs Python 3.11 or newer, and '$(PYTHON)' is not: name another one, for instance" >&2; \
	  echo "  make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }; \
	echo "Making $(VENV) from requirements.lock (once)" >&2; \
	rm -rf $(VENV); \
	$(PYTHON) -m venv $(VENV) || { \
	  echo "Python's venv module failed: on Debian or Ubuntu, install python3-venv" >&2; exit 1; }; \
	$(PIP) install --require-hashes -r requirements.lock && cp requirements.lock $(RUNTIME)

# setuptools warns that the folder depl lies beside the project's file: it is meant to.
$(EDITABLE): pyproject.toml $(RUNTIME)
	@if cmp -s pyproject.toml $(EDITABLE); then touch $(EDITABLE); exit 0; fi; \
	PYTHONWARNINGS=ignore $(PIP) install --no-deps --no-build-isolation -e . && cp pyproject.toml $(EDITABLE)

$(DEV): requirements-dev.lock $(EDITABLE)
	@if cmp -s requirements-dev.lock $(DEV); then touch $(DEV); exit 0; fi; \
	echo "Adding requirements-dev.lock to $(VENV)" >&2; \
	$(PIP) install --require-hashes -r requirements-dev.lock && cp requirements-dev.lock $(DEV)
