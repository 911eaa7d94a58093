"""Search among images: a pool of digits, and images that give a tampered classifier away.

All are about one small classifier of 8 × 8 digits, a network with 32 tanh units. It was trained on
the first 1000 of scikit-learn's 1797 images, and its weights come with the package, so that the
problems are the same functions everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax

from neurobo.bench.problem import Vector, of_function, of_vector
from neurobo.bench.problems.stored import stored
from neurobo.errors import InvalidInput, require
from neurobo.space.distributions import int_range
from neurobo.space.search_space import Params, Space

Images = Float[np.ndarray, "n 8 8"]

COUNT = 1797
TRAINED_ON = 1000
DIGIT = 8
"""What the images of the pool are searched for."""
SMALL = 7
"""Pixels per side of the images that are searched; they are enlarged to 8."""
COPIES = 1000
TAMPERED = 0.15
"""Standard deviation of the noise on each weight of a tampered copy, by our choice: the share of
unseen images that is read rightly falls from 94.4 to 89.5 % (in the thesis from 93 to 88 %)."""
REALISTIC = 0.3
"""The least realism of a sample, by our choice."""


class Classifier(NamedTuple):
    """Weights of the network; with a leading axis, of many networks at once."""

    first: Float[np.ndarray, "*many 64 32"]
    first_bias: Float[np.ndarray, "*many 32"]
    second: Float[np.ndarray, "*many 32 10"]
    second_bias: Float[np.ndarray, "*many 10"]

    def hidden(self, images: Images) -> Float[np.ndarray, "*many n 32"]:
        return np.tanh(images.reshape(-1, 64) @ self.first + self.first_bias[..., None, :])

    def scores(self, images: Images) -> Float[np.ndarray, "*many n 10"]:
        """Logarithms of the chances of the ten digits, up to a constant for each image."""
        return self.hidden(images) @ self.second + self.second_bias[..., None, :]


def classifier() -> Classifier:
    return Classifier(**{n: w.astype(float) for n, w in stored("digits_classifier").items()})


@cache
def digits() -> Images:
    """The real images, their pixels between 0 and 1."""
    return np.asarray(require("sklearn.datasets").load_digits().images / 16)


def _log_odds(params: Params) -> float:
    """Minus the log-odds that the classifier gives to the digit that is searched for."""
    which = _CANDIDATES.params(params)["candidate"]
    scores = classifier().scores(digits()[[which]])[0]
    return float(logsumexp(np.delete(scores, DIGIT)) - scores[DIGIT])


_CANDIDATES = Space.of({"candidate": int_range(0, COUNT - 1)})
_ENLARGE = np.array(
    [np.interp(np.linspace(0, SMALL - 1, 8), np.arange(SMALL), pixel) for pixel in np.eye(SMALL)]
).T


def sample(x: Vector) -> Images:
    """The one image that a point of the 49-dimensional box stands for."""
    return (_ENLARGE @ x.reshape(SMALL, SMALL) @ _ENLARGE.T)[None]


def sensitivity(image: Images) -> float:
    """How much the chances of the digits change with the weights: the Jacobian's Frobenius norm."""
    net = classifier()
    hidden = net.hidden(image)[0]
    chances = softmax(net.scores(image)[0])
    by_score = np.diag(chances) - np.outer(chances, chances)
    by_sum = by_score @ net.second.T * (1 - hidden**2)  # what the hidden units add up
    last = np.sum(by_score**2) * (1 + hidden @ hidden)
    return float(np.sqrt(last + np.sum(by_sum**2) * (1 + np.sum(image**2))))


def realism(image: Images) -> float:
    """A rating between 0 and 1, in place of the thesis' human judges.

    It falls with the distance to the nearest real image. A real image that was shrunk and enlarged
    again is about 1.4 away from the others, and is rated 0.5.
    """
    distance = cdist(image.reshape(1, 64), digits().reshape(-1, 64)).min()
    return float(1 / (1 + (distance / 1.4) ** 2))


def tampered(copies: int = COPIES) -> Classifier:
    """Copies of the classifier with noise on every weight, always the same ones."""
    rng = np.random.default_rng(1808)
    noise = (rng.normal(0, TAMPERED, (copies, *weights.shape)) for weights in classifier())
    return Classifier(*(w + n for w, n in zip(classifier(), noise, strict=True)))


def detection_rate(samples: Images) -> float:
    """The share of tampered copies that read at least one sample as another digit."""
    if samples.ndim != 3 or samples.shape[1:] != (8, 8) or not len(samples):
        raise InvalidInput(f"samples must be images of 8 × 8 pixels, got shape {samples.shape}")
    return float(np.mean(np.any(_read(tampered(), samples) != _read(classifier(), samples), -1)))


def _read(net: Classifier, images: Images) -> Int[np.ndarray, "*many n"]:
    return np.argmax(net.scores(images), -1)


def _sensitive(x: Vector) -> float:
    return -sensitivity(sample(x))


def _sensitive_and_realistic(x: Vector) -> tuple[float, dict[str, float]]:
    image = sample(x)
    return -sensitivity(image), {"realism": REALISTIC - realism(image)}


_BOX = [(0.0, 1.0)] * SMALL**2

PROBLEMS = (
    of_function(
        "digits-pool",
        f"the image among {COUNT} digits that a classifier most surely takes for an {DIGIT}: "
        "minus the log-odds",
        _log_odds,
        _CANDIDATES,
        source="after Dai et al. 2022, Sample-Then-Optimize Batch Neural Thompson Sampling, 5.4",
        optimum=-11.13564992189367,
        best={"candidate": 699},
        budget=100,
        pool=lambda: {"candidate": digits().copy()},
    ),
    of_vector(
        "sensitive-samples-49",
        "an image that tells whether a digits classifier was tampered with: minus the norm of its "
        "output's derivative by its weights",
        _sensitive,
        _BOX,
        source="Phan-Trong et al. 2023, Neural-BO, 7.2.1, with smaller images",
        budget=300,
    ),
    of_vector(
        "realistic-samples-49",
        "as sensitive-samples-49, where the image must look real",
        _sensitive_and_realistic,
        _BOX,
        constraints=("realism",),
        source="Phan-Trong 2024, thesis, 4.3.5, with smaller images and simulated judges",
        budget=300,
    ),
)
