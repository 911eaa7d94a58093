from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.compilation import fingerprint as module
from neurobo.compilation.fingerprint import Unstable, fingerprint
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.networks.mlp import MLP
from neurobo.training.residuals import ValueRows


def test_equal_contents_have_equal_fingerprints() -> None:
    for make in (
        lambda: (1, 2.0, "three", b"4", None, True),
        lambda: {"a": [np.arange(3.0)], "b": np.float32(1)},
        lambda: InfiniteWidthMLP(2, "sin", sphere=True),
        lambda: jax.tree.structure((ValueRows(MLP(8), jnp.ones(2), jnp.ones((3, 2))), {"x": None})),
        lambda: jax.typeof(np.ones((3, 2), np.float32)),
        lambda: partial(jnp.sum, axis=0),
    ):
        assert fingerprint(make()) == fingerprint(make())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ("a", b"a"),
        (0.1, np.nextafter(0.1, 1)),
        (("a", "bc"), ("ab", "c")),
        (((1,), 2), (1, (2,))),
        (np.arange(3.0), np.arange(3.0)[:, None]),
        (np.zeros(2000), np.r_[np.zeros(1000), 1e-9, np.zeros(999)]),
        (InfiniteWidthMLP(1, "sin"), InfiniteWidthMLP(1, "erf")),
        (jax.typeof(1.0), jax.typeof(np.float32(1))),  # a Python number takes the other's type
        (
            jax.tree.structure(ValueRows(MLP(8), jnp.ones(2), jnp.ones((3, 2)))),
            jax.tree.structure(ValueRows(MLP(16), jnp.ones(2), jnp.ones((3, 2)))),
        ),
    ],
)
def test_different_contents_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_what_only_this_process_knows_has_none() -> None:
    def inner(x: int) -> int:
        return x

    made: Callable[[int], int] = lambda x: x  # noqa: E731
    for unknown in (inner, made, object(), (1, inner), {"a": made}, np.array([None]), print):
        with pytest.raises(Unstable):
            fingerprint(unknown)


@pytest.mark.parametrize("what", ["source", "processor"])
def test_another_machine_or_source_has_other_fingerprints(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    before = fingerprint(1)
    monkeypatch.setattr(module, what, lambda: "another")
    module.machine.cache_clear()
    try:
        assert fingerprint(1) != before
    finally:
        module.machine.cache_clear()


def test_another_version_of_jax_has_other_fingerprints(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(1)
    monkeypatch.setattr(jax, "__version__", "99.0")
    module.machine.cache_clear()
    try:
        assert fingerprint(1) != before
    finally:
        module.machine.cache_clear()
