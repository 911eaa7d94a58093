"""The API reference has every public name, and docstrings describe every argument and option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import pytest
from documents import ROOT

import neurobo
from neurobo.algorithm import describe, registry

PAGE = (ROOT / "docs" / "reference" / "api.md").read_text()
MODULES = ("physics", "plots", "theory")
CALLABLES = [name for name in neurobo.__all__ if name not in MODULES]


def described(doc: str) -> set[str]:
    """The names in the section Args of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", doc, re.MULTILINE)
    return set(re.findall(r"^    (\w+):", section[1], re.MULTILINE)) if section else set()


def class_of(make: Callable[..., Any]) -> type:
    made = make.func if isinstance(make, partial) else make
    assert isinstance(made, type)
    return made


def test_every_public_name_is_in_the_reference() -> None:
    shown = set(re.findall(r"^::: neurobo\.(\w+)$", PAGE, re.MULTILINE))
    assert shown == set(neurobo.__all__)


@pytest.mark.parametrize("name", CALLABLES)
def test_every_argument_is_described(name: str) -> None:
    found = getattr(neurobo, name)
    doc = inspect.getdoc(found) or ""
    if isinstance(found, type) and issubclass(found, Exception):
        assert len(doc) > 30
        return
    parameters = set(inspect.signature(found).parameters)
    assert described(doc) == parameters
    assert len(doc.split("\n")[0]) > 10


@pytest.mark.parametrize("module", MODULES)
def test_functions_of_public_modules_are_described(module: str) -> None:
    home = getattr(neurobo, module)
    for name in home.__all__:
        found = getattr(home, name)
        doc = inspect.getdoc(found) or ""
        assert doc, name
        if inspect.isfunction(found):
            assert described(doc) == set(inspect.signature(found).parameters), name
            assert "Returns:" in doc, name


@pytest.mark.parametrize("name", neurobo.algorithms())
def test_every_option_of_every_algorithm_is_described(name: str) -> None:
    cls = class_of(registry._REGISTRY[name].make)
    options = {f.name for f in fields(cls) if f.repr}
    assert described(cls.__doc__ or "") == options
    assert getattr(neurobo, cls.__name__) is cls
    assert len(describe(name)) > 30


def test_help_shows_the_options_of_the_class_itself() -> None:
    shown = inspect.signature(neurobo.NeuralBO).parameters  # not only those of its base class
    assert {"gamma", "sampling", "nu"} <= set(shown)
    assert "start" not in shown


def test_the_old_name_of_an_option_stays_valid() -> None:
    old: dict[str, Any] = {"stretch": False}
    assert neurobo.Auto(**old) == neurobo.Auto(input_warping=False)
