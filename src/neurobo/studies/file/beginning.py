"""`neurobo init`: files to begin with."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from neurobo.errors import InvalidInput, check_choice

KINDS = {
    "python": "a Python function",
    "command": "a program in any language",
    "ask": "people, by `neurobo ask` and `neurobo tell`",
}
_PROGRAMS = {"python": ("objective.py.txt", "{name}_objective.py"),
             "command": ("simulate.py.txt", "simulate.py")}  # fmt: skip


def write_files(path: Path, kind: str) -> list[Path]:
    """A commented study file and, where it needs one, an example of an objective."""
    check_choice("the kind", kind, KINDS)
    if path.suffix != ".toml":
        raise InvalidInput(f"a study file must end with .toml, got {path}")
    name = re.sub(r"\W", "_", path.stem)
    texts = {path: _template("study.toml").replace("OBJECTIVE\n", _template(f"{kind}.toml"))}
    if kind == "ask":
        texts[path] = _for_people(texts[path])
    if kind in _PROGRAMS:
        template, target = _PROGRAMS[kind]
        texts[path.parent / target.format(name=name)] = _template(template)
    for target_path in texts:
        if target_path.exists():
            raise InvalidInput(f"a new file was expected, got {target_path}, which exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    for target_path, text in texts.items():
        text = text.replace("NAME.toml", path.name).replace("NAME.db", f"{path.stem}.db")
        target_path.write_text(text.replace("NAME", name), encoding="utf-8")
    return list(texts)


def _for_people(text: str) -> str:
    """Without what `neurobo run` alone needs."""
    _, _, settings = text.partition("\n\n")
    settings = re.sub(r"\n# (workers|hours|timeout|keep) = .*", "", settings)
    head = (
        "# A neurobo study. `neurobo check NAME.toml` explains it, `neurobo ask NAME.toml` gives\n"
        "# a point to try, and `neurobo tell NAME.toml ID VALUE` brings its value back.\n\n"
    )
    return head + settings


def _template(name: str) -> str:
    return resources.files("neurobo.studies.file.templates").joinpath(name).read_text("utf-8")
