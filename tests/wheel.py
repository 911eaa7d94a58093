"""Builds the packages and follows the README and the quickstart as a newcomer would.

    make test-wheel

The wheel goes into an empty environment with the core dependencies only; every code block of the
two documents runs there, and none may fail or warn. The sdist goes into another one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from documents import ROOT, python_script, sections, shell_script, write_files

FOLLOWED = (ROOT / "README.md", ROOT / "docs" / "quickstart.md")
WARNING = re.compile(r"warn|^note:|traceback|deprecat", re.IGNORECASE | re.MULTILINE)
SET_UP = re.compile(r"^(make|pip|git) .*$", re.MULTILINE)
"""Commands of the documents that install: this script has done it."""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel, sdist = build(folder / "dist")
        check_contents(wheel)
        installed = Environment(folder / "wheel", wheel)
        check_cache(installed)
        for path in FOLLOWED:
            follow(path, installed)
        installed = Environment(folder / "sdist", sdist)
        installed.run(["python", "-c", "import neurobo; print(neurobo.algorithms())"])
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
        self.folder = folder
        self._bin = folder / "bin"
        pip = [str(self._bin / "python"), "-m", "pip", "install", "--quiet"]
        call([*pip, "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"),
              str(package)])  # fmt: skip

    @property
    def cache(self) -> Path:
        return self.folder / "home" / ".cache"

    def scratch(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder))

    def run(self, command: Sequence[str], cwd: Path | None = None) -> str:
        """What the command prints, which must be no warning."""
        (self.folder / "home").mkdir(exist_ok=True)
        variables = {
            "PATH": f"{self._bin}:{os.defpath}",
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.cache),
            "LANG": "C.UTF-8",
        }
        program = str(self._bin / command[0]) if (self._bin / command[0]).exists() else command[0]
        done = subprocess.run(
            [program, *command[1:]], cwd=cwd or self.scratch(), env=variables, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        if done.returncode:
            fail(f"{' '.join(command)}\nended with code {done.returncode}:\n{done.stdout}")
        if WARNING.search(done.stdout):
            fail(f"{' '.join(command)}\nprinted a warning:\n{done.stdout}")
        return done.stdout


def check_cache(installed: Environment) -> None:
    """A second process of the command line finds what the first one has compiled."""
    say("compiled code is kept")
    command = ["neurobo", "demo", "--trials", "8", "--json"]
    first = installed.run(command)
    compiled = installed.cache / "neurobo" / "compiled"
    entries = {path.name: path.read_bytes() for path in compiled.glob("*-atime")}
    if not entries:
        fail(f"the first process must keep compiled code in {compiled}, got none")
    if installed.run(command) != first:
        fail("the same demo must give the same point twice")
    later = {path.name: path.read_bytes() for path in compiled.glob("*-atime")}
    if later.keys() != entries.keys():
        fail(f"the second process compiled {later.keys() - entries.keys()} again")
    if later == entries:
        fail("the second process did not read the cache")


def follow(path: Path, installed: Environment) -> None:
    """Run every block: Python as a file, shell commands section by section."""
    script = installed.scratch() / "blocks.py"
    script.write_text(python_script(path.read_text()))
    say(f"{path.name}: Python")
    installed.run(["python", str(script)], cwd=script.parent)
    for title, section in sections(path).items():
        commands = SET_UP.sub("", shell_script(section)).strip()
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
