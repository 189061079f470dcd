# Everything runs in .venv, which is made on first use; `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
SOURCES := $(wildcard src/core/*.h src/core/*.cpp src/core/bind/*)
CORE := CMakeLists.txt $(SOURCES)
# Two workers: the tests are independent.
PYTEST := $(BIN)/python -m pytest -n 2

.DEFAULT_GOAL := help
.PHONY: help setup demo browser screenshots test test-all check format lint types docs bench limits bench-rows bench-against bench-startup bench-peers paper stub sanitize clean bench-forecasts fuzz mutants same-answer coverage bench-large

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("adtc needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py dev)
	@touch $(INSTALLED)

# The native core: only what has changed is compiled again.
$(READY): $(INSTALLED) $(CORE)
	$(BIN)/python tools/build_core.py
	@touch $@

setup: $(READY) ## make .venv with everything that development needs

demo: $(READY) ## profile, cross-table, front, trees and report of a bundled table, into demo/
	$(BIN)/adtc demo -o demo

browser: ## install Debian's chromium and poppler-utils for the browser tests, if possible
	@tools/browser.sh

test: $(READY) browser ## run the tests, the README and the documentation's examples
	$(PYTEST) -m "not slow"

test-all: $(READY) browser ## run the slow tests too
	$(PYTEST)

screenshots: $(READY) browser ## take the stored pictures of dashboard and report anew, and the README's
	ADTC_REFRESH_SCREENSHOTS=1 $(BIN)/python -m pytest -q -k looks_as_stored tests/dashboard tests/show
	$(BIN)/python tools/picture.py docs/dashboard.png

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/clang-format -i $(SOURCES)

lint: $(READY) ## check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)

types: $(READY) ## check types
	$(BIN)/mypy

docs: $(READY) ## build the documentation, warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: $(READY) ## measure our own speed, and put it into the documentation
	@mkdir -p benchmarks/results
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=min,median,max,rounds --benchmark-sort=fullname --benchmark-json=benchmarks/results/own.json -q
	$(BIN)/python benchmarks/page.py benchmarks

REV ?= HEAD~1
same-answer: $(READY) ## print one answer from threads, workers, and a run killed and resumed
	$(BIN)/python benchmarks/same_answer.py

limits: $(READY) ## ask five questions that are too large, within limits; print what they took
	$(BIN)/python benchmarks/limits.py

bench-rows: ROWS ?= 1000000
bench-rows: $(READY) ## load ROWS rows in batches, and print rows per second and peak memory
	$(BIN)/python benchmarks/rows.py --rows $(ROWS)

coverage: $(READY) ## see how often intervals cover and brackets hold, over 1,000 repetitions each
	$(BIN)/python benchmarks/coverage.py

bench-forecasts: $(READY) ## forecast questions, answer them, and print both
	$(BIN)/python benchmarks/forecasts.py

bench-large: $(READY) ## ask deep and wide questions, other tools too; print what they took
	$(BIN)/python benchmarks/large.py; code=$$?; $(BIN)/python benchmarks/page.py benchmarks && exit $$code

bench-against: $(READY) ## ask this version and REV=commit the same questions in turn; print ratios
	$(BIN)/python tools/bench_against.py $(REV)
	$(BIN)/python benchmarks/page.py benchmarks

bench-startup: $(READY) ## measure a first question, a whole command and the build
	$(BIN)/python benchmarks/startup.py --build
	$(BIN)/python benchmarks/page.py benchmarks

bench-peers: $(READY) ## measure it beside other tools, installed into .venv-peers
	$(BIN)/python benchmarks/peers.py; code=$$?; $(BIN)/python benchmarks/page.py benchmarks && exit $$code

# COMPAS is not bundled; give another place as `make paper COMPAS=PATH`.
COMPAS ?= $(wildcard ../shared/data/compas/cox-violent-parsed_filt.csv)

paper: $(READY) ## run the paper's experiments, and put them into the documentation
	$(BIN)/adtc paper -o out/paper $(if $(COMPAS),--compas $(COMPAS))
	$(BIN)/python benchmarks/page.py paper out/paper

check: lint types test docs ## all that must be green before a commit lands

stub: $(READY) ## write the typed stub of the native core anew
	$(BIN)/python tools/stub.py

sanitize: $(READY) ## run the core's tests with every access and operation checked
	$(BIN)/python tools/sanitize.py

# Less than a million inputs (COUNT=20000) or some time (SECONDS=120) leave the record as it is; SEED=2 makes others.
fuzz: $(READY) ## try a million broken inputs, and put the record into the documentation
	$(BIN)/python tools/fuzz $(if $(SEED),--seed $(SEED)) $(if $(COUNT)$(SECONDS),$(if $(COUNT),--count $(COUNT)) $(if $(SECONDS),--seconds $(SECONDS)),--record)

mutants: $(READY) ## break every optimisation on purpose; a named test must notice each (ONLY=words)
	$(BIN)/python tools/mutants.py $(ONLY) --record

clean: ## remove what was built
	rm -rf $(VENV) build docs/_build docs/reference/generated dist .pytest_cache .mypy_cache .ruff_cache
