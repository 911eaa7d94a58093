"""Importing neurobo is light and leaves the host program's settings alone."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _run(program: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_import_loads_nothing_heavy() -> None:
    shown = _run("import neurobo; neurobo.__version__; dir(neurobo)", "-X", "importtime")
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in shown.splitlines()}
    assert "neurobo" in loaded
    assert not loaded & {"jax", "jaxlib", "optuna", "scipy", "numpy", "optax", "rich", "pydantic"}


SETTINGS = """
import json, logging, os, sys, threading, warnings
import jax, optuna, numpy, optax
import scipy.optimize, scipy.spatial, scipy.stats  # SciPy adds warning filters when it is imported

def settings():
    loggers = {n: (l.level, [type(h).__name__ for h in l.handlers], l.propagate)
               for n, l in sorted(logging.root.manager.loggerDict.items())
               if isinstance(l, logging.Logger) and not n.startswith("jax._src")}
    return json.dumps([
        {k: str(v) for k, v in sorted(jax.config.values.items())},
        [str(f) for f in warnings.filters],
        logging.root.level, [type(h).__name__ for h in logging.root.handlers],
        optuna.logging.get_verbosity(),
        dict(numpy.geterr()),
        dict(os.environ),
        threading.active_count(),
        str(jax.numpy.ones(1).dtype),
        sys.getrecursionlimit(), sys.excepthook.__name__,
    ]), loggers

before, loggers = settings()
import neurobo
[getattr(neurobo, name) for name in neurobo.__all__]
WORK
after, loggers_after = settings()
assert before == after, (before, after)
assert all(loggers_after[n] == v for n, v in loggers.items())
"""


def test_importing_everything_changes_no_setting() -> None:
    _run(SETTINGS.replace("WORK", ""))


def test_working_changes_no_setting() -> None:
    work = "neurobo.suggest([(0, 1)], [([i / 9], i * 1.0) for i in range(7)], seed=0)"
    program = SETTINGS.replace("WORK", work).replace("        threading.active_count(),\n", "")
    _run(program)


def test_jax_users_keep_their_precision_in_the_objective() -> None:
    program = """
import jax.numpy as jnp, neurobo
seen = set()
def f(x):
    seen.add(str(jnp.sum(jnp.ones(2)).dtype))
    return float(x[0])
neurobo.minimize(f, [(0, 1)], 7, seed=0, progress=False)
assert seen == {"float32"}, seen
"""
    _run(program)


@pytest.mark.slow
def test_blas_has_its_threads_back_after_overlapping_suggestions() -> None:
    program = """
import concurrent.futures, jax, scipy.linalg, neurobo
from threadpoolctl import ThreadpoolController, threadpool_limits
threads = lambda: [lib["num_threads"] for lib in ThreadpoolController().info()]
def suggest(i):
    return neurobo.suggest([(0, 1)], [([i / 9], i * 1.0) for i in range(7)], n=3, seed=i)
with threadpool_limits(2):
    before = threads()
    suggest(0)
    assert threads() == before
before = threads()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(suggest, range(8)))
assert threads() == before, (before, threads())
"""
    _run(program)


def test_functions_keep_their_names_when_their_files_are_imported() -> None:
    program = """
import neurobo.suggestion, neurobo.running.minimisation, neurobo.algorithm.neural_greedy
assert neurobo.suggest.__name__ == "suggest" and callable(neurobo.suggest)
assert neurobo.minimize.__name__ == "minimize" and callable(neurobo.minimize)
assert "auto" in neurobo.algorithms()
try:
    neurobo.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError
"""
    _run(program)
