# Everything runs in .venv, which is made on first use; `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two workers: the tests are independent, and compiled kernels are shared through the cache.
PYTEST := $(BIN)/python -m pytest -n 2

.DEFAULT_GOAL := help
.PHONY: help setup demo browser screenshots test test-all check format lint types docs bench bench-peers paper clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("adtc needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(READY) ## make .venv with everything that development needs

demo: $(READY) ## profile, cross-table, front, trees and report of a bundled table, into demo/
	$(BIN)/adtc demo -o demo

browser: ## install Debian's chromium for the browser tests, where that is possible
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

lint: $(READY) ## check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY) ## check types
	$(BIN)/mypy

docs: $(READY) ## build the documentation, warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: $(READY) ## measure our own speed, and put it into the documentation
	@mkdir -p benchmarks/results
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=min,median,max,rounds --benchmark-sort=fullname --benchmark-json=benchmarks/results/own.json -q
	$(BIN)/python benchmarks/page.py benchmarks

bench-peers: $(READY) ## measure it beside other tools, installed into .venv-peers
	$(BIN)/python benchmarks/peers.py; code=$$?; $(BIN)/python benchmarks/page.py benchmarks && exit $$code

# COMPAS is not bundled; give another place as `make paper COMPAS=PATH`.
COMPAS ?= $(wildcard ../shared/data/compas/cox-violent-parsed_filt.csv)

paper: $(READY) ## run the paper's experiments, and put them into the documentation
	$(BIN)/adtc paper -o out/paper $(if $(COMPAS),--compas $(COMPAS))
	$(BIN)/python benchmarks/page.py paper out/paper

check: lint types test docs ## all that must be green before a commit lands

clean: ## remove what was built
	rm -rf $(VENV) docs/_build docs/reference/generated dist .pytest_cache .mypy_cache .ruff_cache
