"""Make the corpus of the document problem from a Debian release's indices of packages.

    python benchmarks/make_documents.py Packages.xz Translation-en.xz

Both files lie on every Debian mirror, below dists/RELEASE/main in binary-amd64 and in i18n. The
stored corpus was made from Debian 12.15 (files with the SHA-256 sums 9e0b5aab… and a3d4a0bf…).
It holds no text: only how often each document has each word, and its categories. The descriptions
belong to the packages and are under their licences; the categories are Debian's own.
"""

from __future__ import annotations

import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from neurobo.bench.problems.stored import FOLDER

DOCUMENTS = 2000
VOCABULARY = 500
FEWEST_WORDS, FEWEST_TAGS = 20, 4
SEED = 0


def main(packages: Path, descriptions: Path) -> None:
    texts = {entry["Package"]: entry["Description-en"] for entry in read(descriptions)}
    found = {
        entry["Package"]: entry
        for entry in read(packages)
        if len(tags(entry)) >= FEWEST_TAGS and entry["Package"] in texts
    }
    # Packages of one source often share most of their description: one of them is enough.
    by_source = {entry.get("Source", name).split()[0]: name for name, entry in found.items()}
    names = np.array(sorted(by_source.values()))
    names = np.random.default_rng(SEED).permutation(names)
    words = {name: Counter(re.findall(r"[a-z]{3,}", texts[name].lower())) for name in names}
    frequency = Counter(word for name in names for word in words[name])
    known = [word for word, _ in frequency.most_common() if word not in ENGLISH_STOP_WORDS]
    vocabulary = sorted(known[:VOCABULARY])
    counts = {n: [min(words[n][word], 255) for word in vocabulary] for n in names}
    chosen = sorted([n for n in names if sum(counts[n]) >= FEWEST_WORDS][:DOCUMENTS])
    labels = [categories(found[name]) for name in chosen]
    label_names = sorted(set().union(*labels))

    path = Path(str(FOLDER)) / "documents.npz"
    np.savez_compressed(
        path,
        names=np.array(chosen, dtype="S"),
        vocabulary=np.array(vocabulary, dtype="S"),
        categories=np.array(label_names, dtype="S"),
        counts=np.array([counts[name] for name in chosen], dtype=np.uint8),
        labels=np.packbits([[label in own for label in label_names] for own in labels], axis=1),
    )
    print(f"{path.name}: {path.stat().st_size} bytes, {len(chosen)} of {len(names)} documents,")
    print(
        f"{len(label_names)} categories, {np.mean([len(own) for own in labels]):.1f} of them each"
    )


def read(path: Path) -> Iterator[dict[str, str]]:
    """The entries of an index: paragraphs of `key: text`, with further lines indented."""
    for paragraph in lzma.decompress(path.read_bytes()).decode().strip().split("\n\n"):
        fields = re.split(r"\n(?=\S)", paragraph)
        yield dict(field.split(": ", 1) for field in fields if ": " in field)


def tags(entry: dict[str, str]) -> list[str]:
    return re.findall(r"[^\s,]+::[^\s,]+", entry.get("Tag", ""))


def categories(entry: dict[str, str]) -> set[str]:
    """The package's section, its tags, and all that a tag is part of.

    `devel::lang:c` is part of `devel::lang`, and that of `devel`.
    """
    return {f"section {entry['Section']}"}.union(*map(with_ancestors, tags(entry)))


def with_ancestors(tag: str) -> Iterable[str]:
    return (tag[: end.start()] for end in re.finditer(r"(?<!:):|$", tag))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
