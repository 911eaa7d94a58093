"""`auto`: the choice for those who do not want to choose."""

from __future__ import annotations

from collections.abc import Sequence

from jax import Array

from neurobo.algorithms.base import options, register
from neurobo.algorithms.neural_greedy import NeuralGreedy
from neurobo.algorithms.pinn_bo import PINNBO
from neurobo.data import Data
from neurobo.maximise import Region, Score


@options
class Auto:
    """Neural Greedy with settings that follow from the number of columns; PINN-BO where a law is
    known."""

    needs_physics = False

    def _choice(self, data: Data) -> NeuralGreedy | PINNBO:
        return NeuralGreedy(trust_region="auto") if data.laws is None else PINNBO()

    def score(self, key: Array, data: Data, number: int) -> Score:
        return self._choice(data).score(key, data, number)

    def scores(self, key: Array, data: Data, numbers: Sequence[int]) -> list[Score]:
        return self._choice(data).scores(key, data, numbers)

    def region(self, data: Data, number: int) -> Region | None:
        return self._choice(data).region(data, number)


register("auto", Auto, "Picks for you: pinn-bo with a law; else Neural Greedy, local at times.")
