"""Examples and every Python block of the documents run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if "```python" in path.read_text()
]


def _run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_example_minimise_a_function(tmp_path: Path) -> None:
    shown = _run(str(ROOT / "examples" / "minimise_a_function.py"), cwd=tmp_path)
    assert float(shown.split()[2]) < 1.0


def test_example_optuna_study(tmp_path: Path) -> None:
    shown = _run(str(ROOT / "examples" / "optuna_study.py"), cwd=tmp_path)
    assert float(shown.split()[-1]) < 1.0


def test_example_mixed_space(tmp_path: Path) -> None:
    shown = _run("-W", "ignore", str(ROOT / "examples" / "mixed_space.py"), cwd=tmp_path)
    assert shown.startswith("20 trials")
    assert float(shown.split()[-1]) < 1.0


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text()
    assert all(f"test_example_{p.stem}" in here for p in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_python_blocks_run(path: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    _run("-c", "\n".join(blocks), cwd=tmp_path)


def test_links_between_documents_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
