"""What the acquisition optimiser minimises."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jax import Array
from jaxtyping import Float

from neurobo.surrogates.posterior import Function

Score = Function
"""Of encoded points; lower is better."""


@runtime_checkable
class Limited(Protocol):
    """A score that counts only where every limit is at most 0; elsewhere it is higher."""

    @property
    def score(self) -> Score: ...

    def limits(self, x: Float[Array, "n d"]) -> Float[Array, "k n"]: ...

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]: ...
