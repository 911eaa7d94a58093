"""Shapes and types in the signatures of the numeric core are checked while the tests run.

The shells are left out: what they refuse, they refuse with their own errors, which the tests check.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from typecheck import begin_anew, check_shapes_and_types

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = (
    "data",
    "networks",
    "training",
    "surrogates",
    "physics",
    "acquisition",
    "search",
    "algorithm",
)
LEFT_OUT = dict.fromkeys(
    ("neurobo.algorithm.registry", "neurobo.physics.pde", "neurobo.search.initial_design"),
    "it refuses wrong arguments of users by its own errors",
) | {"neurobo.data.content_cache": "it takes anything, and an eighth of all checks would be there"}


def _checked() -> list[str]:
    """The names of all modules in the rooms of the numeric core."""
    files = (path for room in ROOMS for path in (SOURCE / "neurobo" / room).rglob("*.py"))
    names = (".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in files)
    return [name for name in names if name not in LEFT_OUT and not name.endswith("__init__")]


check_shapes_and_types(_checked())  # before anything imports neurobo

# Two test processes and all that they start share what XLA has compiled.
os.environ.setdefault("NEUROBO_CACHE", str(Path(__file__).parents[1] / ".cache/programs"))
os.environ.setdefault("NEUROBO_CACHE_MB", "1000")

# Thousands of small functions that JAX compiles for a single call; the package's own programs have
# options of their own, which these do not change.
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
    ]
).strip()

# A shell starts background jobs deaf to Ctrl-C, and all that they start; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import durations  # noqa: E402
import hypothesis  # noqa: E402
import jax  # noqa: E402
import optuna  # noqa: E402
import pytest  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)

# The same examples in every run; `pytest --hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", derandomize=False, deadline=None)
hypothesis.settings.load_profile("fixed")


@pytest.fixture(scope="module", autouse=True)
def _checked_anew() -> None:
    begin_anew()


@pytest.fixture
def x64() -> Iterator[None]:
    """The precision the core works in."""
    with jax.enable_x64(True):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out tests that take long")
    parser.addoption("--stopwatch", action="store_true", help="write which tests take long")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--stopwatch"):
        config.pluginmanager.register(durations.Stopwatch())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = durations.longer()
    seconds = durations.of_files(long)
    items.sort(key=lambda item: -seconds[durations.file(item.nodeid)])  # the order within stays
    if config.getoption("--quick"):
        config.hook.pytest_deselected(
            items=[i for i in items if not durations.is_quick(i.nodeid, long)]
        )
        items[:] = [item for item in items if durations.is_quick(item.nodeid, long)]
