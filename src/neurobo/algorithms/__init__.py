"""The registry: registering an algorithm lists it, documents it and puts it under test."""

from neurobo.algorithms.auto import Auto
from neurobo.algorithms.base import Algorithm, algorithms, describe, resolve
from neurobo.algorithms.neural_greedy import NeuralGreedy

__all__ = ["Algorithm", "Auto", "NeuralGreedy", "algorithms", "describe", "resolve"]
