"""Find the document that a reader has in mind, by the reader's ratings of suggested ones.

The documents are descriptions of 2000 Debian packages, known to the optimiser as counts of 500
words. Their categories, which it does not see, are the packages' sections and Debtags, where a tag
is part of wider ones. A rating is the hierarchical F1 score of Kiritchenko et al. (2005) between
the suggested document and the wanted one. `benchmarks/make_documents.py` made the corpus.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from neurobo.bench.problem import Problem, of_function
from neurobo.bench.problems.stored import stored
from neurobo.space.distributions import int_range
from neurobo.space.search_space import Params, Space

COUNT = 2000
WANTED = 1701
"""Drawn once among all; it is the package sinfo."""


def word_counts() -> Float[np.ndarray, "2000 500"]:
    return stored("documents")["counts"].astype(float)


def categories(which: int) -> Bool[np.ndarray, " categories"]:
    """Which categories a document belongs to, those that contain another one of its included."""
    data = stored("documents")
    bits = np.unpackbits(data["labels"][which], count=len(data["categories"]))
    return bits.astype(bool)


def hierarchical_f1(one: Bool[np.ndarray, " k"], other: Bool[np.ndarray, " k"]) -> float:
    """Harmonic mean of precision and recall, for sets that contain all their ancestors."""
    return float(2 * np.sum(one & other) / (np.sum(one) + np.sum(other)))


def retrieval(name: str, wanted: int) -> Problem:
    """The search for one document among all."""
    space = Space.of({"candidate": int_range(0, COUNT - 1)})

    def rating(params: Params) -> float:
        suggested = space.params(params)["candidate"]
        return -hierarchical_f1(categories(suggested), categories(wanted))

    return of_function(
        name,
        f"the wanted one of {COUNT} package descriptions: minus the hierarchical F1 score",
        rating,
        space,
        source="after Phan-Trong et al. 2023, Neural-BO, 7.2.2, with Debian's packages",
        optimum=-1.0,
        best={"candidate": wanted},
        budget=200,
        pool=lambda: {"candidate": word_counts()},
    )


PROBLEMS = (retrieval("documents-500", WANTED),)
