"""When failed evaluations stop a run: an objective that is broken should not spend the budget."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from neurobo.errors import check_count
from neurobo.integrations.optuna.attributes import CANCELLED
from neurobo.running.workers import Outcome

MaxFailures = int | Literal["auto"] | None

CERTAIN, LIKELY = 3, 20
"""How many of a run's first evaluations must fail alike before it stops: with an error of the
program, and with any other error, which may come from the points."""

PROGRAMMING = {
    "AttributeError", "ImportError", "IndentationError", "KeyError", "ModuleNotFoundError",
    "NameError", "NotImplementedError", "SyntaxError", "TabError", "TypeError", "UnboundLocalError",
}  # fmt: skip
_EXCEPTION = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception))(?::.*)?$", re.MULTILINE)
_PLACE = re.compile(r'^\s*File "(.+)", line (\d+)', re.MULTILINE)
_NOT_STARTED = re.compile(r"cannot be started|exit code 0, got 12[67]\b|python\S*: can't open file")
_NOT_FINITE = re.compile(r"must (be|return) a finite number, got -?(nan|inf)$")
_DIFFERS = re.compile(r"0x[0-9a-f]+|neurobo-trial-\d+-\w+|\.trials/\d+")
"""Addresses and folders of trials, which differ in texts that otherwise are the same."""


class Stop(NamedTuple):
    """Why a run stops."""

    message: str
    void: list[int]
    """Failed trials that say nothing about their points."""


class Failures:
    """Watches the evaluations of one run.

    `most` is the number of failures that stop the run. With "auto", and with a number too, a run
    also stops when its first evaluations all fail alike; with None nothing stops it. `receives`
    says what the objective is called with.
    """

    def __init__(self, most: MaxFailures = "auto", *, receives: str = "") -> None:
        if most not in (None, "auto"):
            check_count("max_failures", most)
        self._most, self._receives = most, receives
        self._count = 0
        self._last = Outcome()
        self._first: list[int] = []
        """The first evaluations, in the order in which they began: slow ones, which may succeed,
        are awaited before the others' failures count."""
        self._alike: set[int] = set()
        """All that have ended, until one of them does not fail like the others."""
        self._watching = True

    def begin(self, number: int) -> None:
        if len(self._first) < LIKELY:
            self._first.append(number)

    def end(self, number: int, outcome: Outcome) -> None:
        if outcome.lost or outcome.failure == CANCELLED:
            self._first = [n for n in self._first if n != number]
            return
        before = self._last if self._count else outcome
        if outcome.failure:
            self._count += 1
            self._last = outcome
        if not outcome.failure or _is_not_finite(outcome) or _what(outcome) != _what(before):
            self._watching = False
            self._alike.clear()
        if self._watching:
            self._alike.add(number)

    @property
    def undecided(self) -> bool:
        """Whether to begin nothing more before the first evaluations have ended: enough others have
        failed by an error of the program."""
        first = set(self._first[:CERTAIN])
        return self._most is not None and self._broken and not first <= self._alike

    def stop(self) -> Stop | None:
        """Whether the run should stop now, and why."""
        if self._most is None:
            return None
        if isinstance(self._most, int) and self._count >= self._most:
            why = f"max_failures={self._most} evaluations failed; the last one: "
            return Stop(why + _shown(self._last), [])
        needed = CERTAIN if self._broken else LIKELY
        first = self._first[:needed]
        if len(first) < needed or not set(first) <= self._alike:
            return None
        why = f"the first {len(self._alike)} evaluations failed with the same error: "
        message = f"{why}{_shown(self._last)}\n{self._hint()}"
        return Stop(message, sorted(self._alike) if self._broken else [])

    @property
    def _broken(self) -> bool:
        """Whether enough evaluations have failed, all of them by the same error of the program."""
        return len(self._alike) >= CERTAIN and is_programming_error(self._last)

    def _hint(self) -> str:
        if not self._broken:
            absent = "got None" in self._last.failure
            return ("Does the objective return its value? " if absent else "") + (
                "These trials stay in the study as failed. Running again goes on with other "
                "points; max_failures=None in neurobo.minimize never stops."
            )
        asked = _kind(self._last) in ("KeyError", "TypeError") and self._receives
        told = f"The objective is called with one argument: {self._receives}. " if asked else ""
        return f"{told}Correct the objective and run again: these trials do not count."


def is_programming_error(outcome: Outcome) -> bool:
    """Whether the program is broken, rather than the point bad. A simulation that failed often
    returns None, and what is done with that raises a TypeError or an AttributeError."""
    if _NOT_STARTED.search(f"{outcome.failure}\n{outcome.output}"):
        return True
    return _kind(outcome) in PROGRAMMING and "NoneType" not in outcome.failure + outcome.output


def _is_not_finite(outcome: Outcome) -> bool:
    """Whether there is a number after all, which comes from a program that ran to its end."""
    return bool(_NOT_FINITE.search(outcome.failure))


def _kind(outcome: Outcome) -> str:
    """The exception that ended the evaluation, or ""."""
    found = _EXCEPTION.findall(outcome.output)
    return found[-1] if found else ""


def _what(outcome: Outcome) -> tuple[str, str, tuple[str, str]]:
    """What must be the same in failures that are alike: reason, exception and place in the code."""
    text = _DIFFERS.sub("", outcome.output)
    exceptions = [match.group() for match in _EXCEPTION.finditer(text)]
    last = exceptions[-1] if exceptions else text.rpartition("\n")[2]
    places = _PLACE.findall(text)
    return _DIFFERS.sub("", outcome.failure), last, places[-1] if places else ("", "")


def _shown(outcome: Outcome) -> str:
    """The reason, and the traceback or what was printed."""
    lines = outcome.output.splitlines()
    if lines and _EXCEPTION.fullmatch(lines[-1]):  # as Python shows it
        return "\n".join([lines[-1], *(lines if len(lines) > 1 else ())])
    return "\n".join([outcome.failure, *lines])
