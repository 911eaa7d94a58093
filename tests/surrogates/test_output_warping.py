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


def test_narrow_wells_in_a_plain_are_seen_from_above() -> None:
    centres = np.array([[-0.5, 0.4, 0.1], [0.6, -0.3, -0.2]])
    away = np.sum((X[:, None] - centres) ** 2, axis=2)
    assert _strength(-np.sum(1 / (away + 0.01), axis=1)) < 0


def test_units_do_not_matter() -> None:
    assert (
        _strength(1e-290 * STEEP)
        == _strength(1e290 * STEEP)
        == _strength(STEEP)
        == _strength(5 * STEEP - 7)
    )


@pytest.mark.parametrize("strength", STRENGTHS)
def test_warping_keeps_the_order_and_goes_on_beyond_the_reference(strength: float) -> None:
    sign = 1 if strength >= 0 else -1
    warp = OutputWarping(strength, reference=sign * 2.0, median=sign * 5.0)
    values = np.linspace(-1000.0, 1000.0, 800)
    assert np.all(np.diff(warp(values)) > 0)

    def anywhere(values: np.ndarray) -> np.ndarray:
        return warp(values.ravel()).reshape(values.shape)

    beyond = derivative(anywhere, sign * (2.0 - 1e-3), initial_step=1e-4).df
    assert beyond == pytest.approx(1 / 3)
    inside = derivative(anywhere, sign * (2.0 + 1e-9), step_direction=sign).df
    assert inside == pytest.approx(1 / 3, rel=1e-5)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_slopes_are_those_of_finite_differences(strength: float) -> None:
    values = np.append(np.exp(BOWL), 1e3)  # one beyond the fence
    warp = OutputWarping.of(strength, values)
    assert warp is not None
    scale = Scale.of(warp(values))
    unit = abs(warp.median - warp.reference)
    step = 1e-3 * unit  # standardised values are rounded to ten digits
    moved = [scale(warp(values + s * step)) for s in (-1, 1)]
    slopes = 4 * (moved[1] - moved[0]) / (2 * step)  # the constant: units are quarters
    away = np.flatnonzero(np.abs(values - warp.reference) > 2 * step)  # there the warping begins
    for i in away:
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


def test_the_strength_waits_for_more_observations_and_the_lowest_value_does_not() -> None:
    falling = STEEP.copy()
    falling[24] = STEEP.min() - 1.0
    for n, known in ((18, 18), (25, 24), (26, 26)):  # observations, and those that are considered
        data = Data.pad(X[:n], falling[:n])
        with jax.enable_x64(True):
            first = choose(X[:18], falling[:18], WIDE)
            found = output_warping_for(data, WIDE)
        assert first is not None
        assert found is not None
        assert found.warp.strength == first.warp.strength
        assert found.warp.reference == falling[:known].min()


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
