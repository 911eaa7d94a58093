"""Mistakes in a study file: where, the rule, and what was given."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from neurobo.errors import InvalidInput, did_you_mean, short_repr
from neurobo.studies.file import toml_lines
from neurobo.studies.file.schema import Parameter, StudyTable

SHOWN = 20
"""Mistakes that a message lists."""


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
            lines = "".join(f"\n  {mistake}" for mistake in self.mistakes[:SHOWN])
            if len(mistakes) > SHOWN:
                lines += f"\n  and {len(mistakes) - SHOWN} more"
            super().__init__(f"{path} has {len(mistakes)} mistakes{lines}")


def syntax_mistake(error: tomllib.TOMLDecodeError, text: str) -> Mistake:
    rule, _, place = str(error).partition(" (at ")
    found = re.match(r"line (\d+)", place)
    line = int(found[1]) if found else text.count("\n") + 1
    shown = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    rule += " (a text must be in quotes)" * (rule == "Invalid value")
    return Mistake(
        line, f"not valid TOML: {rule[:1].lower()}{rule[1:]}, got {short_repr(shown, 80)}"
    )


def schema_mistake(error: Mapping[str, Any], lines: dict[toml_lines.Path, int]) -> Mistake:
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
        return Mistake(
            line, f"`{name}` is not a key of a study file, got {short_repr(given, 80)}{hint}"
        )
    if kind == "value_error":
        return Mistake(line, f"{name + ': ' if name else ''}{limits['error']}")
    rule = _RULES.get(kind, error["msg"][:1].lower() + error["msg"][1:])
    text = rule.format(**{k: v for k, v in limits.items() if isinstance(k, str)})
    return Mistake(line, f"`{name}` {text}, got {short_repr(given, 80)}")


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


def _dotted(path: tuple[Any, ...]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if re.fullmatch(r"[\w-]+", part) else repr(part))
    return text
