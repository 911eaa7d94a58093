"""Study files that nobody would write by hand: one clear mistake, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from neurobo.errors import InvalidInput
from neurobo.integrations.optuna.storage import opened
from neurobo.integrations.optuna.storage_errors import StorageError, public_url
from neurobo.studies.file.reader import read_study

BASE = 'name = "t"\n[budget]\ntrials = 5\n[space]\nx = { low = 0.0, high = 1.0 }\n'
DEEP = "nested at most 32 deep"
WHOLE = "a whole number must fit into 64 bits"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("a = " + "[" * 5000 + "]" * 5000 + "\n" + BASE, DEEP, id="nested lists"),
        pytest.param("a = " + "{a=" * 2000 + "1" + "}" * 2000, DEEP, id="nested tables"),
        pytest.param(
            BASE.replace("[budget]", "options = { a = " + "[" * 50 + "]" * 50 + "}\n[budget]"),
            DEEP, id="nested options",
        ),
        pytest.param(BASE + ".".join(["a"] * 20_000) + " = 1\n", DEEP, id="key of 20,000 parts"),
        pytest.param(f"{BASE}[{'.'.join(['a'] * 20_000)}]\n", DEEP, id="table of 20,000 parts"),
        pytest.param(BASE + ".".join(["a"] * 500) + " = 1\n", DEEP, id="key of 500 parts"),
        pytest.param(BASE.replace("5", "9" * 5000), WHOLE, id="5,000 digits"),
        pytest.param(BASE.replace("1.0", "9" * 5000), WHOLE, id="bound of 5,000 digits"),
        pytest.param(BASE.replace("5", "0x" + "f" * 5000), WHOLE, id="5,000 hexadecimal digits"),
        pytest.param(BASE.replace("1.0", "1e999999"), "must be a finite number", id="infinite"),
        pytest.param(BASE.replace('"t"', '"t\\u0000"'), "must not have NUL", id="NUL in the name"),
        pytest.param(BASE.replace('"t"', '"\\ud800"'), "not valid TOML", id="half a character"),
        pytest.param(BASE + "c = { choices = [1, 1.0] }\n", "1.0 and True are equal", id="equal"),
        pytest.param(
            BASE + "".join(f"y{i} = {{ low = 0.0 }}\n" for i in range(20_000)),
            "and 19980 more", id="20,000 mistakes",
        ),
    ],
)  # fmt: skip
def test_a_hostile_file_is_one_mistake(text: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(InvalidInput, match=rule) as error:
        read_study(path)
    assert time.process_time() - began < 5
    assert len(str(error.value)) < 5000


def test_many_parameters_are_checked_soon(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BASE + "".join(f"y{i} = {{ low = 0.0, high = 1.0 }}\n" for i in range(25_000)))
    began = time.process_time()
    assert len(read_study(path).space.distributions) == 25_001
    assert time.process_time() - began < 10


SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host/db",
        f"postgresql://host/db?user=me&password={SECRET}",
        f"postgresql+psycopg://me@host/db?sslpassword={SECRET}&x=1",
        f"mysql://me:{SECRET}@host/db?charset=utf8",
        f"postgresql://me:{SECRET}@/db?host=/var/run",
        f"host=example user=me password={SECRET} dbname=db",
        f"host=example password = '{SECRET}'",
        f"postgresql://me:{SECRET}@host:port/db",
        f"nonsense://me:{SECRET}@host/db?passwd={SECRET}",
        f"postgresql://me:a:b{SECRET}@host/db?Password={SECRET}&token={SECRET}",
    ],
)
def test_no_password_is_shown(url: str, tmp_path: Path) -> None:
    assert SECRET not in public_url(url)
    if not url.startswith(("postgresql", "mysql")) or ":port" in url:
        with pytest.raises((StorageError, InvalidInput)) as error:
            opened(url)
        assert SECRET not in str(error.value)
    path = tmp_path / "study.toml"
    path.write_text(f'storage = "{url}"\n{BASE}')
    if "://" not in url:
        with pytest.raises(InvalidInput) as error:
            read_study(path)
        assert SECRET not in str(error.value)


def test_the_rest_of_a_url_is_shown() -> None:
    url = "postgresql://me@host:5432/db?application_name=x"
    assert public_url(url) == url
    assert public_url("postgresql://me:pw@h/db?password=pw&x=1") == (
        "postgresql://me:***@h/db?password=***&x=1"
    )
