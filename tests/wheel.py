"""Builds the packages and follows the README and the quickstart as a newcomer would.

    make test-wheel

The wheel goes into an empty environment with the core dependencies only; every code block of the
two documents runs there, and none may fail or warn. The sdist goes into another one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from compilation.test_processes import check_cache
from documents import ROOT, python_script, sections, shell_script, write_files

FOLLOWED = (ROOT / "docs" / "quickstart.md", ROOT / "README.md")
"""In this order: the README's last commands install an extra, the quickstart needs none."""
WARNING = re.compile(r"warn|^note:|traceback|deprecat", re.IGNORECASE | re.MULTILINE)
INSTALL = re.compile(r"^pip install '\.(\[\w+\])'.*$", re.MULTILINE)
"""An extra, from the clone: here it is the wheel's."""
SET_UP = re.compile(r"^(make|pip install \.) .*$", re.MULTILINE)
"""Of a clone: this script has installed the wheel instead."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel, sdist = build(folder / "dist")
        check_contents(wheel)
        installed = Environment(folder / "wheel", wheel)
        say("a second process finds what the first has compiled")
        check_cache(installed.program("neurobo"), installed.variables)
        for path in FOLLOWED:
            follow(path, installed)
        installed = Environment(folder / "sdist", sdist)
        listing = "import neurobo; print(neurobo.algorithms())"
        installed.run([installed.program("python"), "-c", listing], cwd=folder)
    say("The wheel and the sdist work.")


def build(folder: Path) -> tuple[Path, Path]:
    say("building")
    call([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    call([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    return wheel, sdist


def check_contents(wheel: Path) -> None:
    """All files of the source and their metadata, nothing else."""
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "neurobo").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if packed != wanted:
        fail(f"the wheel lacks {wanted - packed} and should not have {packed - wanted}")
    if "neurobo/py.typed" not in packed:
        fail("the wheel must have neurobo/py.typed, which says that it is typed")


class Environment:
    """A new virtual environment with one package, its dependencies, and a home of its own."""

    def __init__(self, folder: Path, package: Path) -> None:
        say(f"installing {package.name} into an empty environment")
        venv.create(folder, with_pip=True)
        self._folder = folder
        home = self.scratch()
        self.variables = {
            "PATH": f"{folder / 'bin'}:{os.defpath}",
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "LANG": "C.UTF-8",
        }
        pip = [self.program("python"), "-m", "pip", "install", "--quiet"]
        pip += ["-c", str(ROOT / "constraints.txt"), str(package)]
        call(pip)
        self.pip = shlex.join(pip)

    def program(self, name: str) -> str:
        return str(self._folder / "bin" / name)

    def scratch(self) -> Path:
        """An empty folder."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def run(self, command: Sequence[str], cwd: Path) -> None:
        """Fail if the command does, or if it prints a warning."""
        done = subprocess.run(
            command, cwd=cwd, env=self.variables, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            fail(f"{' '.join(command)}\nended with code {done.returncode}:\n{done.stdout}")
        if WARNING.search(done.stdout):
            fail(f"{' '.join(command)}\nprinted a warning:\n{done.stdout}")


def follow(path: Path, installed: Environment) -> None:
    """Run every block: Python as a file, shell commands section by section."""
    script = installed.scratch() / "blocks.py"
    script.write_text(python_script(path.read_text()))
    say(f"{path.name}: Python")
    installed.run([installed.program("python"), str(script)], cwd=script.parent)
    for title, section in sections(path).items():
        commands = INSTALL.sub(installed.pip + r"\1", shell_script(section))
        commands = SET_UP.sub("", commands).strip()
        if commands:
            say(title)
            folder = installed.scratch()
            write_files(section, folder)
            installed.run(["bash", "-e", "-c", commands], cwd=folder)


def call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fail(reason: str) -> NoReturn:
    raise SystemExit(f"test-wheel: {reason}")


if __name__ == "__main__":
    main()
