"""The gradients of laws at the start of a network: rows that weigh like those of values.

Symbols are those of `conditioning`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from neurobo.compilation import compiled
from neurobo.data.content_cache import cached
from neurobo.networks.architectures import Architecture, Gamma, Theta
from neurobo.physics.law import Law
from neurobo.physics.laws import Laws
from neurobo.physics.residuals import LawRows, sizes_of
from neurobo.surrogates.draws import Draw, random_network
from neurobo.training.residuals import by_row


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ExpansionPoint:
    """A function of one row of inputs in the user's units, to take a law's derivative at."""

    location: Float[Array, ""]
    spread: Float[Array, ""]
    function: Draw

    def __call__(self, row: Float[Array, " d"]) -> Float[Array, ""]:
        return self.location + self.spread * self.function(row[None])[0]


@dataclass(frozen=True, eq=False)
class Features:
    """The gradients of laws for one network and γ, in rows that weigh like values."""

    network: Architecture
    gamma: tuple[float, float]
    theta0: Theta
    omega: Float[Array, "m p"]
    among: Float[np.ndarray, "m m"]
    sizes: Float[np.ndarray, " m"]
    """What the residual is divided by, for u = f."""
    good: Float[np.ndarray, " m"]
    """1, or 0 for a row that is not finite and does not count."""
    law: Int[np.ndarray, " m"]
    """Which law a row belongs to."""
    typical: float
    """κ."""

    @property
    def nbytes(self) -> int:
        """What the cache counts."""
        arrays = (*jax.tree.leaves(self.theta0), self.omega, self.among)
        return sum(array.nbytes for array in arrays)

    def cross(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Φ Ωᵀ, in blocks that are kept: points are never taken back."""
        found = [np.zeros((0, len(self.good)))]
        for i in range(0, len(x), BLOCK):
            part = x[i : i + BLOCK]
            if len(part) == BLOCK:
                found.append(_kept_block(self, part))
            else:
                padded = np.pad(part, ((0, BLOCK - len(part)), (0, 0)))
                found.append(_block(self, padded)[: len(part)])
        return np.concatenate(found)


BLOCK = 16


def _block(found: Features, x: np.ndarray) -> np.ndarray:
    gamma = jnp.asarray(found.gamma)
    return np.asarray(_cross(found.network, gamma, found.theta0, jnp.asarray(x), found.omega))


_kept_block = cached(_block)


@compiled(static="network")
def _cross(
    network: Architecture, gamma: Gamma, theta0: Theta, x: Array, omega: Array
) -> Float[Array, "n m"]:
    return phi_of(network, gamma, theta0, x) @ omega.T


def phi_of(network: Architecture, gamma: Gamma, theta0: Theta, x: Array) -> Float[Array, "n p"]:
    one = lambda theta, row: network.apply(theta, gamma, row[None])[0]  # noqa: E731
    return by_row(one, lambda g: g, theta0, x)


@compiled
def _gradients(rows: LawRows, theta0: Theta) -> tuple[Array, Array]:
    """Of the rows, and how large those of the values at the same points are."""
    size = rows.network.tangent_size(theta0, rows.gamma, rows.inputs)
    return rows.jacobian(theta0), size


def blocks(law: Law, x: np.ndarray, inputs: np.ndarray) -> Iterator[tuple[slice, Any, Any]]:
    """The points of a law in blocks of one shape, the last one filled up: one compilation for any
    number of points."""
    size = max(64 // law.equations, 1)
    for first in range(0, len(x), size):
        chosen = np.minimum(np.arange(first, first + size), len(x) - 1)
        yield slice(0, min(size, len(x) - first)), x[chosen], inputs[chosen]


def features(
    laws: Laws,
    network: Architecture,
    gamma: tuple[float, float],
    key: Array,
    around: ExpansionPoint | None = None,
) -> Features:
    """For linear laws found once, for others at the function `around`."""
    if around is None:
        return _kept_features(laws, network, gamma, key)
    return _features(laws, network, gamma, key, around)


def _features(
    laws: Laws, network: Architecture, gamma: tuple[float, float], key: Array, around: Any = None
) -> Features:
    dim = laws.inputs[0].shape[1]
    theta0 = random_network(network, key, dim)
    gradients, values = [], []
    for i, law in enumerate(laws.laws):
        parts = []
        for kept, x, inputs in blocks(law, *laws.points(i)):
            rows = law_rows(
                law, network, gamma, x, inputs,
                location=0.0, spread=1.0, size=np.ones(len(x) * law.equations), around=around,
            )  # fmt: skip
            found, size = _gradients(rows, theta0)
            parts.append(np.asarray(found)[: kept.stop * law.equations])
            values.append(np.asarray(size)[kept])
        gradients.append(np.concatenate(parts))
    typical = float(np.mean(np.concatenate(values)))
    sizes = []
    for law, rows_of in zip(laws.laws, gradients, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.sum(rows_of**2, axis=1).reshape(-1, law.equations)
        # Each equation has units of its own.
        sizes.append(np.stack([sizes_of(s, typical) for s in squares.T], axis=1).ravel())
    size = np.concatenate(sizes)
    good = np.isfinite(size)
    scaled = np.where(good[:, None], np.concatenate(gradients) / size[:, None], 0.0)
    which = np.repeat(np.arange(len(sizes)), [len(s) for s in sizes])
    omega = jnp.asarray(scaled)
    among = np.asarray(_products(omega))
    size, good = np.where(good, size, 1.0), good.astype(float)
    return Features(network, gamma, theta0, omega, among, size, good, which, typical)


_kept_features = cached(_features)


@compiled
def _products(rows: Float[Array, "m p"]) -> Float[Array, "m m"]:
    return rows @ rows.T


def law_rows(
    law: Law, network: Architecture, gamma: tuple[float, float], x: np.ndarray, inputs: np.ndarray,
    *, location: float, spread: float, size: np.ndarray, around: Any = None,
    parts: tuple[Any, ...] = (),
) -> LawRows:  # fmt: skip
    numbers = (gamma, x, inputs, location, spread, size.reshape(-1, law.equations))
    g, at, rows, here, step, sizes = (jnp.asarray(np.asarray(v, dtype=float)) for v in numbers)
    return LawRows(law, network, g, at, rows, here, step, sizes, parts, around)
