"""When failed evaluations stop a run: an objective that is broken should not spend the budget."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from neurobo.errors import check_count
from neurobo.workers import Outcome

MaxFailures = int | Literal["auto"] | None

CERTAIN, LIKELY = 3, 10
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
        self._alike: dict[int, Outcome] | None = {}
        """All that have failed so far; None once one succeeded or failed differently."""

    def begin(self, number: int) -> None:
        if len(self._first) < LIKELY:
            self._first.append(number)

    def end(self, number: int, outcome: Outcome) -> None:
        if outcome.lost:
            self._first = [n for n in self._first if n != number]
            return
        if outcome.failure:
            self._count += 1
            self._last = outcome
        if self._alike is None:
            return
        known = next(iter(self._alike.values()), outcome)
        if _says_nothing_about_the_program(outcome) or _what(outcome) != _what(known):
            self._alike = None
        else:
            self._alike[number] = outcome

    def stop(self) -> Stop | None:
        """Whether the run should stop now, and why."""
        if self._most is None:
            return None
        if isinstance(self._most, int) and self._count >= self._most:
            why = f"max_failures={self._most} evaluations failed; the last one: "
            return Stop(why + _shown(self._last), [])
        if not self._alike:
            return None
        outcome = next(iter(self._alike.values()))
        broken = is_programming_error(outcome)
        needed = CERTAIN if broken else LIKELY
        first = self._first[:needed]
        if len(first) < needed or not set(first) <= self._alike.keys():
            return None
        why = f"the first {len(self._alike)} evaluations failed with the same error: "
        hint = self._hint(outcome) if broken else (
            "These trials stay in the study as failed. Running again goes on with other points; "
            "max_failures=None in neurobo.minimize never stops."
        )  # fmt: skip
        void = sorted(self._alike) if broken else []
        return Stop(f"{why}{_shown(outcome)}\n{hint}", void)

    def _hint(self, outcome: Outcome) -> str:
        asked = _kind(outcome) in ("KeyError", "TypeError") and self._receives
        told = f"The objective is called with one argument: {self._receives}. " if asked else ""
        return f"{told}Correct the objective and run again: these trials do not count."


def is_programming_error(outcome: Outcome) -> bool:
    """Whether the program is broken, rather than the point bad. A simulation that failed often
    returns None, and what is done with that raises a TypeError or an AttributeError."""
    if _NOT_STARTED.search(f"{outcome.failure}\n{outcome.output}"):
        return True
    return _kind(outcome) in PROGRAMMING and "NoneType" not in outcome.failure + outcome.output


def _says_nothing_about_the_program(outcome: Outcome) -> bool:
    """A number that is not finite comes from a program that ran to its end."""
    return not outcome.failure or bool(_NOT_FINITE.search(outcome.failure))


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
    return f"{outcome.failure}\n{outcome.output}".strip()
