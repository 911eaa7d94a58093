"""The algorithms: one short file each, which names its surrogate and its acquisition.

Registering an algorithm lists it, documents it and puts it under test. The package is not called
`algorithms` because `neurobo.algorithms()` is a public function.
"""

from neurobo.algorithm.auto.portfolio import Auto
from neurobo.algorithm.deep_ensemble import DeepEnsemble
from neurobo.algorithm.neural_bandits import NeuralBandit
from neurobo.algorithm.neural_bo import NeuralBO
from neurobo.algorithm.neural_cbo import NeuralCBO
from neurobo.algorithm.neural_greedy import NeuralGreedy
from neurobo.algorithm.neural_linear import NeuralLinear
from neurobo.algorithm.ntk_gp import NTKGP
from neurobo.algorithm.pinn_bo import PINNBO
from neurobo.algorithm.protocols import Algorithm, Decision
from neurobo.algorithm.registry import algorithms, check_physics, describe, resolve
from neurobo.algorithm.sto_bnts import STOBNTS

__all__ = [
    "NTKGP",
    "PINNBO",
    "STOBNTS",
    "Algorithm",
    "Auto",
    "Decision",
    "DeepEnsemble",
    "NeuralBO",
    "NeuralBandit",
    "NeuralCBO",
    "NeuralGreedy",
    "NeuralLinear",
    "algorithms",
    "check_physics",
    "describe",
    "resolve",
]

# Stored objects name the path that users have, which stays when files move.
for _algorithm in (
    NTKGP, PINNBO, STOBNTS, Auto, DeepEnsemble, NeuralBO, NeuralBandit, NeuralCBO, NeuralGreedy,
    NeuralLinear,
):  # fmt: skip
    _algorithm.__module__ = "neurobo"
