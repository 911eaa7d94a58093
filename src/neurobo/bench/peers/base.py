"""What an optimiser is for the harness, ours and every peer's alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from neurobo.bench.problem import Evaluation, Law
from neurobo.errors import InvalidInput
from neurobo.space.search_space import Params, Space


@dataclass(frozen=True)
class Task:
    """All that an optimiser may know before the first evaluation."""

    space: Space
    budget: int
    """Evaluations in all, the start included."""
    n_start: int
    """How many points of the common start design are told before the first `ask`."""
    seed: int
    constraints: tuple[str, ...] = ()
    laws: tuple[Law, ...] = ()
    pool: Mapping[str, np.ndarray] | None = None
    noisy: bool = False
    """Whether the same point may give another value; users know that of their functions."""


class Optimiser(Protocol):
    """Ask and tell, one point at a time; those that handle batches are asked several times before
    they are told."""

    def ask(self) -> Params:
        """The next point to evaluate."""
        ...

    def tell(self, params: Params, outcome: Evaluation) -> None:
        """An evaluated point: first the start design's, which were not asked for, then the asked
        ones in their order. A failed evaluation has the value NaN."""
        ...


@dataclass(frozen=True)
class Method:
    """A way to optimise that the harness can run."""

    name: str
    summary: str
    make: Callable[..., Optimiser]
    """Called with the task and the options that follow the name, `tpe:multivariate=true`."""
    packages: tuple[str, ...]
    """Distributions whose versions a record keeps."""
    handles: frozenset[str] = frozenset()
    """Among "mixed", "constraints", "conditional", "pool" and "batch"; boxes are always handled."""
    needs: frozenset[str] = frozenset()
    """What a problem must have for the method to make sense."""
    ours: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def start(self, task: Task) -> Optimiser:
        return self.make(task, **self.options)


PAPER = "paper"
"""The preset that needs no key."""


def split_options(text: str) -> tuple[str, dict[str, Any]]:
    """`name:key=value,key=value` as the name and its options; values are JSON or plain words.

    The word `paper` stands for the settings of an algorithm's paper: `sto-bnts:paper,width=64`.
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for pair in filter(None, re.split(r",(?![^\[]*\])", rest)):  # not at commas of a list
        key, equals, value = pair.partition("=")
        if pair == PAPER:
            options["preset"] = PAPER
            continue
        if not equals:
            raise InvalidInput(
                f"options must be written name:key=value,key=value or name:{PAPER}, got {text!r}"
            )
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
    return name, options
