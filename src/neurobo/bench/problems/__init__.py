"""Every benchmark problem by its name, with wrappers after plus signs: `levy-15+shift`."""

from __future__ import annotations

from neurobo.bench.problem import Problem
from neurobo.bench.problems import (
    automl,
    bbob,
    constrained,
    control,
    designs,
    documents,
    images,
    physics,
    pushing,
    rugged,
    synthetic,
)
from neurobo.bench.wrappers import wrap
from neurobo.errors import InvalidInput, did_you_mean

GROUPS: dict[str, tuple[Problem, ...]] = {
    "synthetic": synthetic.PROBLEMS,
    "rugged": rugged.PROBLEMS,
    "constrained": constrained.PROBLEMS,
    "designs": designs.PROBLEMS,
    "physics": physics.PROBLEMS,
    "control": control.PROBLEMS + pushing.PROBLEMS,
    "automl": automl.PROBLEMS,
    "images": images.PROBLEMS,
    "documents": documents.PROBLEMS,
}
"""Problems as they are listed for people."""
_BY_NAME = {problem.name: problem for group in GROUPS.values() for problem in group}


def problems() -> list[str]:
    """The names of all problems, without wrappers."""
    return list(_BY_NAME)


def problem(name: str, seed: int = 0) -> Problem:
    """The problem of this name; `seed` chooses the instance where a wrapper wants one."""
    base, *wrappers = name.split("+")
    if (which := bbob.parse(base)) is not None:
        return wrap(bbob.bbob(*which), wrappers, seed)
    if (instance := rugged.parse(base)) is not None:
        return wrap(rugged.needles(*instance), wrappers, seed)
    if base not in _BY_NAME:
        hint = did_you_mean(base, problems())
        raise InvalidInput(
            f"a problem must be one of {problems()}, bbob-fF-dD-iI or needles-D-I, "
            f"got {base!r}{hint}"
        )
    return wrap(_BY_NAME[base], wrappers, seed)
