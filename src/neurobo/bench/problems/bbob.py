"""The bbob functions of COCO, through COCO's own `cocoex`, with its logger.

`bbob-f8-d5-i2` is function 8 in 5 dimensions, instance 2. The logger's files go to
`FOLDER/coco/exdata/METHOD/`, where COCO's post-processing reads them:
`python -m cocopp FOLDER/coco/exdata/METHOD ...`
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from neurobo.bench.problem import Evaluation, Problem
from neurobo.errors import InvalidInput, require
from neurobo.space.search_space import Params, Space

DIMENSIONS = (2, 3, 5, 10, 20, 40)
BUDGET_PER_DIMENSION = 20
_NAME = re.compile(r"bbob-f(\d+)-d(\d+)-i(\d+)")


def parse(name: str) -> tuple[int, int, int] | None:
    """Function, dimension and instance, or None for any other problem's name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    function, dim, instance = (int(group) for group in match.groups())
    if not (1 <= function <= 24 and dim in DIMENSIONS and 1 <= instance <= 15):
        raise InvalidInput(
            f"a bbob problem must be bbob-fF-dD-iI with F from 1 to 24, D in {list(DIMENSIONS)} "
            f"and I from 1 to 15, got {name!r}"
        )
    return function, dim, instance


def bbob(function: int, dim: int, instance: int) -> Problem:
    coco = _Coco(function, dim, instance)
    space = Space.of([(-5.0, 5.0)] * dim)
    return Problem(
        f"bbob-f{function}-d{dim}-i{instance}",
        "COCO's black-box optimisation benchmark",
        "Hansen et al., COCO: a platform for comparing continuous optimizers",
        space,
        _evaluate(space, coco),
        BUDGET_PER_DIMENSION * dim,
        optimum=coco.optimum,
    )


@contextmanager
def logged(problem: Problem, method: str, folder: Path) -> Iterator[Problem]:
    """The same problem with COCO's logger on; other problems pass through."""
    which = parse(problem.name)
    if which is None:
        yield problem
        return
    home = folder / "coco"
    home.mkdir(parents=True, exist_ok=True)
    label = re.sub(r"[^\w.-]", "_", method)
    place = f"{label}/{problem.name}"
    shutil.rmtree(home / "exdata" / place, ignore_errors=True)  # what a killed run left behind
    coco = _Coco(*which)
    with chdir(home):  # cocoex writes below the working folder
        observer = require("cocoex").Observer(
            "bbob", f"result_folder: {place} algorithm_name: {label}"
        )
        coco.raw.observe_with(observer)
        yield replace(problem, evaluate=_evaluate(problem.space, coco))
        coco.raw.free()


def _evaluate(space: Space, coco: _Coco) -> Any:
    def evaluate(params: Params, rng: np.random.Generator) -> Evaluation:
        return Evaluation(float(coco.raw(space.point(params))))

    return evaluate


class _Coco:
    """COCO's own problem, made when first needed."""

    def __init__(self, function: int, dim: int, instance: int) -> None:
        self._which = function, dim, instance

    @cached_property
    def _suite(self) -> Any:
        # COCO changes its instances every year; named ones stay what they are.
        return require("cocoex").Suite("bbob", f"instances: {self._which[2]}", "")

    @cached_property
    def raw(self) -> Any:
        return self._suite.get_problem_by_function_dimension_instance(*self._which)

    @cached_property
    def optimum(self) -> float:
        """COCO keeps the optimum to itself, except for the best point, which it writes to a file.
        Optimal values have two decimals by definition."""
        problem = self._suite.get_problem_by_function_dimension_instance(*self._which)
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            problem._best_parameter("print")
            best = np.loadtxt("._bbob_problem_best_parameter.txt")
        return round(float(problem(np.atleast_1d(best))), 2)
