"""The tests' own check of shapes and types: tests/typecheck.py."""

from __future__ import annotations

from types import FunctionType

import jaxtyping
import numpy as np
import pytest
import typecheck

from neurobo.surrogates.output_warping import OutputWarping


def test_the_numeric_core_is_checked() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        OutputWarping.of("much", np.zeros(3))  # type: ignore[arg-type]


def test_first_calls_are_all_checked_and_then_some() -> None:
    def double(x: float) -> float:
        return 2 * x

    checked: list[float] = []

    def watched(x: float) -> float:
        checked.append(x)
        return double(x)

    assert isinstance(double, FunctionType)
    called = typecheck.at_some_calls(double, lambda: watched)
    assert [called(float(i)) for i in range(200)] == [2.0 * i for i in range(200)]
    assert checked == [*map(float, range(25)), 49.0, 99.0, 149.0, 199.0]
