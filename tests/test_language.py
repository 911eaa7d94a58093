"""Documents, docstrings and messages use the field's words; `stretch` and the like are gone."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from documents import ROOT, documents, name_of

import neurobo

COINED = {
    r"doubts?\b": "uncertainty, variance",
    r"bent\b|bends? (values|it|bowls)": "warped, warping",
    r"stretch(es|ed)?\b(?!=)": "warp",  # kept runs have the old name of an option
    r"beg[iu]n(s|ning)? (it )?(again|anew)\b": "retry, restart",
    r"nobody\b": "say who does it, or use the passive",
    r"all is well": "no problems found",
    r"wide limit": "infinitely wide network, NTK Gaussian process",
    r"hopeful\b": "optimistic",
    r"teach(es)?\b": "the model uses",
    r"believ(e|es|ed|ing)\b": "predict, assume",
    r"evidence says": "the marginal likelihood prefers",
    r"shall I\b": "should I",
    r"drawn functions?\b": "posterior sample",
    r"the dead\b": "abandoned trials",
    r"has a use for": "uses, receives",
    r"for those who do not want": "the default",
}
"""Phrases that the field has better words for."""
IN_DOCUMENTS = {
    r"(some|every|any)body\b": "say who, or use the passive",
    r"start design\b": "initial design",
    r"exist only sometimes": "conditional parameters",
    r"stops \d|six stops": "steps",
    r"rooms\b|what lives there": "packages, contents",
    r"counts? for nothing": "is ignored",
    r"given up\b|gives? (the|a) trial up|gives it up": "abandoned",
    r"do(es)? no harm": "has little effect, causes no problem",
    r"in the mean\b": "on average",
    r"says? (it|.{0,30}) in words": "prints, explains",
    r"out of your way": "reduces",
    r"quiet guest": "no side effects",
}
"""More of them, for documents and for the docstrings of public names."""
PHRASE = re.compile(rf"\b({'|'.join(COINED)})", re.IGNORECASE)
IN_DOCUMENT = re.compile(rf"\b({'|'.join([*COINED, *IN_DOCUMENTS])})", re.IGNORECASE)
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def found_in(text: str, phrase: re.Pattern[str] = PHRASE) -> list[str]:
    return [match[0] for match in phrase.finditer(text)]


@pytest.mark.parametrize(
    "path", [*documents(), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"],
    ids=name_of,
)  # fmt: skip
def test_documents_use_the_words_of_the_field(path: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`|<!--.*?-->", "", path.read_text(), flags=re.DOTALL)
    assert found_in(" ".join(text.split()), IN_DOCUMENT) == []


@pytest.mark.parametrize("name", neurobo.__all__)
def test_help_uses_the_words_of_the_field(name: str) -> None:
    text = re.sub(r"`[^`]*`", "", inspect.getdoc(getattr(neurobo, name)) or "")
    assert found_in(" ".join(text.split()), IN_DOCUMENT) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_docstrings_and_messages_use_the_words_of_the_field(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = re.sub(r"`[^`]*`", "", " ".join(node.value.split()))
            if " " in words:  # a single word is a name, not prose
                assert found_in(words) == [], f"line {node.lineno}: {words[:200]}"


def test_the_check_finds_phrases() -> None:
    assert found_in("a draw from its doubt, bent as the evidence says") == [
        "doubt",
        "bent",
        "evidence says",
    ]
    assert found_in("the start design, if somebody asks", IN_DOCUMENT) == [
        "start design",
        "somebody",
    ]
    assert found_in("the uncertainty of a warped posterior sample", IN_DOCUMENT) == []
