"""Study files: what they mean, and what every wrong one is told."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.made import neurobo

from neurobo.errors import InvalidInput
from neurobo.studies.file.beginning import KINDS, write_files
from neurobo.studies.file.executes import doubts
from neurobo.studies.file.meaning import meaning
from neurobo.studies.file.mistakes import InvalidStudyFile
from neurobo.studies.file.reader import read_study
from neurobo.studies.file.toml_lines import lines_of

GOOD = """\
name = "tank"
direction = "maximize"
seed = 7
algorithm = "neural-greedy"
options = { width = 64, gamma = 2.0 }
workers = 2
retries = 3
constraints = ["cost", "noise level"]
[budget]
trials = 20
hours = 0.5
[space]
x = { low = -5.0, high = 5.0 }
lr = { low = 1e-5, high = 0.1, log = true }
layers = { type = "int", low = 1, high = 9, step = 2 }
act = { choices = ["relu", "tanh", 3, true] }
"with space" = { low = 0, high = 1, step = 0.25 }
[objective]
command = ["./simulate", "--x={x}", "{lr}", "{layers}", "{act}", "{with space}", "{{}}", "{trial}"]
stdin = "json"
timeout = 1.5
keep = "failed"
[lease]
seconds = 30
ask_hours = 2
"""


def _write(folder: Path, text: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_whole_file_is_understood(tmp_path: Path) -> None:
    file = read_study(_write(tmp_path, GOOD))
    assert list(file.space.distributions) == ["x", "lr", "layers", "act", "with space"]
    assert file.space.distributions["layers"].to_internal_repr(3) == 3
    assert file.storage == f"sqlite:///{tmp_path}/study.db"
    assert file.table.lease.ask_hours == 2
    assert "--x=<x>" in meaning(file)["objective"]


@pytest.mark.parametrize(
    ("storage", "url"),
    [
        ("sqlite:///sub.db", "sqlite:///{}/sub.db"),
        ("sqlite:////srv/x.db", "sqlite:////srv/x.db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
    ],
)
def test_relative_storage_counts_from_the_file(tmp_path: Path, storage: str, url: str) -> None:
    text = GOOD.replace('name = "tank"', f'name = "tank"\nstorage = "{storage}"')
    assert read_study(_write(tmp_path, text)).storage == url.format(tmp_path)


WRONG = {
    # what is replaced, by what, the line, the rule, the value
    "syntax": ("seed = 7", "seed = = 7", 3, "not valid TOML", "seed = = 7"),
    "unclosed text": ('name = "tank"', 'name = "tank', 1, "not valid TOML", "tank"),
    "twice": ("seed = 7", "seed = 7\nseed = 8", 4, "not valid TOML", "seed = 8"),
    "name a number": ('name = "tank"', "name = 5", 1, "`name` must be a text in quotes", "got 5"),
    "name empty": ('"tank"', '""', 1, "`name` must not be empty", "got ''"),
    "name missing": ('name = "tank"\n', "", 0, "`name` must be given", "got nothing"),
    "direction": ("maximize", "max", 2, "`direction` must be 'minimize' or 'maximize'", "'max'"),
    "seed below 0": ("seed = 7", "seed = -1", 3, "`seed` must be at least 0", "got -1"),
    "seed a float": ("seed = 7", "seed = 1.5", 3, "`seed` must be a whole number", "got 1.5"),
    "algorithm": ("neural-greedy", "magic", 4, "algorithm must be one of", "got 'magic'"),
    "option": ("width = 64", "breadth = 64", 5, "options of NeuralGreedy must be", "'breadth'"),
    "option's value": ("width = 64", "width = -1", 5, "width must be", "got -1"),
    "workers 0": ("workers = 2", "workers = 0", 6, "`workers` must be at least 1", "got 0"),
    "retries": ("retries = 3", "retries = true", 7, "`retries` must be a whole number", "True"),
    "same constraints": ("noise level", "cost", 0, "`constraints` must differ", "'cost' again"),
    "trials 0": ("trials = 20", "trials = 0", 10, "`budget.trials` must be at least 1", "got 0"),
    "trials text": ("trials = 20", 'trials = "20"', 10, "must be a whole number", "got '20'"),
    "hours": ("hours = 0.5", "hours = nan", 11, "`budget.hours` must be", "got nan"),
    "no trials": ("trials = 20\n", "", 9, "`budget.trials` must be given", "got nothing"),
    "low above high": ("low = -5.0", "low = 9.0", 13, "`low` must be below `high`", "low=9.0"),
    "log at 0": ("low = 1e-5", "low = 0.0", 14, "a log range needs `low` above 0", "low=0.0"),
    "log and step": ("log = true", "log = true, step = 2", 14, "cannot be combined", "step=2"),
    "whole": ("low = 1,", "low = 1.5,", 15, "must be whole", "low=1.5"),
    "parameter's key": ("low = 1,", "lo = 1, low = 1,", 15, "did you mean 'low'?", "got 1"),
    "type": ('"int"', '"real"', 15, "`space.layers.type` must be 'float' or 'int'", "'real'"),
    "no high": (", high = 5.0", "", 13, "a range must have both", "got low"),
    "both kinds": (
        'choices = ["r', 'low = 1, choices = ["r', 16, "either `low` and `high` or `choices`",
        "got choices, low",
    ),
    "same choices": ('"tanh"', '"relu"', 16, "must be different from each other", "'relu'"),
    "no choices": ('["relu", "tanh", 3, true]', "[]", 16, "must not be empty", "got none"),
    "NUL": ('"tanh"', '"a\\u0000b"', 16, "must not have NUL characters", "'a\\x00b'"),
    "unknown name": ("{lr}", "{rate}", 19, "must name one of", "got {rate}"),
    "shell string": ('["./simulate", ', '"./simulate" #', 19, "must be a list", "got './sim"),
    "stdin": ('stdin = "json"', 'stdin = "xml"', 20, "must be 'none' or 'json'", "got 'xml'"),
    "timeout": ("timeout = 1.5", "timeout = 0", 21, "`objective.timeout` must be above 0", "0"),
    "both objectives": (
        "timeout = 1.5", 'python = "a:b"', 18, "either `python` or `command`", "got command",
    ),
    "python": ("timeout = 1.5", 'python = "a.b"', 21, "the form module:function", "got 'a.b'"),
    "folder": (
        "timeout = 1.5", 'params_file = "../x"', 18, "a name without a folder", "got '../x'",
    ),
    "unknown table": ("[lease]", "[leases]", 23, "did you mean 'lease'?", "got {'sec"),
    "lease": ("seconds = 30", "seconds = 0.1", 24, "`lease.seconds` must be at least 2", "0.1"),
    "pool": ("[lease]", '[pool]\npath = "a.txt"\n[lease]', 23, "end with .npy or .csv", "a.txt"),
    "no pool": ("[lease]", '[pool]\npath = "no.npy"\n[lease]', 24, "must be a file", "no.npy"),
    "physics": (
        "[lease]", '[physics]\nresidual = "x y"\n[lease]', 24, "the form module:function", "'x y'",
    ),
    "space a list": (
        '[space]\nx = { low = -5.0, high = 5.0 }', "[space]\nx = [-5.0, 5.0]", 13,
        "`space.x` must be a table", "got [-5.0, 5.0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_named_by_line_rule_and_value(case: str, tmp_path: Path) -> None:
    before, after, line, rule, value = WRONG[case]
    assert before in GOOD
    path = _write(tmp_path, GOOD.replace(before, after, 1))
    with pytest.raises(InvalidStudyFile) as error:
        read_study(path)
    (mistake,) = error.value.mistakes
    assert (mistake.line, rule in mistake.message, value in mistake.message) == (
        line, True, True,
    ), mistake  # fmt: skip
    assert str(path) in str(error.value)


def test_all_mistakes_are_told_at_once_by_the_command(tmp_path: Path) -> None:
    text = GOOD.replace("seed = 7", "seed = -7").replace("trials = 20", "trials = -20")
    path = _write(tmp_path, text)
    done = neurobo("check", path)
    assert done.returncode == 2
    assert "has 2 mistakes" in done.stderr
    assert "line 3: `seed` must be at least 0, got -7" in done.stderr
    assert "line 10: `budget.trials` must be at least 1, got -20" in done.stderr


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist; `neurobo init`"):
        read_study(tmp_path / "nothing.toml")
    with pytest.raises(InvalidInput, match="got the folder"):
        read_study(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'\nname = "caf\xe9"\n')
    with pytest.raises(InvalidStudyFile, match=r"line 2: .* must be UTF-8 text, got the byte"):
        read_study(tmp_path / "latin.toml")
    huge = _write(tmp_path, "# " + 100_000_000 * "x", "huge.toml")
    with pytest.raises(InvalidInput, match="smaller than 1,000,000 bytes, got 100,000,002"):
        read_study(huge)


def test_a_study_needs_something_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InvalidStudyFile, match=r"a \[space\] or a \[pool\], got neither"):
        read_study(_write(tmp_path, 'name = "a"\nbudget = { trials = 1 }'))


# Pools ------------------------------------------------------------------------------------------


def test_pools_of_both_kinds(tmp_path: Path) -> None:
    head = 'name = "a"\nbudget = { trials = 1 }\n[pool]\n'
    np.save(tmp_path / "p.npy", np.ones((5, 3)))
    file = read_study(_write(tmp_path, head + 'path = "p.npy"'))
    assert list(file.space.distributions) == ["candidate"]
    assert len(file.pool or ()) == 5
    (tmp_path / "p.csv").write_text("name,a,b\nfirst,1,2\nsecond,3,4\n")
    file = read_study(_write(tmp_path, head + 'path = "p.csv"\nids = "name"'))
    assert file.pool is not None
    assert file.pool.ids == ["first", "second"]
    assert file.pool.candidates.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,a\nx,1\ny,two\n", "line 3: 'a' must be a number, got 'two'"),
        ("name,a\nx,1,5\n", "line 2: a row must have 2 cells, got 3"),
        ("name,a\n", "must have a heading and rows, got only a heading"),
        ("id,a\nx,1\n", "`ids` must be one of ['id', 'a'], got 'name'"),
    ],
)
def test_bad_pools(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(content)
    text = 'name = "a"\nbudget = { trials = 1 }\n[pool]\npath = "p.csv"\nids = "name"'
    with pytest.raises(InvalidStudyFile) as error:
        read_study(_write(tmp_path, text))
    assert message in str(error.value)
    assert "line 4: pool.path" in str(error.value)


def test_an_array_of_objects_is_refused_and_not_loaded(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (str(tmp_path / "exploded"),))

    np.save(tmp_path / "p.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    text = 'name = "a"\nbudget = { trials = 1 }\n[pool]\npath = "p.npy"'
    with pytest.raises(InvalidStudyFile, match=r"array of numbers, got .* Object arrays"):
        read_study(_write(tmp_path, text))
    assert not (tmp_path / "exploded").exists()


# Nothing is executed ----------------------------------------------------------------------------


def test_checking_runs_nothing_that_the_file_names(tmp_path: Path) -> None:
    """Not even the module of the objective, nor packages around it."""
    trap = (
        "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\ndef f(p): return 1\n"
    )
    package = tmp_path / "pkg"
    package.mkdir()
    for place in (tmp_path / "goal.py", package / "__init__.py", package / "goal.py"):
        place.write_text(trap)
    for module in ("goal", "pkg.goal"):
        text = 'name = "a"\nbudget = { trials = 1 }\n[space]\nx = { low = 0, high = 1 }\n'
        path = _write(tmp_path, text + f'[objective]\npython = "{module}:f"\n')
        assert meaning(read_study(path))["objective"] == f"the Python function {module}:f"
        assert not doubts(read_study(path))
        assert "does not define 'g'" in doubts(
            read_study(_write(tmp_path, path.read_text().replace(":f", ":g")))
        )[0]  # fmt: skip
    assert not list(tmp_path.rglob("*.ran"))


def test_doubts(tmp_path: Path) -> None:
    (told,) = doubts(read_study(_write(tmp_path, GOOD)))
    assert told == f"line 19: the program './simulate' is not there (in {tmp_path})"
    (tmp_path / "simulate").write_text("#!/bin/sh\n")
    (told,) = doubts(read_study(tmp_path / "study.toml"))
    assert "may not be executed (chmod +x)" in told
    (tmp_path / "simulate").chmod(0o755)
    assert not doubts(read_study(tmp_path / "study.toml"))
    text = GOOD.replace('stdin = "json"', "").replace('"{lr}", ', "")
    (told,) = doubts(read_study(_write(tmp_path, text)))
    assert told == "line 19: the program does not get lr"


# Lines ------------------------------------------------------------------------------------------


def test_lines_of_odd_documents() -> None:
    text = '''# [not] = a table
a.b = 1
"c d" = """
[x]
y = 2"""
e = [ # one
  1, {f = 2, g = [3]},
  'it]',
]
[h."i.j"]
k = 'x # y' # z
[[l]]
m = 1
[[l]]
m = {n = "}"}
'''
    found = lines_of(text)
    assert found[("a",)] == found[("a", "b")] == 2
    assert found[("c d",)] == 3
    assert found[("e", 1, "g", 0)] == 7
    assert found[("e", 2)] == 8
    assert found[("h", "i.j", "k")] == 11
    assert found[("l", 0, "m")] == 13
    assert found[("l", 1, "m", "n")] == 15
    assert ("x",) not in found


_KEYS = st.text("ab c.\"'#[]{}=\\\n,é", min_size=1, max_size=6)
_VALUES = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text("ab\"'#[]{}=,\\\n\té", max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_lines_of_any_document(content: dict[str, object]) -> None:
    """Every key is found, in the line where it was written."""
    text, wanted = "", {}
    for key, value in content.items():
        wanted[key] = text.count("\n") + 1
        text += f"{json.dumps(key)} = {_toml(value)}\n"
    assert tomllib.loads(text) == content
    found = lines_of(text)
    assert {path[0]: line for path, line in found.items() if len(path) == 1} == wanted


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n ".join(map(_toml, value)) + "]"
    if isinstance(value, str) and "'" not in value and value and "\\" not in value:
        return f"'''{value}'''" if not value.startswith("\n") else json.dumps(value)
    return json.dumps(value)


# Beginning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_init_writes_files_that_are_right_and_nothing_over_others(
    kind: str, tmp_path: Path
) -> None:
    written = write_files(tmp_path / "my-study.toml", kind)
    file = read_study(written[0])
    assert file.table.name == "my_study"
    told = doubts(file)
    assert bool(told) == (kind == "ask")
    before = written[0].read_text()
    with pytest.raises(InvalidInput, match="which exists already"):
        write_files(tmp_path / "my-study.toml", kind)
    assert written[0].read_text() == before
    commented = before.replace("# algorithm", "algorithm").replace("# workers", "workers")
    read_study(_write(tmp_path, commented.replace("# storage", "storage")))


MIXTURE = """\
name = "alloy"
where = [
    "copper + tin + zinc == 1",
    "2 * copper >= tin",
    { at_most = 2, of = ["copper", "tin", "zinc"] },
]
[budget]
trials = 20
[space]
copper = { low = 0, high = 1 }
tin = { low = 0, high = 1 }
zinc = { low = 0, high = 1 }
"""


def test_known_constraints_are_said_in_words(tmp_path: Path) -> None:
    file = read_study(_write(tmp_path, MIXTURE))
    assert file.space.where is not None
    assert meaning(file)["where"] == (
        "every point meets: copper + tin + zinc == 1; 2 * copper >= tin; "
        "at most 2 of copper, tin, zinc differ from 0"
    )
    assert "where" in meaning(file)["start"]


@pytest.mark.parametrize(
    ("good", "bad", "line", "message"),
    [
        ("2 * copper >= tin", "2 * coper >= tin", 4, "did you mean 'copper'"),
        ("2 * copper >= tin", "copper >= 1.5", 2, "cannot be met together"),
        ("at_most = 2", "at_most = -1", 5, "must be at least 0, got -1"),
        ('"tin", "zinc"] }', '"lead"] }', 5, "names must be parameters"),
        ('"2 * copper >= tin"', "3", 4, "must be a text in quotes, got 3"),
    ],
)
def test_wrong_constraints_have_their_line(
    tmp_path: Path, good: str, bad: str, line: int, message: str
) -> None:
    with pytest.raises(InvalidStudyFile, match=message) as error:
        read_study(_write(tmp_path, MIXTURE.replace(good, bad)))
    assert [mistake.line for mistake in error.value.mistakes] == [line]


def test_asked_points_meet_known_constraints(tmp_path: Path) -> None:
    path = _write(tmp_path, MIXTURE)
    asked = neurobo("ask", path, "-n", "3", "--json")
    assert asked.returncode == 0, asked.stderr
    known = read_study(path).space.where
    assert known is not None
    points = json.loads(asked.stdout)
    assert len(points) == 3
    assert [known.broken(point["params"]) for point in points] == ["", "", ""]
