"""What newcomers ask is answered at most two clicks from the start page.

A click is the text of a link on the page that the reader is on; the answer must be in the section
that the last link leads to. Links and anchors of the built site are checked by `make docs`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from documents import ROOT

START = ROOT / "docs" / "index.md"


class Question(NamedTuple):
    asked: str
    clicks: tuple[str, ...]
    answer: str


QUESTIONS = (
    Question("How do I install it and try it?", ("Get started",), "pip install ."),
    Question(
        "Which algorithm should I use?",
        ("Which algorithm, which option",),
        'Use `algorithm="auto"`, the default',
    ),
    Question("My objective is noisy. What do I set?", ("Noise",), "neurobo.Auto(noisy=True)"),
    Question(
        "My parameters must sum to one.",
        ("Mixtures and known constraints",),
        "copper + tin + zinc == 1",
    ),
    Question(
        "Can I stop and continue?",
        ("Stop and continue",),
        "the same call continues where it stopped",
    ),
    Question(
        "Is it safe to run this study file?",
        ("Security",),
        "`neurobo check` ends with the sentence",
    ),
    Question(
        "My simulation crashes for some settings.",
        ("Constraints",),
        "learns where evaluations fail",
    ),
    Question(
        "I already use Optuna. What changes?",
        ("Optuna: change the sampler",),
        "sampler=neurobo.NeuroSampler(seed=0)",
    ),
    Question(
        "I have results from before.",
        ("Import earlier results",),
        "neurobo import study.toml earlier.csv",
    ),
    Question(
        "Which result should I use in the end?", ("The recommended point",), "neurobo.recommend"
    ),
    Question("How long does a suggestion take?", ("Time",), "Processor seconds"),
    Question("Is it better than what I use now?", ("Scoreboard",), "optuna-tpe"),
    Question(
        "How do I use it on a Slurm cluster?",
        ("A cluster", "From a laptop to a cluster"),
        "submitit",
    ),
    Question(
        "What happens when a machine crashes?",
        ("A cluster", "Reliability"),
        "`kill -9` at any instant",
    ),
    Question(
        "I typed a wrong value. How do I correct it?",
        ("FAQ",),
        "neurobo tell study.toml 3 2.5 --replace",
    ),
    Question("How do I maximise?", ("Which algorithm, which option",), 'direction="maximize"'),
    Question(
        "What does the option `gamma` mean?",
        ("Which algorithm, which option", "The API reference"),
        "::: neurobo.NeuralGreedy",
    ),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.asked)
def test_the_answer_is_at_most_two_clicks_away(question: Question) -> None:
    assert 1 <= len(question.clicks) <= 2
    page, anchor = START, ""
    for text in question.clicks:
        page, anchor = followed(page, text)
    assert question.answer in " ".join(section(page.read_text(), anchor).split())


def test_a_link_that_is_not_there_is_not_followed() -> None:
    with pytest.raises(AssertionError, match="no link"):
        followed(START, "Buy now")
    with pytest.raises(AssertionError, match="no section"):
        section(START.read_text(), "prices")


def followed(page: Path, text: str) -> tuple[Path, str]:
    """Where the first link with this text leads: a file, and an anchor or nothing."""
    words = r"\s+".join(map(re.escape, text.split()))
    link = re.search(rf"\[{words}\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text())
    assert link is not None, f"{page.name} has no link {text!r}"
    return (page.parent / link[1]).resolve() if link[1] else page, link[2] or ""


def section(text: str, anchor: str) -> str:
    """The part of a page under the heading with this anchor; without an anchor, the whole page."""
    if not anchor:
        return text
    for heading in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE):
        if slug(heading[2]) == anchor:
            rest = text[heading.end() :]
            return re.split(rf"^#{{1,{len(heading[1])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    raise AssertionError(f"no section #{anchor}")


def slug(heading: str) -> str:
    """The anchor that MkDocs and GitHub make of a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
