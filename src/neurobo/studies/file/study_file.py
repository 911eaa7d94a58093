"""A study file that was read: its words, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution

from neurobo.algorithm import Algorithm
from neurobo.algorithm.registry import build
from neurobo.integrations.optuna.other_storages import JOURNAL, journal_of
from neurobo.search.initial_design import start_size
from neurobo.space.distributions import categorical, float_range, int_range
from neurobo.space.input_constraints import AtMost
from neurobo.space.pool import CANDIDATE, Pool
from neurobo.space.search_space import Space
from neurobo.studies.file import toml_lines
from neurobo.studies.file.pool_file import read_pool
from neurobo.studies.file.schema import Choice, Parameter, StudyTable, Values


@dataclass(frozen=True)
class StudyFile:
    """A study file whose words are all right, and what they mean."""

    path: Path
    table: StudyTable
    _text: str

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def database(self) -> Path | None:
        """The SQLite file, if it is one. A relative path counts from the study file, not from where
        one happens to be."""
        given = self.table.storage
        if given is None:
            return self.path.with_suffix(".db")
        name = given.removeprefix("sqlite:///")
        return self.folder / name if name != given else None

    @property
    def storage(self) -> str:
        """As people write it; it may hold a password."""
        if self.database:
            return f"sqlite:///{self.database}"
        given = str(self.table.storage)
        journal = journal_of(given)
        return given if journal is None else f"{JOURNAL}{self.folder / journal}"

    @property
    def n_start(self) -> int:
        """Points of the initial design."""
        lawful = self.table.physics is not None
        return start_size(self.space, self.table.n_startup_trials, lawful=lawful)

    @cached_property
    def pool(self) -> Pool | None:
        return None if self.table.pool is None else read_pool(self.folder, self.table.pool)

    @cached_property
    def space(self) -> Space:
        distributions = {name: distribution_of(p) for name, p in self.table.space.items()}
        when = conditions_of(self.table.space)
        ordered = [name for name, p in self.table.space.items() if p.ordered]
        pools = {} if self.pool is None else {CANDIDATE: self.pool}
        counted = {name: pool.distribution for name, pool in pools.items()}
        return Space(
            {**distributions, **counted}, pools=pools, when=when, where=self.where, ordered=ordered
        )

    @property
    def where(self) -> list[str | AtMost]:
        """The known constraints between parameters."""
        given = self.table.where
        return [one if isinstance(one, str) else AtMost(one.at_most, one.of) for one in given]

    @cached_property
    def algorithm(self) -> Algorithm:
        return build(self.table.algorithm, **self.table.options)

    @property
    def noisy(self) -> bool:
        """Whether the algorithm is told that values are noisy; reports then use it, too."""
        return bool(getattr(self.algorithm, "noisy", False))

    def line(self, *path: str | int) -> int:
        """Where a key stands, or the nearest table around it."""
        found = self._lines
        while path and path not in found:
            path = path[:-1]
        return found.get(path, 0)

    @cached_property
    def _lines(self) -> dict[toml_lines.Path, int]:
        return toml_lines.lines_of(self._text)


def conditions_of(space: Mapping[str, Parameter]) -> dict[str, dict[str, Any]]:
    """The conditions of the parameters that have one, as `neurobo.Conditional` has them."""
    return {
        name: {parent: _allowed(values) for parent, values in p.when.items()}
        for name, p in space.items()
        if p.when is not None
    }


def _allowed(values: list[Choice] | Values) -> list[Choice] | tuple[float, float]:
    if isinstance(values, list):
        return values
    low = -math.inf if values.low is None else values.low
    return low, math.inf if values.high is None else values.high


def distribution_of(p: Parameter) -> BaseDistribution:
    if p.choices is not None:
        return categorical(p.choices)
    assert p.low is not None
    assert p.high is not None
    if p.type == "int":
        step = 1 if p.step is None else p.step
        return int_range(p.low, p.high, log=p.log, step=step)  # type: ignore[arg-type]
    return float_range(p.low, p.high, log=p.log, step=p.step)
