"""An extension of griffe: options of algorithms appear in the API as arguments of their class.

The decorator `neurobo.algorithm.registry.options` makes the docstring and the signature when the
package is imported; a static analysis sees neither.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe

import neurobo


class Options(griffe.Extension):
    """Gives classes with the decorator `@options` their docstring and signature."""

    def on_class(self, *, cls: Any, **_: Any) -> None:
        decorated = any(str(d.value).endswith("options") for d in cls.decorators)
        found = getattr(neurobo, cls.name, None)
        if not decorated or found is None:
            return
        cls.docstring = griffe.Docstring(inspect.getdoc(found) or "", parent=cls)
        parameters = [
            griffe.Parameter(
                p.name,
                annotation=str(p.annotation),
                kind=griffe.ParameterKind.keyword_only,
                default=repr(p.default),
            )
            for p in inspect.signature(found).parameters.values()
        ]
        cls.set_member(
            "__init__", griffe.Function("__init__", parameters=griffe.Parameters(*parameters))
        )
