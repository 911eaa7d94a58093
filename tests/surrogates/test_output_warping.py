"""Output warping: which strength the evidence chooses, and what warping keeps."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.differentiate import derivative
from scipy.stats import qmc

import neurobo
from neurobo.data.observations import Data
from neurobo.data.scaling import Scale, standardise
from neurobo.errors import InvalidInput
from neurobo.networks.infinite_width import InfiniteWidthMLP
from neurobo.surrogates.output_warping import STRENGTHS, OutputWarping, choose, output_warping_for
from neurobo.surrogates.refit_schedule import scheduled

WIDE = InfiniteWidthMLP(1, "erf", sphere=True)
X = 2 * qmc.Sobol(3, rng=0).random(32) - 1


def _strength(values: np.ndarray) -> float:
    with jax.enable_x64(True):
        found = choose(X, values, WIDE)
    return 0.0 if found is None else found.warp.strength


BOWL = np.sum((X - 0.3) ** 2, axis=1)
STEEP = np.exp(3 * BOWL)


def test_a_bowl_stays_as_it_is_and_what_falls_by_orders_of_magnitude_is_bent() -> None:
    assert _strength(BOWL) == 0
    assert _strength(STEEP) >= 10


def test_units_do_not_matter() -> None:
    assert (
        _strength(1e-290 * STEEP)
        == _strength(1e290 * STEEP)
        == _strength(STEEP)
        == _strength(5 * STEEP - 7)
    )


@pytest.mark.parametrize("strength", STRENGTHS)
def test_warping_keeps_the_order_and_goes_on_below_the_lowest_value(strength: float) -> None:
    warp = OutputWarping(strength, lowest=2.0, median=5.0)
    values = np.linspace(-4.0, 1000.0, 400)
    assert np.all(np.diff(warp(values)) > 0)
    below = derivative(warp, np.array([2.0 - 1e-3]), initial_step=1e-4).df
    assert below == pytest.approx(1 / 3)
    above = derivative(warp, np.array([2.0 + 1e-9]), step_direction=1).df
    assert above == pytest.approx(1 / 3, rel=1e-5)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_slopes_are_those_of_finite_differences(strength: float) -> None:
    values = np.append(np.exp(BOWL), 1e3)  # one beyond the fence
    warp = OutputWarping(strength, float(values.min()), float(np.median(values)))
    scale = Scale.of(warp(values))
    step = 1e-3  # of z; standardised values are rounded to ten digits
    moved = [scale(warp(values + s * step * (warp.median - warp.lowest))) for s in (-1, 1)]
    slopes = (moved[1] - moved[0]) / (2 * step)
    inside = np.argsort(values)[1:]  # at the lowest value the warping begins
    for i in inside:
        expected = warp.log_slope(values[[i]]) + scale.log_slope(warp(values[[i]]))
        assert np.log(slopes[i]) == pytest.approx(expected, abs=0.02)


def test_huge_values_stay_finite() -> None:
    values = np.array([-1.7e308, 0.0, 1.7e308])
    assert np.all(np.isfinite(OutputWarping(100.0, -1.7e308, 0.0)(values)))
    with np.errstate(all="raise"):
        assert np.all(np.isfinite(OutputWarping(100.0, 0.0, 1e-300)(values)))


def test_searches_for_hyper_parameters_begin_where_the_bend_was_found() -> None:
    with jax.enable_x64(True):
        data = Data.pad(X, standardise(STEEP))
        warp = output_warping_for(data, WIDE)
        assert warp is not None
        bent = warp(data)
        again = scheduled(bent, WIDE, start=warp.start)
    np.testing.assert_allclose(again.gamma, np.exp(warp.start[:2]), rtol=0.2)
    assert np.array_equal(np.argsort(bent.y[: bent.n]), np.argsort(data.y[: data.n]))


def test_few_or_equal_values_are_left_alone() -> None:
    with jax.enable_x64(True):
        few = Data.pad(X[:7], standardise(STEEP[:7]))
        assert output_warping_for(few, WIDE) is None
        equal = Data.pad(X, np.where(np.arange(32) < 3, 1.0, 0.0))
        assert output_warping_for(equal, WIDE) is None


def test_auto_bends_unless_told_otherwise() -> None:
    history = [(x.tolist(), float(v)) for x, v in zip(X, STEEP, strict=True)]
    space = [(-1.0, 1.0)] * 3
    warped, plain = (
        neurobo.suggest(space, history, seed=0, algorithm=neurobo.Auto(warp=on, middle=False))
        for on in (True, False)
    )
    assert not np.allclose(warped, plain)
    with pytest.raises(InvalidInput, match="warp must be True or False"):
        neurobo.Auto(warp=1)  # type: ignore[arg-type]
