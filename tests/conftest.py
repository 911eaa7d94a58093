"""Shapes and types in the signatures of the numeric core are checked while the tests run.

The shells are left out: what they refuse, they refuse with their own errors, which the tests check.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import install_import_hook

# Before anything imports neurobo.
CORE = ("data", "networks", "rows", "solve", "ntk", "posterior", "maximise")
install_import_hook([f"neurobo.{name}" for name in CORE], "typecheck.check")

import hypothesis  # noqa: E402
import jax  # noqa: E402
import optuna  # noqa: E402
import pytest  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)

# The same examples in every run; `pytest --hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", derandomize=False, deadline=None)
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def x64() -> Iterator[None]:
    """The precision the core works in."""
    with jax.enable_x64(True):
        yield
