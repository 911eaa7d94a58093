"""Keys compiled by us are those of JAX."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from neurobo.networks import keys


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1, 2**40 + 5, 2**63 - 1])
def test_a_seed_has_the_key_of_jax(x64: None, seed: int) -> None:
    found, expected = keys.key(seed), jax.random.key(seed)
    assert np.array_equal(jax.random.key_data(found), jax.random.key_data(expected))
