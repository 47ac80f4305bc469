# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench format clean

# Set up the runtime (no torch) and grade a real sample with the default model.
demo: $(VENV)/.demo
	@$(BIN)/smile-lite score smile_lite/sample.jsonl --format table

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA)) $(if $(WRITE),--write)

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "smile-lite needs Python 3.11 or newer: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[convert]'
	@touch $@

$(VENV)/.dev: $(VENV)/.demo pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[convert,lemmas,parquet,dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
