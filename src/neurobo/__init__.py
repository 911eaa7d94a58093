"""neurobo: neural black-box optimisation.

Names are loaded when first used, so that `import neurobo` stays fast and quiet.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from neurobo.interrupts import deferred

if TYPE_CHECKING:
    from neurobo import physics as physics
    from neurobo import plots as plots
    from neurobo.algorithms import NTKGP as NTKGP
    from neurobo.algorithms import PINNBO as PINNBO
    from neurobo.algorithms import STOBNTS as STOBNTS
    from neurobo.algorithms import Auto as Auto
    from neurobo.algorithms import DeepEnsemble as DeepEnsemble
    from neurobo.algorithms import NeuralBandit as NeuralBandit
    from neurobo.algorithms import NeuralBO as NeuralBO
    from neurobo.algorithms import NeuralCBO as NeuralCBO
    from neurobo.algorithms import NeuralGreedy as NeuralGreedy
    from neurobo.algorithms import NeuralLinear as NeuralLinear
    from neurobo.algorithms import algorithms as algorithms
    from neurobo.distributions import categorical as Categorical  # noqa: N812
    from neurobo.distributions import float_range as Float  # noqa: N812
    from neurobo.distributions import int_range as Int  # noqa: N812
    from neurobo.errors import EvaluationFailed as EvaluationFailed
    from neurobo.errors import NeuroboError as NeuroboError
    from neurobo.errors import SpaceExhausted as SpaceExhausted
    from neurobo.minimize import minimize as minimize
    from neurobo.physics import PDE as PDE
    from neurobo.pool import Pool as Pool
    from neurobo.recommend import recommend as recommend
    from neurobo.sampler import NeuroSampler as NeuroSampler
    from neurobo.suggest import suggest as suggest

__version__ = "0.1.0"

_HOME = {
    "Auto": ("neurobo.algorithms", "Auto"),
    "Categorical": ("neurobo.distributions", "categorical"),
    "EvaluationFailed": ("neurobo.errors", "EvaluationFailed"),
    "Float": ("neurobo.distributions", "float_range"),
    "Int": ("neurobo.distributions", "int_range"),
    "NTKGP": ("neurobo.algorithms", "NTKGP"),
    "PDE": ("neurobo.physics", "PDE"),
    "PINNBO": ("neurobo.algorithms", "PINNBO"),
    "STOBNTS": ("neurobo.algorithms", "STOBNTS"),
    "NeuralBO": ("neurobo.algorithms", "NeuralBO"),
    "NeuralCBO": ("neurobo.algorithms", "NeuralCBO"),
    "NeuralLinear": ("neurobo.algorithms", "NeuralLinear"),
    "NeuralBandit": ("neurobo.algorithms", "NeuralBandit"),
    "DeepEnsemble": ("neurobo.algorithms", "DeepEnsemble"),
    "NeuralGreedy": ("neurobo.algorithms", "NeuralGreedy"),
    "Pool": ("neurobo.pool", "Pool"),
    "NeuroSampler": ("neurobo.sampler", "NeuroSampler"),
    "NeuroboError": ("neurobo.errors", "NeuroboError"),
    "SpaceExhausted": ("neurobo.errors", "SpaceExhausted"),
    "algorithms": ("neurobo.algorithms", ""),  # a package that can be called
    "minimize": ("neurobo.minimize", "minimize"),
    "physics": ("neurobo.physics", ""),
    "plots": ("neurobo.plots", ""),
    "recommend": ("neurobo.recommend", "recommend"),
    "suggest": ("neurobo.suggest", "suggest"),
}

__all__ = [
    "NTKGP",
    "PDE",
    "PINNBO",
    "STOBNTS",
    "Auto",
    "Categorical",
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
    "Pool",
    "SpaceExhausted",
    "algorithms",
    "minimize",
    "physics",
    "plots",
    "recommend",
    "suggest",
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


class _Package(ModuleType):
    """Keeps `neurobo.suggest` the function when the file suggest.py is imported, too."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and _HOME.get(name, ("", ""))[1]):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
