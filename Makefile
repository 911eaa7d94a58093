# Every target makes .venv itself if it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint format bench bench-solver bench-greedy clean help

help:                ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("neurobo needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	@echo "installing neurobo and its development tools into .venv (about a minute) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY)       ## optimise a real problem and print the best point
	$(BIN)/neurobo demo

test: $(READY)       ## lint, types and the default tests
	$(BIN)/python -m pytest -n 2

lint: $(READY)       ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)     ## let ruff rewrite the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-solver bench-greedy  ## every benchmark (an hour or two)

bench-solver: $(READY)  ## Gauss-Newton against Adam
	$(BIN)/python benchmarks/solver.py

bench-greedy: $(READY)  ## Neural Greedy on the paper's noiseless set
	$(BIN)/python benchmarks/greedy_table.py

clean:               ## remove what the other targets made
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist results src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
