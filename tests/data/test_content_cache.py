"""The one cache: what counts as the same arguments, how much is kept, and what threads see."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neurobo
from neurobo.data import content_cache
from neurobo.data.content_cache import CACHE, MISSING, OVERHEAD, Cache, cached, content
from neurobo.networks.architectures import Layer


class _Thing:
    """Equal to itself only."""


def test_arrays_are_compared_by_content() -> None:
    x = np.arange(6.0)
    assert content(x) == content(x.copy()) == content(np.arange(12.0)[::2] / 2)
    others = [x + 1e-16 + 1e-15, x.reshape(2, 3), x.astype(np.float32), x[:5], x[:0], -x]
    assert len({content(v) for v in [x, *others]}) == len(others) + 1
    assert content(np.zeros((0, 2))) != content(np.zeros((0, 3)))


def test_keys_pytrees_and_settings_are_compared_by_content() -> None:
    layer = Layer(jnp.ones((2, 3)), jnp.zeros(2))
    assert content((layer, "a")) == content((Layer(jnp.ones((2, 3)), jnp.zeros(2)), "a"))
    assert content(layer) != content(Layer(jnp.ones((2, 3)), jnp.ones(2)))
    assert content(jax.random.key(3)) == content(jax.random.key(3))
    assert content(jax.random.key(3)) != content(jax.random.key(4))
    assert content(None, 1) != content(1, None)
    thing = _Thing()
    assert content(thing) == content(thing) != content(_Thing())


def test_a_key_keeps_no_object_alive() -> None:
    gone: list[Any] = []

    class Watched:
        def __del__(self) -> None:
            gone.append(True)

    watched = Watched()
    cache = Cache()
    cache.put(content(watched), 1)
    assert cache.get(content(watched)) == 1
    del watched
    gc.collect()
    assert gone


def test_a_result_is_computed_once_and_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_cache, "CACHE", Cache())
    calls = []

    @cached
    def twice(x: Any, *, plus: float = 0.0) -> Any:
        calls.append(plus)
        return (2 * x + plus,)

    x = np.ones(3)
    (first,) = twice(x)
    assert twice(x.copy())[0] is first
    twice(x, plus=1.0)
    assert calls == [0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5.0
    x[0] = 7.0  # an argument may change later: it is no longer the same
    assert twice(x)[0][0] == 14.0


def test_none_is_a_result() -> None:
    cache = Cache()
    assert cache.get("a") is MISSING
    cache.put("a", None)
    assert cache.get("a") is None


def test_the_least_recently_used_leaves_when_bytes_are_short() -> None:
    size = 8 * 100 + OVERHEAD
    cache = Cache(limit=3 * size)
    for name in "abc":
        cache.put(name, np.zeros(100))
    cache.get("a")
    cache.put("d", np.zeros(100))
    assert [cache.get(name) is MISSING for name in "abcd"] == [False, True, False, False]
    assert cache.nbytes == 3 * size
    cache.put("a", np.zeros(50))  # in place of the larger one
    assert cache.nbytes == 3 * size - 400
    cache.put("e", np.zeros(1000))
    assert len(cache) == 0 == cache.nbytes


def test_threads_share_it() -> None:
    cache = Cache(limit=20 * (80 + OVERHEAD))

    def worker(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 40, 500).tolist():
            found = cache.get(number)
            assert found is MISSING or found[0] == number
            cache.put(number, np.full(10, float(number)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(worker, range(8)))
    assert len(cache) == 20
    assert cache.nbytes == 20 * (80 + OVERHEAD)


def test_clearing_frees_memory_and_changes_no_suggestion() -> None:
    history = [(x, float(np.sum(x**2))) for x in np.random.default_rng(0).uniform(-1, 1, (9, 2))]

    def suggestion() -> Any:
        algorithm = neurobo.NeuralBO(width=16)
        return neurobo.suggest([(-1, 1)] * 2, history, algorithm=algorithm, seed=0)[0]

    first = suggestion()
    assert CACHE.nbytes > 0
    neurobo.clear_caches()
    assert CACHE.nbytes == len(CACHE) == 0
    assert np.array_equal(suggestion(), first)


def test_results_that_are_not_looked_up_leave() -> None:
    cache = Cache(seldom=3)
    cache.put("old", np.zeros(10))
    cache.put("used", np.zeros(10))
    for _ in range(3):
        cache.get("used")
    cache.put("new", np.zeros(10))
    assert cache.get("old") is MISSING
    assert cache.get("used") is not MISSING
    assert cache.get("new") is not MISSING
    assert cache.nbytes == 2 * (80 + OVERHEAD)
