"""Shapes and types of every neurobo signature are checked while the tests run."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import install_import_hook

# Before anything imports neurobo.
install_import_hook("neurobo", "beartype.beartype")

import jax  # noqa: E402
import optuna  # noqa: E402
import pytest  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def x64() -> Iterator[None]:
    """The precision the core works in."""
    with jax.enable_x64(True):
        yield
