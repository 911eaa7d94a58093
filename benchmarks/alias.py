"""Keep the runs of an older commit valid after a change that altered no suggestion.

    python benchmarks/alias.py COMMIT "modules moved into packages"

Kept runs are keyed by a hash of the source. This notes that the source of COMMIT and the source as
it is now make the same suggestions, if the golden suggestions of COMMIT are unchanged and pass now.
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
GOLDEN = "tests/golden"


def main(commit: str, why: str) -> None:
    if not same_golden(commit):
        sys.exit(f"{GOLDEN} of {commit} must be unchanged, but it had others or none")
    tests = [sys.executable, "-m", "pytest", "-n", "0", "tests/test_golden.py"]
    if subprocess.run(tests, cwd=ROOT, check=False).returncode:
        sys.exit("the golden suggestions must pass before a state of the source is an alias")
    old, new = source_at(commit), source()
    if record_alias(old, new, why):
        print(f"{old} ({commit}) and {new} (now) make the same suggestions: noted in {ALIASES}")
    else:
        print(f"{old} ({commit}) and {new} (now) are known to make the same suggestions")


def same_golden(commit: str) -> bool:
    """Whether a commit has golden suggestions and none of its files is another one now."""
    known = _git("ls-tree", commit, GOLDEN)
    return bool(known) and not _git("diff", "--diff-filter=a", commit, "--", GOLDEN)


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
