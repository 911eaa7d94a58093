"""How many SQL statements a trial takes: all runners of a study share one database."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from faults import postgres
from sqlalchemy import Engine, event
from studies.made import read

from neurobo.integrations.optuna import storage as storages
from neurobo.running.progress import Silent
from neurobo.studies.runner import shared_run as runner

TRIALS = 25


def _statements(
    folder: Path, monkeypatch: pytest.MonkeyPatch, storage: str = ""
) -> dict[str, float]:
    """Of a trial with six parameters, by their first word, with the `BEGIN` of each transaction."""
    found: Counter[str] = Counter()
    engines: list[Engine] = []
    make = storages._storage

    def counted(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        engines.append(made.engine)
        event.listen(
            made.engine, "before_cursor_execute",
            lambda c, cursor, text, *_: found.update([text.split()[0]]),
        )  # fmt: skip
        if storage:  # the driver sends it; on SQLite it is one of ours
            event.listen(made.engine, "begin", lambda _: found.update(["BEGIN"]))
        return made

    monkeypatch.setattr(storages, "_storage", counted)
    space = "\n".join(f"x{i} = {{ low = 0.0, high = 1.0 }}" for i in range(6))
    goal = "def f(p):\n    return sum(p.values())\n"
    top = f"n_startup_trials = 99\n{storage and f'storage = {storage!r}'}\n"
    file = read(folder, trials=TRIALS, space=space, goal=goal, top=top)
    runner.run(file, display=lambda _: Silent(), note=lambda _: None)
    for engine in engines:
        engine.dispose()
    assert found["BEGIN"] >= TRIALS
    shares = {word: count / TRIALS for word, count in found.items()}
    print(sum(shares.values()), shares)  # noqa: T201  # with pytest -s
    return shares


def test_at_most_25_on_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was 90."""
    assert sum(_statements(tmp_path, monkeypatch).values()) <= 25


@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())
def test_at_most_25_on_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was 73."""
    with postgres.server() as server:
        assert sum(_statements(tmp_path, monkeypatch, server.url).values()) <= 25
