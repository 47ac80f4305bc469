# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
VENV_EXPORT ?= .venv-export
BIN := $(VENV)/bin
PIP_INSTALL := pip install --quiet --disable-pip-version-check
# A wheel of llama-cpp-python that runs on other machines than the one it was built on.
LLAMA := -DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON

.PHONY: demo test test-export check bench format clean

# Set up the runtime (no torch), make synthetic answers (with the default generator where llama.cpp is installed, else
# with the template) and grade a real sample with the default model.
demo: $(VENV)/.demo
	@$(BIN)/smile-lite prepare smile_lite/sample.jsonl -o build/sample.prepared --generator auto --force
	@$(BIN)/smile-lite score smile_lite/sample.jsonl --prepared build/sample.prepared --format table

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# The export toolchain has an environment of its own: torch is there, and nowhere else.
test-export: $(VENV_EXPORT)/.ready
	$(VENV_EXPORT)/bin/python -m pytest tests_export

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@mkdir -p build/types && ln -sfn ../../export build/types/smile_lite_export
	$(BIN)/mypy
	$(BIN)/mypy -p smile_lite_export

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
	$(BIN)/$(PIP_INSTALL) -e '.[convert]'
	@touch $@

$(VENV)/.dev: $(VENV)/.demo pyproject.toml
	$(BIN)/$(PIP_INSTALL) -e '.[convert,lemmas,parquet,openai,bench,dev]'
	@touch $@

$(VENV_EXPORT)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "smile-lite needs Python 3.11 or newer: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV_EXPORT)
	case "$$(uname -m)" in x86_64) CMAKE_ARGS="$(LLAMA)";; *) CMAKE_ARGS=-DGGML_NATIVE=OFF;; esac; \
		export CMAKE_ARGS; $(VENV_EXPORT)/bin/$(PIP_INSTALL) -e '.[export,generate,openai,bench,lemmas]' \
		'llama-cpp-python[server]==0.3.36' pytest
	@touch $@

clean:
	rm -rf $(VENV) $(VENV_EXPORT) build dist *.egg-info
