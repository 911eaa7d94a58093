"""Reading a study file: every mistake with its line, the rule and the value."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from neurobo.errors import InvalidInput, did_you_mean
from neurobo.studies.file import toml_lines
from neurobo.studies.file.checks import mistakes_of
from neurobo.studies.file.mistakes import InvalidStudyFile, Mistake, schema_mistake, syntax_mistake
from neurobo.studies.file.schema import StudyTable
from neurobo.studies.file.study_file import StudyFile

LARGEST = 1_000_000
"""Bytes of a study file. Larger ones are not written by hand."""
DEEPEST = 32
"""Tables and lists within each other."""
_KEY_START = re.compile(r"[^,=#\]]*")
_DEPTH_RULE = f"tables and lists must be nested at most {DEEPEST} deep, got more"
_NUMBER_RULE = "a whole number must fit into 64 bits"


def read_study(path: Path) -> StudyFile:
    """The file at `path`. Everything in it is checked, nothing is executed or imported."""
    path = path.absolute()
    text = _text(path)
    # tomllib would work for long on a key of thousands of parts.
    if any(_KEY_START.match(line)[0].count(".") > 1000 for line in text.split("\n")):  # type: ignore[index]
        raise InvalidStudyFile(path, [Mistake(0, _DEPTH_RULE)])
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidStudyFile(path, [syntax_mistake(error, text)]) from None
    except RecursionError:
        raise InvalidStudyFile(path, [Mistake(0, _DEPTH_RULE)]) from None
    except ValueError:  # Python converts no number of so many digits
        rule = f"{_NUMBER_RULE}, got one of thousands of digits"
        raise InvalidStudyFile(path, [Mistake(0, rule)]) from None
    if rule := _beyond_limits(raw):
        raise InvalidStudyFile(path, [Mistake(0, rule)])
    try:
        table = StudyTable.model_validate(raw)
    except ValidationError as error:
        lines = toml_lines.lines_of(text)
        found = [schema_mistake(one, lines) for one in error.errors()]
        raise InvalidStudyFile(path, found) from None
    study = StudyFile(path, table, text)
    mistakes = list(mistakes_of(study))
    if mistakes:
        raise InvalidStudyFile(path, mistakes)
    return study


def _beyond_limits(raw: dict[str, Any]) -> str:
    """What no study needs, and what makes programs slow or break; "" if there is nothing."""
    level: list[Any] = [raw]
    for _ in range(DEEPEST):
        values = [v for one in level for v in (one.values() if isinstance(one, dict) else one)]
        if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in values):
            return f"{_NUMBER_RULE}, got a larger one"
        level = [v for v in values if isinstance(v, dict | list)]
        if not level:
            return ""
    return _DEPTH_RULE


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
