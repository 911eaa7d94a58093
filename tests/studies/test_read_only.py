"""Looking at a study needs no right to write; and a file that goes away during a run."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial
from studies.made import read
from typer.testing import CliRunner

from neurobo.cli.app import app
from neurobo.integrations.optuna.storage_errors import StorageError
from neurobo.running.progress import Silent
from neurobo.studies.file.study_file import StudyFile
from neurobo.studies.runner import shared_run as runner
from neurobo.studies.runner.store import explained, open_study


@pytest.fixture
def finished(tmp_path: Path) -> StudyFile:
    file = read(tmp_path, trials=6)
    runner.run(file, display=lambda _: Silent(), note=lambda _: None)
    return file


@pytest.mark.parametrize("command", ["status", "best", "export", "report", "explain"])
def test_viewers_do_not_write(
    command: str, finished: StudyFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also for root, whom the mode of a file does not stop: the connection itself is read-only."""
    opened: list[str] = []
    connect = sqlite3.connect

    def watched(database: str, *args: object, **options: object) -> sqlite3.Connection:
        opened.append(str(database))
        return connect(database, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(sqlite3, "connect", watched)
    monkeypatch.setattr(sqlite3.dbapi2, "connect", watched)
    database = tmp_path / "study.db"
    before = database.read_bytes()
    os.chmod(database, 0o444)
    where = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    done = CliRunner().invoke(app, [command, str(finished.path), *where])
    assert done.exception is None, (done.exception, done.output)
    assert database.read_bytes() == before
    assert any("mode=ro" in name for name in opened), opened


def test_a_study_that_is_opened_for_looking_cannot_be_changed(finished: StudyFile) -> None:
    looking = open_study(finished, create=False, read_only=True)
    assert len(looking.trials) == 6
    with pytest.raises(StorageError, match="it may not be written to"), explained(finished):
        looking.set_user_attr("a", 1)


def test_a_file_that_is_deleted_during_a_run_is_called_gone(tmp_path: Path) -> None:
    file = read(tmp_path, trials=20, top="n_startup_trials = 50\n")

    def delete(study: Study, trial: FrozenTrial) -> None:
        if trial.number == 2:
            shutil.move(tmp_path / "study.db", tmp_path / "elsewhere.db")

    with pytest.raises(StorageError, match="the file is gone: it was deleted or moved meanwhile"):
        runner.run(
            file, display=lambda _: Silent(), note=lambda _: None, callbacks=(delete,)
        )  # fmt: skip
