"""Plots of the posterior of an algorithm. They need matplotlib: the extra `report`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from neurobo.algorithm import Algorithm, resolve
from neurobo.algorithm.protocols import posterior_of, sample_of
from neurobo.data.observations import Data
from neurobo.data.scaling import units
from neurobo.data.trials import Trials
from neurobo.errors import InvalidInput, check_choice, check_count, check_seed, require
from neurobo.integrations.history import trials_of
from neurobo.page.still import new_figure
from neurobo.search.scoring import evaluate
from neurobo.space.search_space import Params, Space, SpaceLike
from neurobo.training.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from optuna.study import Study

__all__ = ["bands"]


@dataclass(frozen=True)
class Belief:
    """The posterior of an algorithm along one parameter, in the user's units."""

    parameter: str
    x: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, " points"]
    sd: Float[np.ndarray, " points"]
    draws: Float[np.ndarray, "draws points"]


def bands(
    space: SpaceLike,
    history: Iterable[tuple[Any, float | None]] | Study,
    *,
    algorithm: str | Algorithm = "auto",
    parameter: str | None = None,
    at: Any = None,
    draws: int = 5,
    samples: int = 60,
    seed: int = 0,
    points: int = 201,
    axis: Any = None,
) -> Any:
    """Plot the posterior of an algorithm along one parameter: mean, band and posterior samples.

    The band is two standard deviations wide on each side. A notebook shows the picture if the call
    is the last line of a cell; `bands(...).figure.savefig("bands.png")` stores it.

    Args:
        space: The search space, as in `minimize`.
        history: Results as in `suggest`, or an Optuna study.
        algorithm: A name or an object.
        parameter: The parameter on the horizontal axis. None: the first numeric one.
        at: The point that the line goes through. None: the best observation.
        draws: Number of posterior samples that are drawn.
        samples: Number of samples that mean and band are estimated from, for algorithms without a
            closed-form posterior.
        seed: Seed of the samples.
        points: Number of points of the line.
        axis: Matplotlib's axes to draw into. None: a new figure.

    Returns:
        Matplotlib's axes.
    """
    checked = Space.of(space)
    trials = trials_of(checked, history)
    found = belief(
        checked, trials, resolve(algorithm), parameter=parameter, at=at, draws=draws,
        samples=samples, seed=check_seed(seed), points=points,
    )  # fmt: skip
    if axis is None:
        axis = _new_axes()
    _paint(axis, found, checked, trials)
    return axis


def belief(
    space: Space,
    trials: Trials,
    algorithm: Algorithm,
    *,
    parameter: str | None = None,
    at: Any = None,
    draws: int = 5,
    samples: int = 60,
    seed: int = 0,
    points: int = 201,
) -> Belief:
    """The numbers of the picture."""
    check_count("draws", draws, least=0)
    check_count("samples", samples, least=2)
    check_count("points", points, least=2)
    data = Data.of(space, trials)
    if not data.n:
        raise InvalidInput("the history must have a finite value, got none")
    name = _chosen(space, parameter)
    through = space.decode(data.points[data.order[0]]) if at is None else space.params(at)
    line = _line(space, name, through, points)
    x = space.encode(line)
    key = jax.random.key(seed)
    with jax.enable_x64(True), one_blas_thread():
        posterior = posterior_of(algorithm, key, data)
        count = draws if posterior else max(draws, samples)
        functions = [sample_of(algorithm, key, data, number) for number in range(count)]
        drawn = np.array([evaluate(f, space, x) for f in functions]).reshape(count, len(x))
        if posterior:
            found = posterior.mean_and_sd(jnp.asarray(space.inputs(x)))
            mean, sd = (np.asarray(v) for v in found)
        else:
            mean, sd = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    values = np.asarray(trials.values, dtype=float)
    location, spread = units(values[np.isfinite(values)])
    return Belief(
        parameter=name,
        x=np.array([p[name] for p in line], dtype=float),
        mean=location + spread * mean,
        sd=spread * sd,
        draws=location + spread * drawn[:draws],
    )


def _chosen(space: Space, name: str | None) -> str:
    numeric = [n for n, p in space.parameters.items() if p.ordered]
    if not numeric:
        raise InvalidInput("the space must have a numeric parameter, got none")
    if name is not None:
        check_choice("parameter", name, numeric)
    return name or numeric[0]


def _line(space: Space, name: str, through: Mapping[str, Any], points: int) -> list[Params]:
    """Points of the space along one parameter."""
    column = np.linspace(-1, 1, points)[:, None]
    values = space.parameters[name].decode(column)
    return [{**through, name: value} for value in dict.fromkeys(values)]


def _new_axes() -> Any:
    """Axes of a figure without pyplot, which leaves the host program's figures alone. Notebooks
    show figures of pyplot only, so these axes show themselves."""
    axes = require("matplotlib.axes", extra="report")

    class Axes(axes.Axes):  # type: ignore[name-defined, misc]
        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.figure.savefig(stream, format="png", dpi=100)
            return stream.getvalue()

    return new_figure((6, 3.6)).add_subplot(axes_class=Axes)


def _paint(axis: Any, found: Belief, space: Space, trials: Trials) -> None:
    axis.plot(found.x, found.draws.T, color="#7a9cc6", linewidth=0.8, alpha=0.8)
    low, high = found.mean - 2 * found.sd, found.mean + 2 * found.sd
    axis.fill_between(found.x, low, high, color="#2f6db3", alpha=0.15, linewidth=0, label="±2 sd")
    axis.plot(found.x, found.mean, color="#2f6db3", linewidth=1.8, label="mean")
    values = np.asarray(trials.values, dtype=float)
    good = np.isfinite(values)
    where = np.array([p[found.parameter] for p in trials.params], dtype=float)
    if space.n_parameters == 1:
        axis.plot(where[good], values[good], "o", color="#c1272d", markersize=5, label="observed")
    else:  # elsewhere in the other parameters: only their place along this one
        axis.plot(
            where[good], np.full(good.sum(), 0.02), "|", color="#c1272d", markersize=8,
            transform=axis.get_xaxis_transform(), label="observed elsewhere",
        )  # fmt: skip
    if getattr(space.distributions[found.parameter], "log", False):
        axis.set_xscale("log")
    axis.set_xlim(found.x.min(), found.x.max())
    axis.set_xlabel(found.parameter)
    axis.set_ylabel("objective")
    axis.legend(frameon=False, fontsize=8)
