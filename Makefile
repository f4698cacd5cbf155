# One virtual environment, made once and again when the requirements change.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test test-polars1 lint bench clean

install: .venv/.installed

.venv/.installed: requirements.txt tests/requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 install")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r tests/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

demo: install
	$(BIN)/python -m kit demo

test: install
	$(BIN)/python -m pytest -n 2

# Kaggle's image may carry polars 1.x: the same tables, the same tests.
test-polars1: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target build/polars1 'polars>=1.20,<2'
	KIT_POLARS1=build/polars1 $(BIN)/python -m pytest tests/test_polars_versions.py

lint: install
	$(BIN)/ruff check .

bench: install
	$(BIN)/python -m kit.bench

# What install, tests and builds made; data, runs and submissions are yours, and may have taken hours.
clean:
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache .hypothesis
