"""Linear constraints as people write them: `"copper + tin == 1"`, `"2 * copper <= tin + 0.3"`.

    constraint := sum comparison sum [comparison sum]     comparison := "==" | "<=" | ">="
    sum        := term (("+" | "-") term)*
    term       := factor (("*" | "/") factor)*            at most one factor has names
    factor     := number | name | "(" sum ")" | ("+" | "-") factor

Names that are no identifiers stand in quotes: `"'part A' <= 0.5"`. The text is parsed into exact
coefficients and never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from neurobo.errors import InvalidInput, did_you_mean

LONGEST = 10_000
"""Characters of a constraint."""
SHOWN = 80
"""Of which an error shows this many."""
DEEPEST = 50
"""Parentheses inside each other."""

_TOKEN = re.compile(
    r"(?P<number>(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?(?![\w.]))"
    r"|(?P<name>[^\W\d]\w*)|(?P<quoted>'[^']+'|\"[^\"]+\"|`[^`]+`)"
    r"|(?P<sign>==|<=|>=|\*\*|!=|[-+*/()<>=≤≥])"
)
_MEANT = {
    "=": "write == for an equality",
    "<": "write <=; the boundary belongs to the region",
    ">": "write >=; the boundary belongs to the region",
    "≤": "write <=",
    "≥": "write >=",
    "!=": "a constraint is ==, <= or >=",
    "**": "a constraint must be linear; give a callable for others",
}
_COMPARISONS = ("==", "<=", ">=")


@dataclass(frozen=True)
class Linear:
    """Σ coefficient · parameter <= bound, or == bound, in the user's units."""

    text: str
    coefficients: tuple[tuple[str, Fraction], ...]
    bound: Fraction
    equality: bool


def parse(text: str, names: Collection[str]) -> list[Linear]:
    """The constraints that a text states about parameters of these names; two for a chain."""
    return _Parser(text, names).constraints()


@dataclass(frozen=True)
class _Sum:
    """Σ coefficient · name + constant."""

    of: Mapping[str, Fraction]
    constant: Fraction

    def plus(self, other: _Sum, sign: int) -> _Sum:
        of = dict(self.of)
        for name, c in other.of.items():
            of[name] = of.get(name, Fraction(0)) + sign * c
        return _Sum(of, self.constant + sign * other.constant)

    def times(self, factor: Fraction) -> _Sum:
        return _Sum({n: c * factor for n, c in self.of.items()}, self.constant * factor)


class _Parser:
    def __init__(self, text: str, names: Collection[str]) -> None:
        if len(text) > LONGEST:
            raise InvalidInput(
                f"a constraint must have at most {LONGEST} characters, got {len(text)}"
            )
        self._text, self._names = text, names
        self._at = self._depth = 0
        self._kind = self._token = ""
        self._next()

    def constraints(self) -> list[Linear]:
        sums = [self._sum()]
        signs: list[str] = []
        while self._token in _COMPARISONS and self._kind == "sign":
            if len(signs) == 2 or (signs and "==" in (signs[0], self._token)):
                self._fail("one comparison, or a range such as 0.2 <= x + y <= 0.5, must be given")
            signs.append(self._token)
            self._next()
            sums.append(self._sum())
        if self._token or not signs:
            self._fail("==, <= or >= was expected" if not signs else "the end was expected")
        if len(set(signs)) > 1:
            self._fail("both comparisons of a range must point in one direction")
        return [self._linear(*three) for three in zip(sums, signs, sums[1:], strict=False)]

    def _linear(self, left: _Sum, sign: str, right: _Sum) -> Linear:
        difference = left.plus(right, -1).times(Fraction(-1 if sign == ">=" else 1))
        of = tuple((name, c) for name, c in difference.of.items() if c)
        if not of:
            self._fail("at least one parameter must remain", at=0)
        return Linear(self._text, of, -difference.constant, sign == "==")

    def _sum(self) -> _Sum:
        found = self._term()
        while self._kind == "sign" and self._token in ("+", "-"):
            sign = 1 if self._token == "+" else -1
            self._next()
            found = found.plus(self._term(), sign)
        return found

    def _term(self) -> _Sum:
        found = self._factor()
        while self._kind == "sign" and self._token in ("*", "/"):
            sign, at = self._token, self._start
            self._next()
            other = self._factor()
            if sign == "*" and not found.of:
                found, other = other, found
            if other.of:
                self._fail("a constraint must be linear; give a callable for others", at=at)
            if sign == "/" and not other.constant:
                self._fail("a divisor must not be 0", at=at)
            found = found.times(1 / other.constant if sign == "/" else other.constant)
        return found

    def _factor(self) -> _Sum:
        kind, token, start = self._kind, self._token, self._start
        if kind == "number":
            self._next()
            return _Sum({}, Fraction(token))
        if kind in ("name", "quoted"):
            name = token if kind == "name" else token[1:-1]
            if name not in self._names:
                hint = did_you_mean(name, self._names)
                self._fail(f"a parameter of {sorted(self._names)} was expected{hint}", at=start)
            self._next()
            return _Sum({name: Fraction(1)}, Fraction(0))
        if token not in ("+", "-", "("):
            self._fail("a number, a parameter or '(' was expected")
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"at most {DEEPEST} parentheses and signs may stand inside each other")
        self._next()
        found = self._sum() if token == "(" else self._factor()
        if token == "(":
            if self._token != ")":
                self._fail("')' was expected")
            self._next()
        self._depth -= 1
        return found.times(Fraction(-1)) if token == "-" else found

    def _next(self) -> None:
        """Read the next token; at the end of the text it is empty."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        self._start, self._kind, self._token = self._at, "", ""
        if self._at == len(self._text):
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            self._fail("a number, a parameter or one of + - * / ( ) == <= >= was expected")
        self._kind, self._token, self._at = found.lastgroup, found.group(), found.end()
        if self._kind == "sign" and self._token in _MEANT:
            self._fail(_MEANT[self._token])

    def _fail(self, rule: str, at: int | None = None) -> NoReturn:
        """The rule, the text, and a mark below the place."""
        place = self._start if at is None else at
        line, mark = "".join(" " if c.isspace() else c for c in self._text), place
        if len(line) > SHOWN:
            first = max(0, place - SHOWN // 2)
            line = ("…" if first else "") + line[first : first + SHOWN] + "…"
            mark = place - first + (first > 0)
        raise InvalidInput(
            f"where: {rule}, got at character {place + 1}\n    {line}\n    {' ' * mark}^"
        )
