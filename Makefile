# `make demo` and `make test` set everything up by themselves; nothing outside this folder is touched.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: demo test lint setup clean

demo: setup
	$(BIN)/tritonsmith run configs/demo.toml

test: setup lint
	$(BIN)/pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) runs build dist *.egg-info .pytest_cache .ruff_cache
