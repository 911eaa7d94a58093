"""A catalogue of candidates to choose from, each known by its features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from optuna.distributions import IntDistribution

from neurobo.errors import InvalidInput

CANDIDATE = "candidate"
"""Name of the parameter that counts the candidates of a pool that is a space of its own."""


class Pool:
    """A catalogue of candidates to choose from, each known by its features.

    A pool is a search space of its own. Surrogates see the features, scaled to [-1, 1]; images get
    a convolutional network. The array is not copied.

    Args:
        candidates: Array with one row for each candidate: numbers, vectors, or images of shape
            (height, width) or (height, width, channels).
        ids: Names of the candidates, which the objective gets. None: it gets the index.
        replace: Whether a candidate may be chosen again, for noisy values.
    """

    def __init__(
        self, candidates: Any, ids: Sequence[str | int] | None = None, *, replace: bool = False
    ) -> None:
        self.candidates = _checked(candidates)
        self.ids = None if ids is None else _checked_ids(ids, len(self.candidates))
        self.replace = replace

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def distribution(self) -> IntDistribution:
        """Of the integer that counts the candidates."""
        return IntDistribution(0, len(self) - 1)

    @cached_property
    def image(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the candidates, if they are images."""
        shape = self.candidates.shape[1:]
        if len(shape) < 2:
            return None
        return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)

    @cached_property
    def columns(self) -> int:
        """Features of one candidate."""
        return int(np.prod(self.candidates.shape[1:], dtype=int))

    @cached_property
    def _limits(self) -> tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]:
        # The pixels of an image share one scale, or its edges and its middle would be mixed up.
        axis = 0 if self.image is None else None
        low, high = self.candidates.min(axis), self.candidates.max(axis)
        return np.ravel(low).astype(float), np.ravel(high).astype(float)

    def features(self, index: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n columns"]:
        """The features of some candidates, scaled to [-1, 1]."""
        low, high = self._limits
        rows = self.candidates[index].reshape(len(index), self.columns).astype(float)
        half = high / 2 - low / 2  # halves first: the range itself may overflow
        safe = np.where(half > 0, half, 1.0)
        return np.where(half > 0, np.clip((rows / 2 - low / 2) / safe * 2 - 1, -1.0, 1.0), 0.0)

    def name(self, index: int) -> str | int:
        """What the objective gets."""
        return index if self.ids is None else self.ids[index]

    def index(self, name: Any) -> int:
        """Where the candidate of this name is."""
        if self.ids is not None:
            if not isinstance(name, Hashable) or name not in self._places:
                raise InvalidInput(f"a candidate must be one of the pool's ids, got {name!r}")
            return self._places[name]
        whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
        if not whole or not 0 <= name < len(self):
            raise InvalidInput(
                f"a candidate must be a whole number from 0 to {len(self) - 1}, got {name!r}"
            )
        return int(name)

    @cached_property
    def _places(self) -> dict[Any, int]:
        assert self.ids is not None
        return {name: i for i, name in enumerate(self.ids)}


Pool.__module__ = "neurobo"  # stored objects name the path that users have


def _checked(candidates: Any) -> np.ndarray:
    try:
        array = np.asarray(candidates)
    except ValueError:
        raise InvalidInput(
            "candidates must all have the same shape, got rows of different lengths"
        ) from None
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise InvalidInput(
            f"candidates must be an array of numbers, got {type(candidates).__name__}"
            + (f" of {array.dtype}" if array.ndim else "")
        )
    if not 1 <= array.ndim <= 4:
        raise InvalidInput(
            "candidates must be numbers, vectors or images (height, width[, channels]), got an "
            f"array of shape {array.shape}"
        )
    if 0 in array.shape:
        raise InvalidInput(f"a pool must have at least one candidate with features, got an array "
                           f"of shape {array.shape}")  # fmt: skip
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        where = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InvalidInput(
            f"features must be finite, got {array[where].min()} among those of candidate {where}"
        )
    return array


def _checked_ids(ids: Sequence[str | int], count: int) -> list[str | int]:
    found = [name.item() if isinstance(name, np.generic) else name for name in ids]
    if len(found) != count:
        raise InvalidInput(f"there must be one id for each of {count} candidates, got {len(found)}")
    for name in found:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InvalidInput(f"an id must be a str or an int, got {name!r}")
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise InvalidInput(f"ids must be different from each other, got {twice[0]!r} again")
    return found
