"""The registry: registering an algorithm lists it, documents it and puts it under test.

`neurobo.algorithms` is this package and can be called: `neurobo.algorithms()` lists the names.
"""

import sys
from types import ModuleType

from neurobo.algorithms.auto import Auto
from neurobo.algorithms.base import (
    Algorithm,
    Portfolio,
    algorithms,
    check_physics,
    describe,
    resolve,
)
from neurobo.algorithms.deep_ensemble import DeepEnsemble
from neurobo.algorithms.neural_bandits import NeuralBandit
from neurobo.algorithms.neural_bo import NeuralBO
from neurobo.algorithms.neural_cbo import NeuralCBO
from neurobo.algorithms.neural_greedy import NeuralGreedy
from neurobo.algorithms.neural_linear import NeuralLinear
from neurobo.algorithms.ntk_gp import NTKGP
from neurobo.algorithms.pinn_bo import PINNBO
from neurobo.algorithms.sto_bnts import STOBNTS

__all__ = [
    "NTKGP",
    "PINNBO",
    "STOBNTS",
    "Algorithm",
    "Auto",
    "DeepEnsemble",
    "NeuralBO",
    "NeuralBandit",
    "NeuralCBO",
    "NeuralGreedy",
    "NeuralLinear",
    "Portfolio",
    "algorithms",
    "check_physics",
    "describe",
    "resolve",
]


class _Listing(ModuleType):
    def __call__(self) -> list[str]:
        return algorithms()


sys.modules[__name__].__class__ = _Listing
