from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurobo.bench.problem import Evaluation
from neurobo.bench.problems import problem
from neurobo.bench.problems.images import (
    TRAINED_ON,
    classifier,
    detection_rate,
    digits,
    realism,
    sample,
    sensitivity,
    tampered,
)
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params

POOL, SENSITIVE, REALISTIC = map(
    problem, ["digits-pool", "sensitive-samples-49", "realistic-samples-49"]
)


def labels() -> np.ndarray:
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().target)


def candidate(which: int) -> float:
    return POOL.evaluate({"candidate": which}, np.random.default_rng(0)).value


def test_the_pool_is_the_images() -> None:
    assert POOL.pool is not None
    images = POOL.pool()["candidate"]
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0, 1)
    assert POOL.kinds == {"pool"}
    assert POOL.space.size == len(images)


def test_the_known_best_image_is_best_and_an_eight() -> None:
    values = np.array([candidate(i) for i in range(1797)])
    assert POOL.best == {"candidate": int(values.argmin())}
    assert values.min() == pytest.approx(POOL.optimum, abs=1e-9)
    eights = labels() == 8
    assert (values[eights] < 0).mean() > 0.9
    assert (values[~eights] > 0).mean() > 0.9


@pytest.mark.parametrize("params", [{"candidate": 1797}, {"candidate": -1}, {}])
def test_a_candidate_outside_the_pool_is_refused(params: Params) -> None:
    with pytest.raises(InvalidInput, match="got"):
        POOL.evaluate(params, np.random.default_rng(0))


def right(scores: np.ndarray) -> np.ndarray:
    return np.mean(scores.argmax(-1) == labels()[TRAINED_ON:], -1)


def test_tampering_harms_the_classifier_as_stated() -> None:
    unseen = digits()[TRAINED_ON:]
    assert right(classifier().scores(unseen)) == pytest.approx(0.944, abs=0.001)
    assert right(tampered(200).scores(unseen)).mean() == pytest.approx(0.895, abs=0.005)


def chances(weights: tuple[jax.Array, ...], pixels: np.ndarray) -> jax.Array:
    first, first_bias, second, second_bias = weights
    return jax.nn.softmax(jnp.tanh(pixels @ first + first_bias) @ second + second_bias)


def test_sensitivity_is_the_norm_of_the_jacobian(x64: None) -> None:
    weights = tuple(map(jnp.asarray, classifier()))
    jacobian = jax.jit(jax.jacobian(chances))
    rng = np.random.default_rng(0)
    for image in (sample(rng.random(49)), sample(rng.random(49)), digits()[[1500]]):
        parts = jacobian(weights, image.reshape(64))
        norm = np.sqrt(sum(float(jnp.sum(part**2)) for part in parts))
        assert sensitivity(image) == pytest.approx(norm, rel=1e-9)


def test_a_point_is_a_small_image_enlarged() -> None:
    small = np.random.default_rng(0).random((7, 7))
    image = sample(small.ravel())[0]
    assert image.shape == (8, 8)
    np.testing.assert_allclose(
        image[[0, 0, -1, -1], [0, -1, 0, -1]], small[[0, 0, -1, -1], [0, -1, 0, -1]]
    )
    assert small.min() <= image.min() <= image.max() <= small.max()
    np.testing.assert_allclose(sample(np.full(49, 0.3)), 0.3)


def test_realism_tells_digits_from_noise() -> None:
    rng = np.random.default_rng(0)
    assert realism(digits()[[5]]) == 1
    assert realism(digits()[[5]] + 0.01) > 0.95
    assert max(realism(sample(x)) for x in rng.random((100, 49))) < 0.3
    assert realism(digits().mean(0)[None]) > 0.3


def test_the_constraint_is_the_wanted_realism() -> None:
    x = np.random.default_rng(0).random(49)
    params = REALISTIC.space.params(x)
    rng = np.random.default_rng(0)
    constrained: Evaluation = REALISTIC.evaluate(params, rng)
    assert constrained.value == SENSITIVE.evaluate(params, rng).value == -sensitivity(sample(x))
    assert constrained.constraints == {"realism": pytest.approx(0.3 - realism(sample(x)))}
    assert tuple(constrained.constraints) == REALISTIC.constraints
    assert constrained.violation > 0


def test_sensitive_samples_detect_more() -> None:
    """The premise of the problem: it holds on average, not for every pair."""
    rng = np.random.default_rng(0)
    points = np.array([sample(x)[0] for x in rng.random((40, 49))])
    order = np.argsort([sensitivity(image[None]) for image in points])
    low, high = (np.mean([detection_rate(points[[i]]) for i in o]) for o in (order[:5], order[-5:]))
    assert high > low + 0.2
    rates = [detection_rate(points[order[-n:]]) for n in (1, 2, 4, 8)]
    assert rates == sorted(rates)
    assert rates[-1] > 0.9
    assert detection_rate(points[:3]) == detection_rate(points[:3])


@pytest.mark.parametrize("shape", [(8, 8), (2, 7, 7), (0, 8, 8)])
def test_detection_wants_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="images of 8 × 8"):
        detection_rate(np.zeros(shape))
