"""Packages that only some users need."""

from importlib import import_module
from types import ModuleType

from neurobo.errors import MissingPackage


def require(package: str, *, extra: str = "bench") -> ModuleType:
    """Import an optional package, or say what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(
            f"this needs the package {package!r}; install the extra: "
            f"pip install 'neurobo[{extra}]' (it could not be imported: {error})"
        ) from error
