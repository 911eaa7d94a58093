"""Reading a study file: every mistake with its line, the rule and the value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from neurobo.errors import InvalidInput, NeuroboError, did_you_mean
from neurobo.studies import toml_lines
from neurobo.studies.schema import Parameter, StudyTable

if TYPE_CHECKING:
    from neurobo.algorithm import Algorithm
    from neurobo.space.pool import Pool
    from neurobo.space.search_space import Space

LARGEST = 1_000_000
"""Bytes of a study file. Nobody writes a larger one by hand."""


@dataclass(frozen=True)
class Mistake:
    line: int
    """0 if it is not on any line: something is missing."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class InvalidStudyFile(InvalidInput):
    """A study file with all its mistakes."""

    def __init__(self, path: Path, mistakes: list[Mistake]) -> None:
        self.path, self.mistakes = path, sorted(mistakes, key=lambda m: m.line)
        if len(mistakes) == 1:
            super().__init__(f"{path}, {mistakes[0]}")
        else:
            lines = "".join(f"\n  {mistake}" for mistake in self.mistakes)
            super().__init__(f"{path} has {len(mistakes)} mistakes{lines}")


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
        return f"sqlite:///{self.database}" if self.database else str(self.table.storage)

    @property
    def n_start(self) -> int:
        """Points of the start design."""
        from neurobo.search.initial_design import start_size

        lawful = self.table.physics is not None
        return start_size(self.space, self.table.n_startup_trials, lawful=lawful)

    @cached_property
    def pool(self) -> Pool | None:
        from neurobo.studies.pool_file import read_pool

        return None if self.table.pool is None else read_pool(self.folder, self.table.pool)

    @cached_property
    def space(self) -> Space:
        from neurobo.space.pool import CANDIDATE
        from neurobo.space.search_space import Space

        distributions = {name: _distribution(name, p) for name, p in self.table.space.items()}
        if self.pool is None:
            return Space.of(distributions)
        pools = {CANDIDATE: self.pool}
        return Space({**distributions, CANDIDATE: self.pool.distribution}, pools=pools)

    @cached_property
    def algorithm(self) -> Algorithm:
        from neurobo.algorithm.registry import build

        return build(self.table.algorithm, **self.table.options)

    @property
    def noisy(self) -> bool:
        """Whether the algorithm is told that values are noisy: then everybody may know."""
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


def read_study(path: Path) -> StudyFile:
    """The file at `path`. Everything in it is checked, nothing is executed or imported."""
    path = path.absolute()
    text = _text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidStudyFile(path, [_syntax(error, text)]) from None
    try:
        table = StudyTable.model_validate(raw)
    except ValidationError as error:
        lines = toml_lines.lines_of(text)
        found = [_explained(dict(one), lines) for one in error.errors()]
        raise InvalidStudyFile(path, found) from None
    study = StudyFile(path, table, text)
    mistakes = list(_deeper(study))
    if mistakes:
        raise InvalidStudyFile(path, mistakes)
    return study


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise InvalidInput(f"a study file was expected, got the folder {path}")
        if size > LARGEST:
            raise InvalidInput(
                f"a study file must be smaller than {LARGEST:,} bytes, got {size:,}: {path}"
            )
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(
            f"a study file was expected, got {path}, which does not exist"
            + (_similar(path) or "; `neurobo init` writes one")
        ) from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        bad = error.object[error.start : error.start + 1]
        raise InvalidStudyFile(
            path, [Mistake(line, f"a study file must be UTF-8 text, got the byte {bad!r}")]
        ) from None
    except OSError as error:
        raise InvalidInput(f"a study file must be readable, got {path}: {error.strerror}") from None


def _similar(path: Path) -> str:
    return did_you_mean(path.name, [other.name for other in path.parent.glob("*.toml")])


def _syntax(error: tomllib.TOMLDecodeError, text: str) -> Mistake:
    rule, _, place = str(error).partition(" (at ")
    found = re.match(r"line (\d+)", place)
    line = int(found[1]) if found else text.count("\n") + 1
    shown = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    rule += " (a text must be in quotes)" * (rule == "Invalid value")
    return Mistake(line, f"not valid TOML: {rule[:1].lower()}{rule[1:]}, got {_short(shown)}")


def _explained(error: dict[str, Any], lines: dict[toml_lines.Path, int]) -> Mistake:
    """One of pydantic's errors: where, the rule, what was given."""
    path = tuple(error["loc"])
    while path and path not in lines and error["type"] != "missing":
        path = path[:-1]  # pydantic also names the members of a union
    place, name = path, _dotted(path)
    while place and place not in lines:
        place = place[:-1]
    line, given = lines.get(place, 0), error["input"]
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "missing":
        return Mistake(line, f"`{name}` must be given, got nothing")
    if kind == "extra_forbidden":
        known = _known_keys(path[:-1])
        hint = did_you_mean(path[-1], known) or f"; known are {', '.join(known)}"
        return Mistake(line, f"`{name}` is not a key of a study file, got {_short(given)}{hint}")
    if kind == "value_error":
        return Mistake(line, f"{name + ': ' if name else ''}{limits['error']}")
    rule = _RULES.get(kind, error["msg"][:1].lower() + error["msg"][1:])
    text = rule.format(**{k: v for k, v in limits.items() if isinstance(k, str)})
    return Mistake(line, f"`{name}` {text}, got {_short(given)}")


_RULES = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "string_pattern_mismatch": "must have the form module:function",
}


def _known_keys(table: tuple[Any, ...]) -> list[str]:
    """The keys that a table of the file may have."""
    model: Any = StudyTable
    for part in table:
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        model = Parameter if field is None else _model_of(field.annotation)
    return list(getattr(model, "model_fields", {}))


def _model_of(annotation: Any) -> Any:
    for one in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return annotation


def _deeper(study: StudyFile) -> Iterator[Mistake]:
    """What only a look at several keys, at other files or at the algorithms can tell."""
    table = study.table
    if table.storage is not None and "://" not in table.storage:
        yield Mistake(
            study.line("storage"),
            "`storage` must be a URL such as 'sqlite:///study.db' or 'postgresql://user@host/db', "
            f"got {table.storage!r}",
        )
    for name, parameter in table.space.items():
        try:
            _distribution(name, parameter)
        except InvalidInput as error:
            yield Mistake(study.line("space", name), f"space.{name}: {error}")
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
        from neurobo.studies.objective import placeholders

        known = {*table.space, *placeholders(table)}
        for i, argument in enumerate(table.objective.command):
            for name in unknown_names(argument, known):
                yield Mistake(
                    study.line("objective", "command", i),
                    f"objective.command: `{{…}}` must name one of {sorted(known)} "
                    f"(write {{{{ for a brace), got {{{name}}}{did_you_mean(name, known)}",
                )
        yield from _unspeakable(study)


def _physics(study: StudyFile) -> Iterator[Mistake]:
    """The algorithm and the law must fit; the law itself is not looked at."""
    from neurobo.algorithm.registry import check_physics

    try:
        check_physics(study.algorithm, study.table.physics)
    except InvalidInput as error:
        yield Mistake(study.line("physics") or study.line("algorithm"), str(error))


def unknown_names(argument: str, known: set[str]) -> list[str]:
    from neurobo.studies.objective import NAMES

    found = [m[1] for m in NAMES.finditer(argument) if m[1] is not None]
    return [name for name in found if name not in known]


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


def _distribution(name: str, p: Parameter) -> Any:
    from neurobo.space.distributions import categorical, float_range, int_range

    if p.choices is not None:
        return categorical(p.choices)
    assert p.low is not None
    assert p.high is not None
    if p.type == "int":
        step = 1 if p.step is None else p.step
        return int_range(p.low, p.high, log=p.log, step=step)  # type: ignore[arg-type]
    return float_range(p.low, p.high, log=p.log, step=p.step)


def _dotted(path: tuple[Any, ...]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if re.fullmatch(r"[\w-]+", part) else repr(part))
    return text


def _short(value: Any, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + " …"
