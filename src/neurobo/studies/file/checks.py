"""What is wrong with a study file whose keys are all right."""

from __future__ import annotations

from collections.abc import Iterator

from optuna.distributions import BaseDistribution

from neurobo.algorithm import check_physics
from neurobo.errors import InvalidInput, NeuroboError, did_you_mean
from neurobo.integrations.optuna.storage_errors import without_secrets
from neurobo.space.input_constraints import bound
from neurobo.space.search_space import Space
from neurobo.studies.file.command import placeholders, unknown_names
from neurobo.studies.file.mistakes import Mistake
from neurobo.studies.file.study_file import StudyFile, conditions_of, distribution_of


def mistakes_of(study: StudyFile) -> Iterator[Mistake]:
    """What only a look at several keys, at other files or at the algorithms can tell."""
    table = study.table
    if table.storage is not None and "://" not in table.storage:
        yield Mistake(
            study.line("storage"),
            "`storage` must be a URL such as 'sqlite:///study.db' or 'postgresql://user@host/db', "
            f"got {without_secrets(table.storage)!r}",
        )
    for key in ("name", "storage"):
        if "\0" in (getattr(table, key) or ""):
            yield Mistake(study.line(key), f"`{key}` must not have NUL characters, got some")
    distributions = {}
    for name, parameter in table.space.items():
        try:
            distributions[name] = distribution_of(parameter)
        except InvalidInput as error:
            yield Mistake(study.line("space", name), f"space.{name}: {error}")
    if len(distributions) == len(table.space):
        mistakes = list(_conditions(study, distributions))
        yield from mistakes or _where(study, distributions)
    if table.pool is not None:
        try:
            _ = study.pool
        except NeuroboError as error:
            yield Mistake(study.line("pool", "path"), f"pool.path: {error}")
    try:
        _ = study.algorithm
    except InvalidInput as error:
        key = "algorithm" if str(error).startswith("algorithm must") else "options"
        yield Mistake(study.line(key), str(error))
    except TypeError as error:  # an option of the wrong kind
        yield Mistake(study.line("options"), f"options: {error}, got {table.options}")
    else:
        yield from _physics(study)
    if table.objective is not None and table.objective.command is not None:
        known = {*table.space, *placeholders(table)}
        for i, argument in enumerate(table.objective.command):
            for name in unknown_names(argument, known):
                yield Mistake(
                    study.line("objective", "command", i),
                    f"objective.command: `{{…}}` must name one of {sorted(known)} "
                    f"(write {{{{ for a brace), got {{{name}}}{did_you_mean(name, known)}",
                )
        yield from _unspeakable(study)


def _conditions(study: StudyFile, distributions: dict[str, BaseDistribution]) -> Iterator[Mistake]:
    """Conditions on parameters that are not there, on each other, or on values that never occur."""
    try:
        Space(distributions, when=conditions_of(study.table.space))
    except InvalidInput as error:
        text = str(error)
        named = [n for n, p in study.table.space.items() if p.when and repr(n) in text]
        first = min(named, key=lambda n: text.index(repr(n)), default="")
        place = ("space", first, "when") if first else ("space",)
        yield Mistake(study.line(*place), f"space: {error}")


def _where(study: StudyFile, distributions: dict[str, BaseDistribution]) -> Iterator[Mistake]:
    """Each constraint alone, and then whether they can be met together."""
    found, when = False, conditions_of(study.table.space)
    for i in range(len(study.table.where)):
        try:
            bound(study.where[i : i + 1], distributions, conditional=when)
        except InvalidInput as error:
            found = True
            yield Mistake(study.line("where", i), str(error))
    if study.table.where and not found:
        try:
            Space(distributions, when=when, where=study.where)
        except InvalidInput as error:
            yield Mistake(study.line("where"), str(error))


def _physics(study: StudyFile) -> Iterator[Mistake]:
    """The algorithm and the law must fit; the law itself is not looked at."""
    try:
        check_physics(study.algorithm, study.table.physics)
    except InvalidInput as error:
        yield Mistake(study.line("physics") or study.line("algorithm"), str(error))


def _unspeakable(study: StudyFile) -> Iterator[Mistake]:
    """No operating system hands a NUL character to a program."""
    objective = study.table.objective
    assert objective is not None
    for name, parameter in study.table.space.items():
        for choice in parameter.choices or ():
            if "\0" in str(choice):
                yield Mistake(
                    study.line("space", name, "choices"),
                    f"space.{name}: a choice must not have NUL characters, got {choice!r}",
                )
    for i, argument in enumerate(objective.command or ()):
        if "\0" in argument:
            yield Mistake(
                study.line("objective", "command", i),
                f"objective.command: an argument must not have NUL characters, got {argument!r}",
            )
