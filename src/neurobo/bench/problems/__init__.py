"""Every benchmark problem by its name, with wrappers after plus signs: `levy-15+shift`."""

from __future__ import annotations

from neurobo.bench.problem import Problem
from neurobo.bench.problems import (
    automl,
    bbob,
    conditional,
    constrained,
    control,
    designs,
    documents,
    images,
    physics,
    pushing,
    rugged,
    synthetic,
    yahpo,
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
    "conditional": conditional.PROBLEMS,
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
    return wrap(_of_a_family(base) or _listed(base), wrappers, seed)


def _of_a_family(name: str) -> Problem | None:
    """The problem of a family whose members are too many to list, or None for any other name."""
    if (coco := bbob.parse(name)) is not None:
        return bbob.bbob(*coco)
    if (instance := rugged.parse(name)) is not None:
        return rugged.needles(*instance)
    if (task := yahpo.parse(name)) is not None:
        return yahpo.yahpo(*task)
    return None


def _listed(name: str) -> Problem:
    if name not in _BY_NAME:
        hint = did_you_mean(name, problems())
        raise InvalidInput(
            f"a problem must be one of {problems()}, bbob-fF-dD-iI, needles-D-I or "
            f"yahpo-SCENARIO-TASK, got {name!r}{hint}"
        )
    return _BY_NAME[name]
