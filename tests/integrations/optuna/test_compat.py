"""Optuna's private names: which ones neurobo uses, that Optuna still has them, and that only three
modules use them. After an upgrade of Optuna, these tests say what broke."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

import neurobo
from neurobo.integrations.optuna import compat, shared_storage, tables
from neurobo.integrations.optuna.outage import Outage
from neurobo.integrations.optuna.shared_storage import SharedStorage
from neurobo.running.suggesting import ask, suggest_all
from neurobo.space.search_space import Params, Space

SOURCE = Path(neurobo.__file__).parent
PRIVATE = [Path(str(module.__file__)) for module in (compat, shared_storage, tables)]
"""The modules that may use private names."""

ATTRIBUTES = {
    "study": {"_storage", "_study_id", "_stop_flag", "_thread_local"},
    "study._thread_local": {"in_optimize_loop", "cached_all_trials"},
    "trial": {"_cached_frozen_trial", "_fixed_params", "_trial_id"},
    "storage": {"_lock", "_set_trial", "_studies"},
}
"""Private attributes in use, by the object that has them."""
INHERITED = {
    "_add_trials_to_cache", "_backend", "_lock", "_read_trials_from_remote_storage", "_studies",
    "_trial_id_to_study_id_and_number",
}  # fmt: skip
"""Private attributes of Optuna's cached storage that `SharedStorage` uses or overrides."""
MODULES = {
    "optuna.storages._cached_storage": {"_CachedStorage", "_StudyInfo"},
    "optuna.storages._rdb.models": {"BaseModel", "TrialIntermediateValueModel", "TrialValueModel"},
}
"""Private modules, and what is imported from them."""


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _attributes(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Objects and their private attributes; all attributes of an object that is private itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            thing = ast.unparse(node.value)
            if _private(node.attr) or thing == "study._thread_local":
                yield thing, node.attr


def _names_of_optuna() -> set[str]:
    """All private names of the objects that users hand to neurobo, or that it gets from Optuna."""
    study = optuna.create_study()
    trial = study.ask()
    frozen = study.get_trials()[0]
    objects = [
        study, trial, frozen, study._storage, Study, Trial, FrozenTrial, BaseStorage, BaseSampler,
        FloatDistribution(0, 1), IntDistribution(0, 1), CategoricalDistribution([0, 1]),
    ]  # fmt: skip
    found = {name for one in objects for name in dir(one) if _private(name)}
    return found - {"_asdict"}  # named tuples have it, too


def test_the_private_names_in_use_are_those_of_the_list() -> None:
    used: dict[str, set[str]] = {}
    imported: dict[str, set[str]] = {}
    for path in PRIVATE:
        tree = ast.parse(path.read_text())
        for thing, name in _attributes(tree):
            if thing.split(".")[0] != "self":
                used.setdefault(thing, set()).add(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and "._" in node.module:
                imported.setdefault(node.module, set()).update(a.name for a in node.names)
    assert used == ATTRIBUTES
    assert imported == MODULES


def test_the_cached_storage_still_has_what_ours_inherits() -> None:
    optunas = optuna.storages.get_storage("sqlite://")
    assert type(optunas).__name__ == "_CachedStorage"
    assert all(hasattr(optunas, name) for name in INHERITED)
    mine = vars(SharedStorage(optuna.storages.RDBStorage("sqlite://"), Outage()))
    own = {name for name in {*vars(SharedStorage), *mine} if _private(name)}
    tree = ast.parse(PRIVATE[1].read_text())
    used = {name for thing, name in _attributes(tree) if thing == "self"}
    assert used | (own & set(dir(optunas))) >= INHERITED
    assert used - own <= INHERITED


@pytest.mark.parametrize(
    ("thing", "name"),
    [(thing, name) for thing, names in ATTRIBUTES.items() for name in sorted(names)],
)
def test_optuna_still_has_a_private_attribute(thing: str, name: str) -> None:
    study = optuna.create_study()
    trial = study.ask()
    objects: dict[str, object] = {
        "study": study,
        "study._thread_local": study._thread_local,
        "trial": trial,
        "storage": study._storage,
    }
    assert hasattr(objects[thing], name)


def test_optuna_still_has_the_private_modules_and_loggers() -> None:
    for module, names in MODULES.items():
        assert all(hasattr(importlib.import_module(module), name) for name in names)
    for module in compat.LOGGERS:
        assert hasattr(importlib.import_module(module), "_logger")
    assert {"studies", "trials"} <= compat.table_names()


def test_optuna_keeps_queued_points_and_constraints_where_compat_looks() -> None:
    study = optuna.create_study()
    study.enqueue_trial({"x": 0.5})
    assert [compat.enqueued_params(t) for t in compat.waiting_trials(study)] == [{"x": 0.5}]
    trial = study.ask()
    assert compat.enqueued_params(study.get_trials()[0]) == {"x": 0.5}
    compat.finish_trial(study, trial, TrialState.COMPLETE, [1.0], constraints={"heat": -1.0})
    assert study.get_trials()[0].constraints == {"heat": -1.0}


def _asked_by_optuna(trial: Trial, space: Space) -> Params:
    return space.asked(partial(ask, trial))


def test_parameters_stored_together_are_those_that_optuna_stores_one_by_one() -> None:
    space = Space.of({
        "x": (0.0, 1.0), "n": IntDistribution(1, 9), "c": CategoricalDistribution(["a", "b"]),
        "one": FloatDistribution(2.0, 2.0), "c2": neurobo.Conditional((0.0, 1.0), {"c": ["a"]}),
    })  # fmt: skip
    stored: list[list[FrozenTrial]] = []
    for suggest in (suggest_all, _asked_by_optuna):
        sampler = neurobo.NeuroSampler(seed=3, search_space=space)
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial({"x": 0.5})
        for i in range(8):
            trial = study.ask()
            params = suggest(trial, space)
            assert params == trial.params == study.get_trials()[i].params
            study.tell(trial, float(i))
        stored.append(study.get_trials())
    assert stored[0][0].params["x"] == 0.5
    for together, alone in zip(*stored, strict=True):
        assert repr(together.params) == repr({name: alone.params[name] for name in together.params})
        assert together.distributions == alone.distributions
        assert together.system_attrs == alone.system_attrs


def test_parameters_together_are_refused_where_optuna_refuses_them() -> None:
    study = optuna.create_study()
    distribution = FloatDistribution(0.0, 1.0)
    first, second = study.ask(), study.ask()
    compat.store_params(first, {"x": 0.5}, {"x": distribution})
    with pytest.raises(ValueError, match="distribution"):
        compat.store_params(second, {"x": "a"}, {"x": CategoricalDistribution(["a", "b"])})
    assert study.get_trials()[1].params == {}
    study.tell(first, 1.0)
    with pytest.raises(UpdateFinishedTrialError):
        compat.store_params(first, {"x": 0.25}, {"x": distribution})


def test_a_study_can_be_stopped_only_while_it_is_stoppable() -> None:
    study = optuna.create_study()
    with compat.stoppable(study):
        assert not compat.stop_requested(study)
        study.stop()
        assert compat.stop_requested(study)
    with pytest.raises(RuntimeError):
        study.stop()


def test_private_names_of_optuna_are_used_only_in_three_modules() -> None:
    optunas = _names_of_optuna()
    for path in SOURCE.rglob("*.py"):
        if path not in PRIVATE:
            assert not list(_uses(ast.parse(path.read_text()), optunas)), path


def test_a_private_name_elsewhere_is_noticed() -> None:
    optunas = _names_of_optuna()
    for line in (
        "study._storage.get_trial(3)",
        "self.study._stop_flag = True",
        "distribution._contains(0.5)",
        "from optuna.storages._rdb.models import BaseModel",
        "import optuna.storages._rdb.models",
        "names = ['optuna.storages._in_memory']",
        "class Mine(BaseSampler):\n  def f(self):\n    self._raise_error_if_multi_objective(1)",
    ):
        assert list(_uses(ast.parse(line), optunas)), line


def _uses(tree: ast.AST, optunas: set[str]) -> Iterator[str]:
    """Private names of Optuna in a module. A class of neurobo may have attributes of the same name,
    unless it derives from one of Optuna's."""
    derived = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(hasattr(optuna.samplers, ast.unparse(base).split(".")[-1]) for base in node.bases)
    ]
    inherited = {name for name in dir(BaseSampler) if _private(name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            yield from (m for m in modules if m.startswith("optuna") and "._" in m)
        if isinstance(node, ast.Constant) and re.match(r"optuna\.[\w.]*\._", str(node.value)):
            yield str(node.value)
    for thing, name in _attributes(tree):
        if thing not in ("self", "cls", "super()") and name in optunas:
            yield f"{thing}.{name}"
    for owner in derived:
        yield from (name for _, name in _attributes(owner) if name in inherited)
