"""The reference of study files, from their schema: `python -m neurobo.studies.file.reference`."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from neurobo.studies.file.schema import (
    AtMostTable,
    Budget,
    Engine,
    Lease,
    Objective,
    Parameter,
    Physics,
    PoolTable,
    StudyTable,
    Values,
)

_TABLES: dict[str, type[BaseModel]] = {
    "Top of the file": StudyTable,
    "[budget]": Budget,
    "[space]: one entry for each parameter": Parameter,
    "`when` of a number, as a range": Values,
    "where: a constraint that counts": AtMostTable,
    "[objective]": Objective,
    "[engine]": Engine,
    "[pool]": PoolTable,
    "[lease]": Lease,
    "[physics]": Physics,
}

_HEAD = """# The study file

Generated from the schema; do not edit: `python -m neurobo.studies.file.reference >
docs/study-file.md`.

A study is described by a TOML file. `neurobo init` writes one with comments. `neurobo check`
explains its settings, and reports each error with the line, the rule and the value. `neurobo run`
executes the objective; `neurobo run` and `neurobo ask` import and call the function of `[physics]
residual`; no other command executes anything that the file names (the
[table of all commands](../SECURITY.md#what-a-study-file-can-execute)). Top-level keys must precede
the first `[table]`.
"""

_TAIL = """
## Input of a program

An argument of `command` may contain `{name}` for the value of the parameter `name`, and

| name | meaning |
|---|---|
| `{trial}` | the number of the trial |
| `{trial_folder}` | the folder of the trial, in which the program runs |
| `{study_folder}` | the folder of the study file |
| `{params_file}` | the JSON file with all parameters, if `params_file` is given |
| `{candidate}`, `{id}` | the index of a pool's candidate, and its id if `ids` is given |

An inactive parameter (its `when` does not hold) has no value: its argument is empty, and it is
absent from JSON and from the dict of a Python function. Values are substituted once and are never
interpreted, neither by neurobo nor by a shell. Write `{{` and `}}` for braces. An argument without
names that is a file beside the study file is passed with its full path, because the program runs in
another folder. The environment variables `NEUROBO_TRIAL`, `NEUROBO_TRIAL_FOLDER` and
`NEUROBO_STUDY_FOLDER` are set. A Python function receives all parameters as a dict (and `id`).

## Output of a program

The last non-empty line of standard output is the result: a number, or a JSON object

{"value": 3.2, "constraints": {"stress": -0.1}, "attrs": {"mesh": "fine"}}

with every constraint of the file by name; `attrs` are stored as attributes of the trial. A Python
function returns the number, `(value, {"stress": -0.1})`, or the same object as a dict. A trial
fails if the exit code is not 0, at the time-out, and if the value is not a finite number; the
reason and the end of its output are stored. At the time-out the program and all its children
receive SIGTERM, and SIGKILL two seconds later.
"""


def reference() -> str:
    parts = [_HEAD]
    for title, model in _TABLES.items():
        about = (model.__doc__ or "").strip()
        rows = [
            f"| `{name}` | {_kind(field)} | {_default(field)} | {field.description} |"
            for name, field in model.model_fields.items()
        ]
        head = "| key | type | default | meaning |\n|---|---|---|---|"
        parts.append(f"## {title}\n\n{about}\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts) + _TAIL


def _kind(field: FieldInfo) -> str:
    return _named(field.annotation)


def _named(annotation: Any) -> str:
    if annotation in (types.NoneType, Any):
        return "anything" if annotation is Any else ""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    plain = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if annotation in plain:
        return plain[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in arguments)
    if origin is typing.Annotated:
        return _named(arguments[0])
    if origin is list:
        return f"list of {_named(arguments[0])}s" if arguments[0] is str else "list"
    if origin is dict:
        return "table"
    return " or ".join(dict.fromkeys(filter(None, map(_named, arguments))))


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "required"
    if value is None or value == {} or value == [] or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:g}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
