"""Every section of docs/cluster.md runs as it stands, on the engines that it names."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from documents import ROOT, python_blocks, sections, shell_script, write_files
from faults.postgres import missing, server

pytestmark = pytest.mark.cluster
SECTIONS = {
    title.partition(": ")[2]: text
    for title, text in sections(ROOT / "docs" / "cluster.md").items()
    if "```python" in text or "```sh" in text
}
NEEDS = {"Ray": "ray", "Ray Tune": "ray", "Dask": "distributed", "Slurm": "submitit"}
DATABASE = "postgresql://user@host/db"


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_runs(title: str, tmp_path: Path) -> None:
    package = NEEDS.get(title)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"needs the package {package}")
    if title == "PostgreSQL" and missing():
        pytest.skip(missing())
    with server() if title == "PostgreSQL" else nullcontext() as postgres:
        text = SECTIONS[title]
        if postgres is not None:
            text = text.replace(DATABASE, postgres.url)
        write_files(text, tmp_path)
        blocks = python_blocks(text)
        if blocks:
            (tmp_path / "blocks.py").write_text("import neurobo\n\n" + "\n".join(blocks))
            _run([sys.executable, "blocks.py"], tmp_path)
        if script := shell_script(text):
            _run(["bash", "-e", "-c", script], tmp_path)


def _run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "RAY_TUNE_MAX_PENDING_TRIALS_PG": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False, env=env, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr, done.stderr[-3000:]


def test_every_section_about_an_engine_is_there() -> None:
    assert {"Ray", "Ray Tune", "Dask", "Slurm", "PostgreSQL"} <= SECTIONS.keys()
