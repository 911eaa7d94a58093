"""What a study file's objective means for one trial, and what its output means."""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neurobo.errors import NeuroboError, short_repr
from neurobo.integrations.optuna.attributes import RESERVED
from neurobo.running.workers import Outcome
from neurobo.space.pool import CANDIDATE
from neurobo.studies.file.command import ID, arguments, kept_folder
from neurobo.studies.file.study_file import StudyFile

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)
_OWN_NAMES = ", ".join(sorted(RESERVED))
LONGEST_NAME = 512
"""Characters of an attribute's name that Optuna's tables can hold."""
TAIL = 2000
"""Characters of a program's output that a failed trial keeps."""


class Requests:
    """Makes an evaluator's request of a trial: `{"kind": …}`, as the evaluator reads it."""

    def __init__(self, study: StudyFile, *, shared: bool = False) -> None:
        """`shared`: other machines evaluate; folders of trials are beside the study file."""
        assert study.table.objective is not None
        self._study, self._objective, self._shared = study, study.table.objective, shared
        self._folders: dict[int, Path] = {}

    @property
    def kind(self) -> str:
        return "command" if self._objective.command is not None else "python"

    @property
    def timeout(self) -> float:
        return math.inf if self._objective.timeout is None else self._objective.timeout

    def request(self, params: Mapping[str, Any], number: int) -> dict[str, Any]:
        study, objective = self._study, self._objective
        params = self.given(params)
        try:
            folder = self._new_folder(number)
        except OSError as error:
            raise NeuroboError(
                f"every trial needs a folder, and the one of trial {number} cannot be made: {error}"
            ) from error
        cwd = folder if objective.working_folder == "trial" else study.folder
        request: dict[str, Any] = {"kind": self.kind, "cwd": str(cwd), "trial": number}
        if objective.keep == "none":
            request["remove"] = str(folder)  # by the evaluator, should this process die
        if objective.command is None:
            module, _, function = str(objective.python).partition(":")
            path = str(study.folder)
            return request | {
                "module": module, "function": function, "path": path, "params": params,
            }  # fmt: skip
        text = json.dumps(params)
        if objective.params_file:
            (folder / objective.params_file).write_text(text + "\n", encoding="utf-8")
        return request | {
            "args": arguments(study, params, number, folder),
            "input": text + "\n" if objective.stdin == "json" else None,
            "env": {
                "NEUROBO_TRIAL": str(number),
                "NEUROBO_TRIAL_FOLDER": str(folder),
                "NEUROBO_STUDY_FOLDER": str(study.folder),
            },
        }

    def given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the objective gets: the parameters, and the id of a pool's candidate."""
        pool = self._study.pool
        if pool is None or pool.ids is None:
            return dict(params)
        return {**params, ID: pool.name(params[CANDIDATE])}

    def _new_folder(self, number: int) -> Path:
        if self._objective.keep == "none" and not self._shared:
            folder = Path(tempfile.mkdtemp(prefix=f"neurobo-trial-{number}-"))
        else:
            folder = kept_folder(self._study, number)
            folder.mkdir(parents=True, exist_ok=True)
        self._folders[number] = folder
        return folder

    def ended(self, number: int, *, failed: bool) -> None:
        """Remove the trial's folder unless it shall be kept."""
        folder = self._folders.pop(number, None)
        keep = self._objective.keep
        if folder is not None and not (keep == "all" or (keep == "failed" and failed)):
            shutil.rmtree(folder, ignore_errors=True)

    def outcome(
        self, reply: Mapping[str, Any], constraints: Sequence[str], printed: str
    ) -> Outcome:
        return outcome(reply, constraints, printed)


# Results ----------------------------------------------------------------------------------------


def outcome(reply: Mapping[str, Any], constraints: Sequence[str], printed: str = "") -> Outcome:
    """What an evaluator's reply says about the trial."""
    out, err = str(reply.get("out", "")), str(reply.get("err", ""))
    shown = tail(err, out) if out or err else tail(printed)
    if error := reply.get("error"):
        why = str(error)[:TAIL]
        return Outcome(failure=why, output=tail(str(reply.get("trace", ""))) or shown)
    if "code" in reply and reply["code"] != 0:
        return Outcome(failure=_ended(reply["code"]), output=shown)
    try:
        result = reply["result"] if "result" in reply else _last_line(out)
        value, found, attrs = _parts(result)
        return Outcome(
            value=_finite("value", value), constraints=_checked(found, constraints), attrs=attrs
        )
    except ValueError as error:
        return Outcome(failure=str(error), output=shown)


def _ended(code: int) -> str:
    if code >= 0:
        return f"the program must end with exit code 0, got {code}"
    hint = " (perhaps by the system, for want of memory)" if code == -9 else ""
    return f"the program was ended by signal {-code}{hint}"


def _last_line(out: str) -> Any:
    rule = "the last line of standard output must be a number or a JSON object"
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{rule}, got no output")
    last = lines[-1]
    if _NUMBER.fullmatch(last):
        return float(last)
    try:
        found = json.loads(last)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{rule}, got {short_repr(last)}")
    return found


def _parts(result: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Value, constraints and attributes of a result in any of its forms."""
    if isinstance(result, list) and len(result) == 2 and isinstance(result[1], dict):
        return result[0], result[1], {}  # (value, {name: c}), as in Python
    if not isinstance(result, dict):
        return result, {}, {}
    unknown = result.keys() - {"value", "constraints", "attrs"}
    if unknown or "value" not in result:
        raise ValueError(
            "a result must have `value` and may have `constraints` and `attrs`, got "
            f"{short_repr(sorted(result))}"
        )
    attrs = result.get("attrs") or {}
    if not isinstance(attrs, dict):
        raise ValueError(f"`attrs` must be an object, got {short_repr(attrs)}")
    for name in attrs:
        if name in RESERVED:
            raise ValueError(
                f"`attrs` must not have the names that neurobo uses itself ({_OWN_NAMES}), got "
                f"{name!r}"
            )
        if not 0 < len(name) <= LONGEST_NAME or "\0" in name:
            raise ValueError(
                f"a name in `attrs` must have 1 to {LONGEST_NAME} characters, none of them NUL, "
                f"got {short_repr(name, 80)}"
            )
    try:
        json.dumps(attrs)
    except RecursionError:
        raise ValueError("`attrs` must not be nested deeply, got too many levels") from None
    return result["value"], result.get("constraints") or {}, attrs


def _finite(name: str, value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        number = float(value) if good else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"the {name} must be a finite number, got {short_repr(value)}")
    return number


def _checked(found: Any, names: Sequence[str]) -> dict[str, float]:
    if not isinstance(found, dict) or found.keys() != set(names):
        raise ValueError(
            f"a result must give the constraints {list(names)}, got "
            f"{short_repr(list(found) if isinstance(found, dict) else found)}"
        )
    return {name: _finite(f"constraint {name!r}", found[name]) for name in names}


def tail(*texts: str) -> str:
    """The end of a text, or of several below each other."""
    share = TAIL // max(len([t for t in texts if t.strip()]), 1)
    return "\n".join(t.strip()[-share:] for t in texts if t.strip())
