"""neurobo: neural black-box optimisation.

Names are loaded when first used, so that `import neurobo` stays fast and quiet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neurobo.running.interrupts import deferred

if TYPE_CHECKING:
    from neurobo import physics as physics
    from neurobo.algorithm import NTKGP as NTKGP
    from neurobo.algorithm import PINNBO as PINNBO
    from neurobo.algorithm import STOBNTS as STOBNTS
    from neurobo.algorithm import Auto as Auto
    from neurobo.algorithm import DeepEnsemble as DeepEnsemble
    from neurobo.algorithm import NeuralBandit as NeuralBandit
    from neurobo.algorithm import NeuralBO as NeuralBO
    from neurobo.algorithm import NeuralCBO as NeuralCBO
    from neurobo.algorithm import NeuralGreedy as NeuralGreedy
    from neurobo.algorithm import NeuralLinear as NeuralLinear
    from neurobo.algorithm import algorithms as algorithms
    from neurobo.analysis import plots as plots
    from neurobo.analysis import theory as theory
    from neurobo.analysis.recommendation import recommend as recommend
    from neurobo.data.content_cache import clear_caches as clear_caches
    from neurobo.errors import EvaluationFailed as EvaluationFailed
    from neurobo.errors import NeuroboError as NeuroboError
    from neurobo.errors import SpaceExhausted as SpaceExhausted
    from neurobo.integrations.optuna.sampler import NeuroSampler as NeuroSampler
    from neurobo.integrations.stateless import suggest as suggest
    from neurobo.physics import PDE as PDE
    from neurobo.running.minimisation import minimize as minimize
    from neurobo.space.conditions import Conditional as Conditional
    from neurobo.space.distributions import Ordinal as Ordinal
    from neurobo.space.distributions import categorical as Categorical  # noqa: N812
    from neurobo.space.distributions import float_range as Float  # noqa: N812
    from neurobo.space.distributions import int_range as Int  # noqa: N812
    from neurobo.space.input_constraints import AtMost as AtMost
    from neurobo.space.pool import Pool as Pool

__version__ = "0.1.0"

_HOME = {
    "AtMost": ("neurobo.space.input_constraints", "AtMost"),
    "Auto": ("neurobo.algorithm", "Auto"),
    "Categorical": ("neurobo.space.distributions", "categorical"),
    "Conditional": ("neurobo.space.conditions", "Conditional"),
    "EvaluationFailed": ("neurobo.errors", "EvaluationFailed"),
    "Float": ("neurobo.space.distributions", "float_range"),
    "Int": ("neurobo.space.distributions", "int_range"),
    "NTKGP": ("neurobo.algorithm", "NTKGP"),
    "PDE": ("neurobo.physics", "PDE"),
    "PINNBO": ("neurobo.algorithm", "PINNBO"),
    "STOBNTS": ("neurobo.algorithm", "STOBNTS"),
    "NeuralBO": ("neurobo.algorithm", "NeuralBO"),
    "NeuralCBO": ("neurobo.algorithm", "NeuralCBO"),
    "NeuralLinear": ("neurobo.algorithm", "NeuralLinear"),
    "NeuralBandit": ("neurobo.algorithm", "NeuralBandit"),
    "DeepEnsemble": ("neurobo.algorithm", "DeepEnsemble"),
    "NeuralGreedy": ("neurobo.algorithm", "NeuralGreedy"),
    "Ordinal": ("neurobo.space.distributions", "Ordinal"),
    "Pool": ("neurobo.space.pool", "Pool"),
    "NeuroSampler": ("neurobo.integrations.optuna.sampler", "NeuroSampler"),
    "NeuroboError": ("neurobo.errors", "NeuroboError"),
    "SpaceExhausted": ("neurobo.errors", "SpaceExhausted"),
    "algorithms": ("neurobo.algorithm", "algorithms"),
    "clear_caches": ("neurobo.data.content_cache", "clear_caches"),
    "minimize": ("neurobo.running.minimisation", "minimize"),
    "physics": ("neurobo.physics", ""),
    "plots": ("neurobo.analysis.plots", ""),
    "recommend": ("neurobo.analysis.recommendation", "recommend"),
    "suggest": ("neurobo.integrations.stateless", "suggest"),
    "theory": ("neurobo.analysis.theory", ""),
}

__all__ = [
    "NTKGP",
    "PDE",
    "PINNBO",
    "STOBNTS",
    "AtMost",
    "Auto",
    "Categorical",
    "Conditional",
    "DeepEnsemble",
    "EvaluationFailed",
    "Float",
    "Int",
    "NeuralBO",
    "NeuralBandit",
    "NeuralCBO",
    "NeuralGreedy",
    "NeuralLinear",
    "NeuroSampler",
    "NeuroboError",
    "Ordinal",
    "Pool",
    "SpaceExhausted",
    "algorithms",
    "clear_caches",
    "minimize",
    "physics",
    "plots",
    "recommend",
    "suggest",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'neurobo' has no attribute {name!r}")
    module, attribute = _HOME[name]
    with deferred():  # Ctrl-C, which would leave modules half imported
        value = import_module(module)
    if attribute:
        value = globals()[name] = getattr(value, attribute)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
