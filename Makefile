# Every target makes .venv itself if it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH := .venv/.ready-bench
DOCS := .venv/.ready-docs
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-quick durations hebo test-slow test-faults test-cluster test-cluster-small test-peers test-wheel test-versions test-optunahub docs lint format bench bench-solver bench-smoke bench-cold bench-latency bench-papers scoreboard clean help

help:                ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("neurobo needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	@echo "installing neurobo and its development tools into .venv (about a minute) ..."
	$(PIP) -e '.[dev]'
	@touch $(READY)

# Torch first and in this build: a plain `torch` pulls gigabytes of CUDA libraries.
$(BENCH): $(READY)
	@echo "installing the benchmark suite's peers into .venv (a few minutes) ..."
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev,bench]'
	@touch $(BENCH)

$(DOCS): $(READY)
	$(PIP) -e '.[dev,docs]'
	@touch $(DOCS)

demo: $(READY)       ## optimise a real problem and print the best point
	$(BIN)/neurobo demo

# A file's tests meet in one process: they share what is compiled, and fixtures of a module.
WHOLE_FILES := -n 2 --dist loadfile --no-loadscope-reorder

test: $(READY)       ## lint, types and the default tests (15 minutes of processor time, about eight on two cores)
	$(BIN)/python -m pytest $(WHOLE_FILES)

test-quick: $(READY)  ## lint, types and the tests that take little time, of every part (a minute and a half)
	$(BIN)/python -m pytest $(WHOLE_FILES) --quick

durations: $(READY)  ## measure which tests `make test-quick` leaves out (a quarter of an hour)
	$(BIN)/python -m pytest $(WHOLE_FILES) --stopwatch

test-peers: $(BENCH)  ## the tests that need the bench extra: real peers, COCO, simulators
	$(BIN)/python -m pytest -n 2 -m peers

test-slow: $(READY)  ## statistics and long runs, of every algorithm (half an hour of processor time)
	$(BIN)/python -m pytest -n 2 -m slow

test-faults: $(READY)  ## fleets killed and restarted, state machines, fuzzing (most of an hour; PostgreSQL)
	$(BIN)/python -m pytest -n 0 -s -m faults tests/faults

# Engines and drivers; about 500 MB, most of it Ray.
.venv/.ready-cluster: $(READY)
	@echo "installing Ray, Dask, submitit and drivers into .venv (a minute) ..."
	$(PIP) -e '.[dev,ray,dask,slurm,postgres,mysql,redis,grpc]'
	@touch $@

# Ray leaves files open when it ends.
CLUSTER := -n 0 -s -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

test-cluster: .venv/.ready-cluster  ## Ray, Dask, Slurm's jobs, databases (a quarter of an hour; servers)
	$(BIN)/python -m pytest $(CLUSTER) -m cluster tests/cluster

test-cluster-small: .venv/.ready-cluster  ## the small part of test-cluster (some minutes)
	$(BIN)/python -m pytest $(CLUSTER) -m 'cluster and not slow' tests/cluster

test-wheel: $(READY)  ## build the packages and follow README and quickstart in an empty environment
	$(BIN)/python tests/wheel.py

test-versions: $(READY)  ## newest and oldest dependencies on the Pythons that are here (ten minutes)
	$(BIN)/python tests/versions.py $(PYTHONS)

test-optunahub: $(READY)  ## load and run the package of contrib/optunahub
	$(PIP) optunahub
	$(BIN)/python -m pytest -n 0 tests/test_optunahub.py

docs: $(DOCS)        ## build the site into build/site and check it: links, anchors, API, no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tests/site.py

lint: $(READY)       ## ruff, mypy and the contracts of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)     ## let ruff rewrite the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-solver bench-papers  ## every benchmark (days)

bench-solver: $(READY)  ## Gauss-Newton against Adam
	$(BIN)/python benchmarks/solver.py

bench-smoke: $(READY)  ## two minutes: small runs, compared with the stored reference
	rm -rf results/smoke-now
	$(BIN)/neurobo bench run smoke --folder results/smoke-now --jobs 2
	$(BIN)/neurobo bench compare benchmarks/reference/smoke results/smoke-now --level 0.01

# HEBO pins packages that no other peer can live with; about 2 GB and three minutes.
.venv-hebo/.ready:
	$(PYTHON) -m venv .venv-hebo
	.venv-hebo/bin/python -m pip install --quiet --disable-pip-version-check HEBO==0.3.6 torch==2.13.0 \
	    numpy==1.24.4 'scipy<1.13' 'pandas<2.3' 'scikit-learn<1.5' 'matplotlib<3.9' 'GPy<1.14' \
	    'gpytorch<1.15' 'autograd<1.7' 'contourpy<1.3' 'setuptools<80'
	@touch $@

hebo: .venv-hebo/.ready  ## an environment for HEBO; use it by NEUROBO_HEBO_PYTHON
	@echo "export NEUROBO_HEBO_PYTHON=$(CURDIR)/.venv-hebo/bin/python"

bench-cold: $(BENCH)  ## seconds from the start of a process to its suggestions, ours and others' (an hour)
	$(BIN)/python benchmarks/cold_start.py

bench-latency: $(BENCH)  ## seconds and memory of a suggestion from 50 to 10,000 observations (an hour)
	$(BIN)/python benchmarks/latency.py

bench-papers: $(BENCH)  ## run what docs/papers.md shows (days, resumable) and write it again
	$(BIN)/python benchmarks/papers.py

scoreboard: $(BENCH) ## run what docs/scoreboard.md shows (many hours, resumable) and write it again
	$(BIN)/python benchmarks/scoreboard.py --run

clean:               ## remove what the other targets made
	rm -rf .venv .venv-hebo .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist results src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
