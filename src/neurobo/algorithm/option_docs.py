"""What `help()` says about options: the descriptions that stand below the fields of a class."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise

WIDTH = 96


def descriptions(cls: type) -> dict[str, str]:
    """The string below each field of a class, where there is one; none without the source."""
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):  # a class that was typed into an interpreter
        return {}
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in pairwise(definition.body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def with_options(doc: str, names: Sequence[str], described: Mapping[str, str]) -> str:
    """A class's docstring followed by its options, in the form of arguments."""
    lines = [
        textwrap.fill(
            f"{name}: {described[name]}", WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8
        )
        for name in names
        if name in described
    ]
    return "\n".join([inspect.cleandoc(doc), "", "Args:", *lines]) if lines else doc
