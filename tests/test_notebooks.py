"""The notebooks of docs/notebooks run from the first cell to the last, and are small."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_the_page_lists_them() -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text()
    assert len(NOTEBOOKS) == 4
    assert [path.name for path in NOTEBOOKS if f"(notebooks/{path.name})" not in page] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_small(path: Path) -> None:
    stored = json.loads(path.read_text())
    assert all(not cell.get("outputs") for cell in stored["cells"])
    assert path.stat().st_size < 10_000


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One kernel for all notebooks: starting one and loading JAX takes seconds."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(kernel_name="python3")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        run_sync(manager.start_kernel)(cwd=str(tmp_path_factory.mktemp("notebooks")))
        yield manager
        run_sync(manager.shutdown_kernel)(now=True)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
def test_notebooks_run(path: Path, kernel: Any) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))  # no name of another notebook
    client = nbclient.NotebookClient(notebook, timeout=240, km=kernel)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    warned = [output["text"] for output in outputs if output.get("name") == "stderr"]
    # Optuna's progress bar asks for ipywidgets, which we do not need.
    assert [text for text in warned if "IProgress" not in text] == []


def run_sync(function: Callable[..., Any]) -> Callable[..., Any]:
    """A coroutine function as a function, on the event loop that nbclient uses as well."""
    from jupyter_core.utils import run_sync as run

    found: Callable[..., Any] = run(function)
    return found
