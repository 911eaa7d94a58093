"""Importing the way to the first suggestion loads no package that only others need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("scipy.stats", "sqlalchemy", "optax")


def test_suggest_imports_no_package_that_only_others_need() -> None:
    code = f"import sys, neurobo; neurobo.suggest; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
