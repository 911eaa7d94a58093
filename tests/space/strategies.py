"""Hypothesis strategies: search spaces of every kind."""

from __future__ import annotations

import warnings

from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from neurobo.space.search_space import Space

finite = st.floats(-1e12, 1e12, allow_subnormal=False)


@st.composite
def floats(draw: st.DrawFn) -> FloatDistribution:
    kind = draw(st.sampled_from(["linear", "log", "step"]))
    if kind == "log":
        low = draw(st.floats(1e-12, 1e6))
        return FloatDistribution(low, low * draw(st.floats(1.001, 1e12)), log=True)
    if kind == "step":
        step = draw(st.sampled_from([0.1, 0.25, 1.0, 7.5]))
        low = step * draw(st.integers(-1000, 1000))
        with warnings.catch_warnings():  # Optuna rounds `high`, and says so
            warnings.simplefilter("ignore")
            return FloatDistribution(low, low + step * draw(st.integers(1, 500)), step=step)
    low = draw(finite)
    narrowest = max(1e-3, abs(low) * 1e-12)  # narrower ones have too few floats
    return FloatDistribution(low, low + draw(st.floats(narrowest, 1e12)))


@st.composite
def ints(draw: st.DrawFn) -> IntDistribution:
    if draw(st.booleans()):
        low = draw(st.integers(1, 1000))
        return IntDistribution(low, low + draw(st.integers(0, 10**6)), log=True)
    low, step = draw(st.integers(-(10**6), 10**6)), draw(st.integers(1, 9))
    return IntDistribution(low, low + step * draw(st.integers(0, 1000)), step=step)


choices = st.lists(
    st.one_of(st.none(), st.booleans(), st.integers(2, 99), st.text(max_size=5)),
    min_size=1, max_size=6, unique_by=lambda c: (type(c).__name__, c),
)  # fmt: skip
categories = choices.map(CategoricalDistribution)
spaces = st.dictionaries(
    st.text(min_size=1, max_size=3), st.one_of(floats(), ints(), categories), min_size=1, max_size=5
).map(Space)


UNIT = FloatDistribution(0.0, 1.0)


@st.composite
def conditional_spaces(draw: st.DrawFn) -> Space:
    """Trees of parameters: each may depend on some values of discrete ones before it."""
    distributions: dict[str, FloatDistribution | IntDistribution | CategoricalDistribution] = {}
    when: dict[str, dict[str, object]] = {}
    small = st.integers(2, 4).map(lambda n: IntDistribution(1, n))
    kinds = st.one_of(small, st.just(CategoricalDistribution(["u", "v", "w"])), st.just(UNIT))
    for i in range(draw(st.integers(2, 6))):
        parents = [n for n, d in distributions.items() if not isinstance(d, FloatDistribution)]
        name = f"p{i}"
        distributions[name] = draw(kinds)
        for parent in draw(st.lists(st.sampled_from(parents), max_size=2)) if parents else []:
            d = distributions[parent]
            known = list(d.choices) if isinstance(d, CategoricalDistribution) else [1, 2]
            allowed = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
            when.setdefault(name, {})[parent] = allowed
    return Space(distributions, when=when)
