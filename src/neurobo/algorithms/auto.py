"""`auto`: the choice for those who do not want to choose."""

from __future__ import annotations

from collections.abc import Sequence

from jax import Array

from neurobo.algorithms.base import options, register
from neurobo.algorithms.neural_greedy import NeuralGreedy
from neurobo.data import Data
from neurobo.maximise import Region, Score


@options
class Auto:
    """Neural Greedy with settings that follow from the number of columns."""

    @property
    def _choice(self) -> NeuralGreedy:
        return NeuralGreedy(trust_region="auto")

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self._choice.score(key, data, number)

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        return self._choice.scores(key, data, numbers)

    def region(self, data: Data, number: int) -> Region | None:
        return self._choice.region(data, number)


register("auto", Auto, "Picks for you: at present Neural Greedy, local at times above 6 columns.")
