"""Keep the runs of an older commit valid after a change that altered no suggestion.

    python benchmarks/alias.py COMMIT "modules moved into packages"

Kept runs are keyed by a hash of the source. This notes that the source of COMMIT and the source as
it is now make the same suggestions, if the golden suggestions of both are one file and pass now.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from neurobo.bench.source import ALIASES, record_alias, source

ROOT = Path(__file__).parents[1]
GOLDEN = "tests/golden.json"


def main(commit: str, why: str) -> None:
    if golden_at(commit) != (ROOT / GOLDEN).read_bytes():
        sys.exit(f"{GOLDEN} must be the same at {commit} and now, but it was another one or none")
    tests = [sys.executable, "-m", "pytest", "-n", "0", "tests/test_golden.py"]
    if subprocess.run(tests, cwd=ROOT, check=False).returncode:
        sys.exit("the golden suggestions must pass before a state of the source is an alias")
    old, new = source_at(commit), source()
    if record_alias(old, new, why):
        print(f"{old} ({commit}) and {new} (now) make the same suggestions: noted in {ALIASES}")
    else:
        print(f"{old} ({commit}) and {new} (now) are known to make the same suggestions")


def golden_at(commit: str) -> bytes | None:
    """The golden suggestions of a commit, if it has any."""
    return _git("show", f"{commit}:{GOLDEN}") if _git("ls-tree", commit, GOLDEN) else None


def source_at(commit: str) -> str:
    """The hash of a commit's source."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "src/neurobo"))) as files:
            files.extractall(folder, filter="data")
        return source(Path(folder) / "src" / "neurobo")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
