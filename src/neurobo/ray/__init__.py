"""Ray: evaluations as tasks of a cluster, and a search algorithm for Ray Tune (extra `ray`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neurobo.ray.executor import RayExecutor as RayExecutor
    from neurobo.ray.search import NeuroSearch as NeuroSearch

__all__ = ["NeuroSearch", "RayExecutor"]

_HOME = {"NeuroSearch": "neurobo.ray.search", "RayExecutor": "neurobo.ray.executor"}


def __getattr__(name: str) -> Any:
    """Ray Tune is imported only for NeuroSearch, and Ray only when it is used."""
    if name not in _HOME:
        raise AttributeError(f"module 'neurobo.ray' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
