from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurobo.errors import InvalidInput
from neurobo.space.linear_constraints import LONGEST, Linear, parse

NAMES = ("copper", "tin", "zinc", "part A")


def _one(text: str) -> Linear:
    (found,) = parse(text, NAMES)
    return found


@pytest.mark.parametrize(
    ("text", "coefficients", "bound", "equality"),
    [
        ("copper + tin + zinc == 1", {"copper": 1, "tin": 1, "zinc": 1}, 1, True),
        ("2 * copper <= tin + 0.3", {"copper": 2, "tin": -1}, Fraction(3, 10), False),
        ("copper >= 1e-1", {"copper": -1}, Fraction(-1, 10), False),
        ("-(copper - 2 * (tin)) / 4 <= .5", {"copper": -0.25, "tin": 0.5}, 0.5, False),
        ("'part A'*3*2 <= 1 - `zinc`", {"part A": 6, "zinc": 1}, 1, False),
        ("copper + copper <= 1", {"copper": 2}, 1, False),
        ("(1 + 2) * copper <= 6 / 4", {"copper": 3}, 1.5, False),
    ],
)
def test_a_text_becomes_exact_coefficients(
    text: str, coefficients: dict[str, float], bound: float, equality: bool
) -> None:
    found = _one(text)
    assert dict(found.coefficients) == coefficients
    assert found.bound == Fraction(bound)
    assert found.equality == equality


def test_a_range_is_two_constraints() -> None:
    low, high = parse("0.2 <= copper + tin <= 0.5", NAMES)
    assert dict(low.coefficients) == {"copper": -1, "tin": -1}
    assert (low.bound, high.bound) == (Fraction(-1, 5), Fraction(1, 2))


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("copper + * tin == 1", "a number, a parameter or '('", 9),
        ("coper <= 1", "did you mean 'copper'", 0),
        ("1 <= tin * copper", "must be linear", 9),
        ("copper < 1", "write <=", 7),
        ("copper = 1", "write ==", 7),
        ("copper ** 2 <= 1", "must be linear", 7),
        ("copper", "==, <= or >= was expected", 6),
        ("1 <= 2", "at least one parameter", 0),
        ("copper - copper <= 2", "at least one parameter", 0),
        ("copper == 1 == 2", "one comparison", 12),
        ("(copper <= 1", "')' was expected", 8),
        ("copper / 0 <= 1", "must not be 0", 7),
        ("copper <= 1 2", "the end was expected", 12),
        ("copper <= 1e9999", "a number, a parameter", 10),
        ("__import__('os') <= 1", "a parameter of", 0),
        ("copper ; tin", "one of + - * /", 7),
        ("(" * 60 + "copper", "inside each other", 50),
    ],
)
def test_errors_point_at_the_place(text: str, rule: str, place: int) -> None:
    with pytest.raises(InvalidInput) as error:
        parse(text, NAMES)
    message, line, mark = str(error.value).split("\n")
    assert rule in message
    assert line.strip() == text.strip()
    assert mark.index("^") == 4 + place


def test_of_a_long_text_the_error_shows_the_place_only() -> None:
    with pytest.raises(InvalidInput) as error:
        parse("copper + tin + " * 30 + "copper + lead <= 1", NAMES)
    _, line, mark = str(error.value).split("\n")
    assert len(line) < 100
    assert line[mark.index("^") :].startswith("lead")


def test_a_constraint_has_a_largest_length() -> None:
    with pytest.raises(InvalidInput, match="at most 10000 characters"):
        parse("copper <= " + "1" * LONGEST, NAMES)


@given(st.text(alphabet="ab01.+-*/()=<> e'", max_size=30))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        found = parse(text, ("a", "b"))
    except InvalidInput:
        return
    assert all(row.coefficients for row in found)


@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.sampled_from(["<=", ">=", "=="]),
    st.tuples(st.integers(-5, 5), st.integers(-5, 5)),
)
def test_a_constraint_means_what_python_means(
    left: list[int], right: list[int], sign: str, at: tuple[int, int]
) -> None:
    sides = [f"{a} * x - ({b} * y - {c})" for a, b, c in (left, right)]
    values = [a * at[0] - (b * at[1] - c) for a, b, c in (left, right)]
    expected = {"<=": values[0] <= values[1], ">=": values[0] >= values[1]}
    try:
        (found,) = parse(f"{sides[0]} {sign} {sides[1]}", ("x", "y"))
    except InvalidInput:
        assert left[:2] == right[:2]
        return
    total = sum(c * {"x": at[0], "y": at[1]}[name] for name, c in found.coefficients)
    holds = total == found.bound if found.equality else total <= found.bound
    assert holds == expected.get(sign, values[0] == values[1])
