"""Installs the wheel with the newest and the oldest dependencies on several Pythons, and uses it.

    make test-versions                                   # python3.11 to python3.14, as far as found
    make test-versions PYTHONS="python3.12 /opt/python3.13/bin/python3"

Newest: whatever pip chooses, on every Python. Oldest: exactly the lower bounds of pyproject.toml,
on the oldest Python, because newer ones have no wheels of them. In each environment the Python
blocks of README and quickstart run, and a study file from `init` to `report`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from documents import ROOT, python_script

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
COMMANDS = "init study.toml", "check study.toml", "run study.toml", "report study.toml"
SHOWN = ("jax", "numpy", "scipy", "optuna")


def main(*wanted: str) -> None:
    pythons = [name for name in wanted or PYTHONS if version(name)]
    if not pythons:
        raise SystemExit(f"test-versions: none of {list(wanted or PYTHONS)} runs here")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("*.whl")
        oldest = min(pythons, key=lambda name: tuple(map(int, version(name).split("."))))
        kinds = [(name, "newest") for name in pythons] + [(oldest, "oldest")]
        for number, (python, kind) in enumerate(kinds):
            pins = lower_bounds() if kind == "oldest" else []
            installed = environment(python, folder / str(number), [str(wheel), *pins])
            check(installed, folder / f"work-{number}")
            say(f"{version(python)}, {kind}: works with {versions(installed)}")
    absent = [name for name in wanted or PYTHONS if not version(name)]
    if absent:
        say(f"not tested, because they do not run here: {', '.join(absent)}")


def version(python: str) -> str:
    """As in "3.13.0"; empty if it cannot be started."""
    try:
        shown = subprocess.run([python, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return re.sub(r"[^\d.]", "", shown.stdout.split()[1])


def lower_bounds() -> list[str]:
    """The oldest version of each dependency that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [re.match(r"([\w.-]+)>=([\d.]+)", text) for text in project["dependencies"]]
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound]


def environment(python: str, folder: Path, packages: list[str]) -> Path:
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    installed = folder / "bin" / "python"
    install = [str(installed), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *packages], check=True, stderr=subprocess.DEVNULL)
    return installed


def check(python: Path, folder: Path) -> None:
    """Use the package as the documents do."""
    folder.mkdir()
    script = folder / "blocks.py"
    for page in (ROOT / "README.md", ROOT / "docs" / "quickstart.md"):
        script.write_text(python_script(page.read_text()))
        run([str(python), str(script)], folder)
    for command in COMMANDS:
        run([str(python.with_name("neurobo")), *command.split()], folder)


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or "Traceback" in done.stderr or "Deprecat" in done.stderr:
        raise SystemExit(f"test-versions: {' '.join(command)}\n{done.stdout}\n{done.stderr}")


def versions(python: Path) -> str:
    script = f"from importlib.metadata import version as v; print(*[n+' '+v(n) for n in {SHOWN}])"
    shown = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
