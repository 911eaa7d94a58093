"""Some rows that stand for many, against the whole matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.training import landmarks

NOISE = 1e-2


def _kernel(a: Any, b: Any) -> Any:
    return np.exp(-np.sum((a[:, None] - b[None]) ** 2, axis=2) / 2)


def _explained(x: Any, chosen: Any, *, mask: Any = None) -> landmarks.Explained:
    mask = np.ones(len(x)) if mask is None else mask
    columns = jnp.asarray(_kernel(x, x[chosen]) * mask[:, None])
    return jax.jit(landmarks.explained)(
        columns, jnp.asarray(mask), jnp.asarray(chosen), jnp.asarray(np.asarray(NOISE))
    )


def _exact(x: Any, y: Any, at: Any) -> tuple[Any, Any]:
    solve = np.linalg.inv(_kernel(x, x) + NOISE * np.eye(len(x)))
    cross = _kernel(at, x)
    return cross @ solve @ y, np.sum(cross @ solve * cross, axis=1)


def test_with_every_row_a_landmark_the_posterior_is_exact(x64: None) -> None:
    rng = np.random.default_rng(0)
    x, y, at = rng.uniform(-2, 2, (60, 2)), rng.normal(size=60), rng.uniform(-2, 2, (20, 2))
    found = _explained(x, np.arange(60))
    mean, explained = _exact(x, y, at)
    cross = _kernel(at, x)
    np.testing.assert_allclose(cross @ np.asarray(found.gain) @ y, mean, atol=1e-5)
    np.testing.assert_allclose(
        np.sum((cross @ np.asarray(found.root).T) ** 2, 1), explained, atol=1e-5
    )
    assert float(found.missing) < 1e-6


def test_few_landmarks_lose_little_of_a_smooth_kernel_and_say_how_much(x64: None) -> None:
    rng = np.random.default_rng(1)
    x, at = rng.uniform(-2, 2, (400, 2)), rng.uniform(-2, 2, (50, 2))
    y = np.sin(x[:, 0]) * x[:, 1]
    errors, missing = [], []
    for count in (10, 40, 100):
        chosen = np.arange(count)
        found = _explained(x, chosen)
        mean, explained = _exact(x, y, at)
        cross = _kernel(at, x[chosen])
        errors.append(np.abs(cross @ np.asarray(found.gain) @ y - mean).max())
        missing.append(float(found.missing))
        # Fewer landmarks know less: they are hardly anywhere more certain than all rows.
        assert np.all(np.sum((cross @ np.asarray(found.root).T) ** 2, 1) <= explained + 1e-4)
    assert errors[2] < 0.02
    assert errors == sorted(errors, reverse=True)
    assert missing == sorted(missing, reverse=True)
    residual = _kernel(x, x[:10]) @ np.linalg.solve(_kernel(x[:10], x[:10]), _kernel(x[:10], x))
    assert missing[0] == pytest.approx(1 - np.mean(np.diag(residual)), rel=1e-4)


def test_of_a_kernel_of_low_rank_no_more_than_all_is_explained(x64: None) -> None:
    """A sum of smooth functions of one input each, whose landmarks say everything many times."""
    rng = np.random.default_rng(3)
    x, at, noise = rng.uniform(-1, 1, (300, 6)), rng.uniform(-1, 1, (40, 6)), 1e-11

    def kernel(a: Any, b: Any) -> Any:
        return np.mean(np.exp(-((a[:, None] - b[None]) ** 2) / 2), axis=2)

    chosen = np.arange(200)
    found = landmarks.explained(
        jnp.asarray(kernel(x, x[chosen])), jnp.ones(300), jnp.asarray(chosen), jnp.asarray(noise)
    )
    known = np.sum((kernel(at, x[chosen]) @ np.asarray(found.root).T) ** 2, axis=1)
    assert np.isfinite(found.gain).all()
    # Nearly all is known everywhere: the kernel has about 60 degrees of freedom.
    np.testing.assert_allclose(known, 1.0, atol=1e-5)
    assert np.all(known <= 1.0)


def test_a_padded_row_changes_nothing(x64: None) -> None:
    x = np.random.default_rng(2).uniform(-2, 2, (50, 2))
    mask = np.r_[np.ones(40), np.zeros(10)]
    chosen = np.arange(15)
    padded, plain = _explained(x, chosen, mask=mask), _explained(x[:40], chosen)
    # Only RᵀR means something.
    np.testing.assert_allclose(padded.root.T @ padded.root, plain.root.T @ plain.root, atol=1e-8)
    np.testing.assert_allclose(padded.gain[:, :40], plain.gain, atol=1e-10)
    assert np.abs(padded.gain[:, 40:]).max() == 0


def test_the_lowest_values_are_landmarks_and_the_others_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(landmarks, "DENSE", 100)
    monkeypatch.setattr(landmarks, "RANK", 20)
    values, weights = np.random.default_rng(3).normal(size=200), np.ones(200)
    weights[150:] = 0
    best = set(np.argsort(values[:150])[:10].tolist())
    seen: set[int] = set()
    for turn in range(60):
        chosen = landmarks.choose(values, weights, turn)
        assert chosen is not None
        assert len(set(chosen.tolist())) == 20
        assert best <= set(chosen.tolist()) <= set(range(150))
        seen |= set(chosen.tolist())
    assert len(seen) == 150
    assert landmarks.choose(values[:100], weights[:100]) is None
