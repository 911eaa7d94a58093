from __future__ import annotations

import pytest

import neurobo
from neurobo.bench.problem import of_function
from neurobo.errors import InvalidInput


def test_a_point_has_its_active_parameters_only() -> None:
    space = {
        "model": neurobo.Categorical(["svm", "forest"]),
        "kernel": neurobo.Conditional(neurobo.Categorical(["rbf", "linear"]), {"model": ["svm"]}),
        "gamma": neurobo.Conditional(neurobo.Float(0.1, 1.0), {"kernel": ["rbf"]}),
        "trees": neurobo.Conditional(neurobo.Int(1, 9), {"model": ["forest"]}),
    }
    given = of_function("p", "s", lambda p: 0.0, space, budget=10, source="here")
    assert "conditional" in given.kinds
    given.check({"model": "forest", "trees": 3})
    with pytest.raises(InvalidInput, match="and no others, got"):
        given.check({"model": "forest", "trees": 3, "gamma": 0.5})
    with pytest.raises(InvalidInput, match="every parameter that it has"):
        given.check({"model": "svm", "gamma": 0.5})
    with pytest.raises(InvalidInput, match="'trees' must lie in"):
        given.check({"model": "forest", "trees": 10})
