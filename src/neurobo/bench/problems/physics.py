"""Problems whose function obeys a known differential equation.

From the experiments of PINN-BO. Its text states no budgets: those here are ours. A law is
residual(u, x), zero at every point x inside the box if u is the function; it is told to methods
that can use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from neurobo.bench.problem import Law, Problem, Vector, of_vector
from neurobo.bench.problems.fields import Sides, between_nodes, steady_field
from neurobo.bench.problems.synthetic import (
    make_michalewicz,
    make_rastrigin,
    make_styblinski_tang,
)
from neurobo.physics.pde import d2, laplacian, partial

PINN_BO = "Phan-Trong et al., PINN-BO (doctoral thesis, Deakin University 2024, chapter 5)"

Surrogate = Callable[[Any], Any]


# --- synthetic functions with first-order identities


def drop_wave(x: Vector) -> float:
    square = np.sum(x**2)
    return float(-(1 + np.cos(12 * np.sqrt(square))) / (0.5 * square + 2))


def cosine_mixture(x: Vector) -> float:
    return float(np.sum(x**2 + 0.1 * np.cos(5 * np.pi * x)))


def _round(u: Surrogate, x: Any) -> Any:
    """Drop-Wave does not change around the origin."""
    slope = jax.grad(u)(x)
    return x[0] * slope[1] - x[1] * slope[0]


def _styblinski_tang_law(u: Surrogate, x: Any) -> Any:
    return jnp.sum(jax.grad(u)(x)) - jnp.sum(2 * x**3 - 16 * x + 2.5)


def _rastrigin_law(u: Surrogate, x: Any) -> Any:
    # The thesis leaves out the one half.
    angle = 2 * jnp.pi * x
    waves = jnp.cos(angle) + jnp.pi * x * jnp.sin(angle) - 1
    return x @ jax.grad(u)(x) / 2 - u(x) - 10 * jnp.sum(waves)


def _michalewicz_law(u: Surrogate, x: Any) -> Any:
    # With the second term that the function's own derivative has; the thesis prints another. Its
    # inverse is infinite where a summand is lowest, which no random point meets.
    i = jnp.arange(1, x.shape[0] + 1)
    steepness = 1 / jnp.tan(x) + 40 * i * x / jnp.pi / jnp.tan(i * x**2 / jnp.pi)
    return jnp.sum(jax.grad(u)(x) / steepness) - u(x)


def _cosine_mixture_law(u: Surrogate, x: Any) -> Any:
    """The slope along every axis."""
    return jax.grad(u)(x) - 2 * x + jnp.pi / 2 * jnp.sin(5 * jnp.pi * x)


def _obeying(problem: Problem, law: Law) -> Problem:
    return replace(
        problem,
        name=f"physics-{problem.name}",
        summary=f"{problem.summary}, with an identity for its slopes",
        source=PINN_BO,
        laws=(law,),
    )


# --- steady heat: the field is solved for when it is first asked for

CELLS = 1024
_END = 2 * math.pi

# As printed, the first set gives each side as a function of the coordinate that is constant on
# it; every side here depends on the one that runs along it. Its last root also covers the rest of
# the expression, which is negative on a third of the side; here it covers the exponential only.
_HEAT = (
    Sides(
        size=_END,
        bottom=lambda x: 5 * np.sin(x) + np.sqrt(1 + x),
        top=lambda x: x * np.sin(3 * np.cos(x) + 2 * np.exp(x) * np.sin(x)),
        left=lambda y: 10 * np.cos(y) + y * np.exp(np.sqrt(y**2 + np.sin(y))),
        right=lambda y: 3 * np.sqrt(np.exp(y * np.exp(-y))) * np.sin(y) + np.cos(3 * y) ** 2,
    ),
    Sides(
        size=_END,
        bottom=lambda x: np.sin(x) * np.cos(2 * x) + x**2 * np.sqrt(3 * x) + np.exp(np.sin(x)),
        top=lambda x: (
            np.exp(np.sin(x)) * np.sqrt(3 * x)
            + x**2 * np.cos(x) * np.sin(x) ** 2
            + np.exp(np.cos(x))
        ),
        left=lambda y: np.sqrt(2 * y) * np.sin(y) + y**3 * np.cos(2 * y) + np.exp(np.cos(y)),
        right=lambda y: np.sin(y) * np.cos(2 * y) + y**3 * np.sqrt(2 * y) + np.exp(np.sin(y)),
    ),
    Sides(
        size=_END,
        bottom=lambda x: (np.sin(x) + np.cos(2 * x)) * np.sqrt(3 * x) + x**2 + np.exp(np.sin(x)),
        top=lambda x: (
            (np.exp(np.sin(x)) + np.sqrt(3 * x)) * np.cos(x)
            + (np.sin(x) ** 2 + x**2) * np.exp(np.cos(x))
        ),
        left=lambda y: (np.sqrt(2 * y) + np.sin(y)) * (np.cos(2 * y) + y**3) + np.exp(np.cos(y)),
        right=lambda y: (np.sin(y) + np.cos(2 * y)) * (np.sqrt(2 * y) + y**3) + np.exp(np.sin(y)),
    ),
)
# The highest value on the sides, which each reaches in a corner.
_HEAT_BEST = ((0.0, _END), (_END, _END), (0.0, _END))
_HOTTEST = (
    10 + _END * math.exp(_END),
    _END**3 * math.sqrt(2 * _END) + 1,
    math.sqrt(2 * _END) * (1 + _END**3) + math.e,
)


@cache
def temperature(number: int) -> Callable[[Vector], float]:
    """The temperature with the boundary values number 0, 1 or 2."""
    return between_nodes(steady_field(_HEAT[number], CELLS), _END)


def _laplace(u: Surrogate, x: Any) -> Any:
    return laplacian(u)(x)


def _heat(number: int) -> Problem:
    return of_vector(
        f"heat-{number + 1}",
        "the hottest place of a square with given temperatures on its sides",
        lambda x: -temperature(number)(x),
        [(0, _END)] * 2,
        laws=(_laplace,),
        best=_HEAT_BEST[number],
        optimum=-_HOTTEST[number],
        budget=100,
        source=PINN_BO,
    )


# --- a beam whose stiffness changes along it


def deflection(x: Vector) -> float:
    """(EI w″)″ = q with EI = eˣ/ρ and q = eˣ, solved by w″ = ρ, which integrates twice.

    The source states neither the load nor the ends of the beam. This load makes its ρ the second
    derivative of a closed form; the two constants of integration are zero.
    """
    t, grown = x[0], np.exp(2 * x[0])
    waves = np.sin(4 * np.pi * grown) + grown * np.sin(20 * t)
    return float(0.4 * t**3 + 0.2 * t**2 + waves)


def softness(t: Any) -> Any:
    """ρ of the beam's stiffness eˣ/ρ."""
    grown = jnp.exp(2 * t)
    inner = 4 * jnp.pi * grown
    return (
        2.4 * t
        + 0.4
        - 64 * jnp.pi**2 * grown**2 * jnp.sin(inner)
        + 16 * jnp.pi * grown * jnp.cos(inner)
        - 396 * grown * jnp.sin(20 * t)
        + 80 * grown * jnp.cos(20 * t)
    )


def _beam_law(u: Surrogate, x: Any) -> Any:
    """Infinite where ρ changes its sign, unless u is the solution."""

    def moment(at: Any) -> Any:
        return jnp.exp(at[0]) / softness(at[0]) * d2(u, 0)(at)

    return d2(moment, 0)(x) - jnp.exp(x[0])


# --- a damped oscillator: mass m, damping c, spring k, let go at 1

_MASS, _DAMPING, _SPRING = 1.0, 0.4, 4.0
_DECAY = _DAMPING / (2 * _MASS)
_PACE = math.sqrt(_SPRING / _MASS - _DECAY**2)


def displacement(x: Vector) -> float:
    angle = _PACE * x[0]
    return float(np.exp(-_DECAY * x[0]) * (np.cos(angle) + _DECAY / _PACE * np.sin(angle)))


def _oscillator_law(u: Surrogate, x: Any) -> Any:
    return _MASS * d2(u, 0)(x) + _DAMPING * partial(u, 0)(x) + _SPRING * u(x)


PROBLEMS = (
    of_vector(
        "physics-drop-wave-2",
        "ripples around the middle, which are round",
        drop_wave,
        [(-5.12, 5.12)] * 2,
        laws=(_round,),
        best=(0.0, 0.0),
        optimum=-1.0,
        budget=100,
        source=PINN_BO,
        everywhere=True,
    ),
    _obeying(make_styblinski_tang(10, 200), _styblinski_tang_law),
    _obeying(make_rastrigin(20, 200), _rastrigin_law),
    _obeying(make_michalewicz(30, 200), _michalewicz_law),
    of_vector(
        "physics-cosine-mixture-50",
        "a bowl with waves along every axis, all of whose slopes are known",
        cosine_mixture,
        [(-1, 1)] * 50,
        laws=(_cosine_mixture_law,),
        best=(0.18487282318291573,) * 50,
        optimum=50 * -0.06301220217625031,
        budget=200,
        source=PINN_BO,
        everywhere=True,
    ),
    _heat(0),
    _heat(1),
    _heat(2),
    of_vector(
        "beam-1",
        "the lowest point of a loaded beam whose stiffness changes along it",
        deflection,
        [(0, 1)],
        laws=(_beam_law,),
        best=(0.8836971299242756,),
        optimum=-5.942396336145873,
        budget=50,
        source=PINN_BO,
    ),
    of_vector(
        "oscillator-1",
        "the first swing back of a damped oscillator",
        displacement,
        [(0, 10)],
        laws=(_oscillator_law,),
        best=(math.pi / _PACE,),
        optimum=-math.exp(-_DECAY * math.pi / _PACE),
        budget=30,
        source=PINN_BO,
    ),
)
