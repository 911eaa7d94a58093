from __future__ import annotations

import numpy as np
import pytest

from neurobo.bench.problems import problem
from neurobo.bench.problems.documents import COUNT, categories, hierarchical_f1, word_counts
from neurobo.bench.problems.stored import stored
from neurobo.errors import InvalidInput

DOCUMENTS = problem("documents-500")


def rating(which: int) -> float:
    return DOCUMENTS.evaluate({"candidate": which}, np.random.default_rng(0)).value


def test_the_pool_is_word_counts() -> None:
    assert DOCUMENTS.pool is not None
    counts = DOCUMENTS.pool()["candidate"]
    assert counts.shape == (COUNT, 500)
    assert counts.sum(1).min() >= 20  # as the corpus was chosen
    assert (counts > 0).any(0).all()
    assert DOCUMENTS.kinds == {"pool"}


def test_the_corpus_is_what_it_says() -> None:
    data = stored("documents")
    names = [name.decode() for name in data["names"]]
    assert len(set(names)) == COUNT
    vocabulary = [word.decode() for word in data["vocabulary"]]
    assert vocabulary == sorted(set(vocabulary))
    game = names.index(next(n for n in names if "chess" in n))
    assert word_counts()[game, vocabulary.index("game")] > 0
    own = {data["categories"][i].decode() for i in np.flatnonzero(categories(game))}
    assert {"game", "section games"} <= own


def test_categories_contain_their_ancestors() -> None:
    names = [name.decode() for name in stored("documents")["categories"]]
    everything = np.array([categories(i) for i in range(COUNT)])
    assert everything.any(0).all()
    for name, column in zip(names, everything.T, strict=True):
        wider = name.rpartition("::")[0]
        if wider:
            assert everything[column, names.index(wider)].all(), name


def test_hierarchical_f1_by_hand() -> None:
    one, other = np.array([1, 1, 1, 0, 0], bool), np.array([1, 1, 0, 1, 0], bool)
    assert hierarchical_f1(one, other) == pytest.approx(2 / 3)
    assert hierarchical_f1(one, one) == 1
    assert hierarchical_f1(one, ~one) == 0
    wide = np.ones(5, bool)  # precision 1, recall 3/5
    assert hierarchical_f1(one, wide) == pytest.approx(2 * 0.6 / 1.6)


def test_the_wanted_document_is_best() -> None:
    values = np.array([rating(i) for i in range(COUNT)])
    assert DOCUMENTS.best == {"candidate": int(values.argmin())}
    assert values.min() == DOCUMENTS.optimum == -1
    assert np.sort(values)[1] > -0.9  # no second one: it has to be found
    assert len(np.unique(values)) > 30  # and there is a way to it


def test_words_tell_something_about_the_rating() -> None:
    """Otherwise no method could do better than chance."""
    values = np.array([rating(i) for i in range(COUNT)])
    shares = word_counts() / word_counts().sum(1, keepdims=True)
    wanted = shares[DOCUMENTS.best["candidate"]] if DOCUMENTS.best else shares[0]
    closeness = (shares @ wanted) / np.linalg.norm(shares, axis=1)
    near = np.argsort(-closeness)[1:101]  # the first is itself
    assert values[near].mean() < values.mean() - 0.05


@pytest.mark.parametrize("which", [-1, COUNT, "sinfo"])
def test_a_document_outside_the_corpus_is_refused(which: object) -> None:
    with pytest.raises(InvalidInput, match="must lie in"):
        DOCUMENTS.evaluate({"candidate": which}, np.random.default_rng(0))
