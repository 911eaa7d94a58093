"""Every method the harness can run, by its name with options: `optuna-tpe:multivariate=false`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from neurobo.algorithm.registry import algorithms, build, describe
from neurobo.bench.peers import (
    botorch_constrained,
    botorch_gp,
    botorch_trust,
    cma_es,
    hebo_gp,
    nevergrad_ngopt,
    optuna_samplers,
    simple,
    smac_forest,
)
from neurobo.bench.peers.base import Method, Optimiser, Task, split_options
from neurobo.bench.problem import Law
from neurobo.errors import InvalidInput, check_choice, did_you_mean
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.physics.pde import PDE

__all__ = ["Method", "Optimiser", "Task", "method", "methods"]

_PEERS: dict[str, Method] = {
    method.name: method
    for method in (
        *simple.METHODS,
        *optuna_samplers.METHODS,
        *botorch_gp.METHODS,
        *botorch_trust.METHODS,
        *botorch_constrained.METHODS,
        *smac_forest.METHODS,
        *hebo_gp.METHODS,
        *nevergrad_ngopt.METHODS,
        *cma_es.METHODS,
    )
}


def methods() -> list[str]:
    """The names of all methods: our algorithms, then the peers."""
    return [*algorithms(), *_PEERS]


def method(text: str) -> Method:
    """The method that `name` or `name:key=value,key=value` stands for."""
    name, options = split_options(text)
    if name in algorithms():
        build(name, **options)  # refuses bad options now
        return replace(_ours(name), options=options)
    check_choice("a method", name, methods())
    _check_options(_PEERS[name], options)
    return replace(_PEERS[name], options=options)


def _check_options(peer: Method, options: dict[str, Any]) -> None:
    _, *known = inspect.signature(peer.make).parameters.values()  # the task comes first
    if any(p.kind == p.VAR_KEYWORD for p in known):
        return  # it will say so itself
    names = [p.name for p in known]
    unknown = sorted(options.keys() - set(names))
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise InvalidInput(f"options of {peer.name} must be among {names}, got {unknown}{hint}")


def _ours(name: str) -> Method:
    return Method(
        name,
        describe(name),
        partial(_neuro_sampler, name),
        packages=("neurobo", "jax", "optuna"),
        handles=frozenset({"mixed", "constraints", "conditional", "pool", "batch"}),
        needs=frozenset({"laws"} if name == WITH_LAWS else ()),
        ours=True,
    )


WITH_LAWS = "pinn-bo"
"""The only one that is told the laws of a problem."""
WITH_NOISE = "auto"
"""The only one of ours that is told that a problem is noisy, as BoTorch's models are."""


def _neuro_sampler(name: str, task: Task, **options: Any) -> Optimiser:
    if name == WITH_NOISE:
        options = {"noisy": task.noisy, **options}
    sampler = NeuroSampler(
        build(name, **options),
        seed=task.seed,
        n_startup_trials=task.n_start,
        # Conditions are not declared: the sampler sees which parameters each trial has.
        search_space=None if task.space.conditions else task.space.distributions,
        pool=task.pool,
        physics=[_pde(law) for law in task.laws] if name == WITH_LAWS else None,
    )
    return optuna_samplers.OptunaOptimiser(task, sampler)


@lru_cache(maxsize=32)
def _pde(law: Law) -> PDE:
    """The same for the same law: what is compiled for it serves all runs of a process."""
    return PDE(law)
