"""A search algorithm for Ray Tune whose state is an Optuna study."""

from __future__ import annotations

import json
import math
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from neurobo.algorithm import Algorithm, resolve
from neurobo.errors import InvalidInput, check_choice, check_count, check_seed, require
from neurobo.integrations.optuna.attributes import FAILURE, INTERRUPTED
from neurobo.integrations.optuna.compat import finish_trial, live_trial, stored_trial
from neurobo.integrations.optuna.history import trials_of_study
from neurobo.integrations.optuna.other_storages import JOURNAL
from neurobo.integrations.optuna.sampler import NeuroSampler
from neurobo.integrations.optuna.storage import opened, silent
from neurobo.ray.spaces import TuneSpace, tune_space
from neurobo.running.suggesting import suggest_all
from neurobo.suggestion import is_exhausted

Searcher: Any = require("ray.tune.search", extra="ray").Searcher

STEP = "training_iteration"
SESSION, TUNE_ID = "tune_session", "tune_trial"
"""User attributes of a trial: which run of Ray Tune it belongs to, and its id there."""


class NeuroSearch(Searcher):  # type: ignore[misc]
    """neurobo as a search algorithm of Ray Tune: `TuneConfig(search_alg=NeuroSearch(...))`.

    The state is the Optuna study `study`. A trial whose metric is missing, NaN or infinite, or
    that raises, is recorded as failed with its reason. One that a scheduler stops early is recorded
    as pruned, with its learning curve.

    Args:
        space: What to choose: a configuration with Ray Tune's domains, neurobo's distributions or
            `(low, high)`, also nested. None: the `param_space` of the Tuner.
        metric: The name of the result to optimise. None: that of the TuneConfig.
        mode: "min" or "max". None: that of the TuneConfig.
        algorithm: One of `neurobo.algorithms()`, or an object such as `neurobo.NTKGP()`.
        seed: The same seed gives the same suggestions; None makes every run different.
        constraints: Names of results that must be at most 0 in a feasible trial.
        max_t: The step at which trials end, as in the scheduler. A trial that is stopped before is
            pruned. None: one that is stopped before the last step that any trial has reached.
        storage: A URL as in `neurobo.minimize`; None keeps the study in a temporary file, and a
            copy of it in each checkpoint of Ray Tune.
        study_name: The study's name in its storage.
        n_startup_trials: How many points the initial design has.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: Literal["min", "max"] | None = None,
        *,
        algorithm: str | Algorithm = "auto",
        seed: int | None = None,
        constraints: Sequence[str] = (),
        max_t: int | None = None,
        storage: str | None = None,
        study_name: str = "neurobo",
        n_startup_trials: int | None = None,
    ) -> None:
        if mode is not None:
            check_choice("mode", mode, ("min", "max"))
        if storage is not None and not isinstance(storage, str):
            raise InvalidInput(f"storage must be a URL such as sqlite:///s.db, got {storage!r}")
        if max_t is not None:
            check_count("max_t", max_t)
        super().__init__(metric=metric, mode=mode)
        self._metric: str | None = metric
        self._mode: str | None = mode
        self._converted = None if space is None else tune_space(space, ranges=True)
        self._algorithm, self._seed = resolve(algorithm), check_seed(seed)
        self._constraints, self._max_t = tuple(constraints), max_t
        self._storage, self._name, self._n_start = storage, study_name, n_startup_trials
        self._session = secrets.token_hex(8)
        self._stop: Mapping[str, Any] = {}
        """The experiment's own criteria for the end of a trial."""
        self._forget()

    def _forget(self) -> None:
        self._study: Study | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._trials: dict[str, Trial] = {}
        """Trials that have not ended, by their ids in Ray Tune."""
        self._steps: dict[str, int] = {}
        """The last step of each of them that was reported."""

    def __getstate__(self) -> dict[str, Any]:
        """Ray Tune stores the object with an experiment; the study comes from `restore`."""
        made: dict[str, Any] = {"_study": None, "_folder": None, "_trials": {}, "_steps": {}}
        return {**vars(self), **made}

    @property
    def study(self) -> Study:
        """The study with all trials; it opens its storage when it is first used."""
        if self._study is None:
            self._study = self._open(self._storage or self._journal())
        return self._study

    def _journal(self, content: str = "") -> str:
        """A file of our own, with what a checkpoint had."""
        self._folder = tempfile.TemporaryDirectory(prefix="neurobo-tune-")
        path = Path(self._folder.name) / "study.log"
        path.write_text(content, encoding="utf-8")
        return f"{JOURNAL}{path}"

    def _open(self, url: str) -> Study:
        if self._mode is None or self._metric is None:
            raise InvalidInput("a search needs metric and mode, here or in TuneConfig, got none")
        with silent():
            return optuna.create_study(
                storage=opened(url),
                study_name=self._name,
                direction="minimize" if self._mode == "min" else "maximize",
                sampler=NeuroSampler(
                    self._algorithm,
                    seed=self._seed,
                    n_startup_trials=self._n_start,
                    search_space=self._chosen.space,
                ),
                load_if_exists=True,
            )

    @property
    def _chosen(self) -> TuneSpace:
        if self._converted is None:
            raise InvalidInput("a search needs a space, here or as param_space, got none")
        return self._converted

    # What Ray Tune calls --------------------------------------------------------------------------

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        stop = spec.get("stop")
        self._stop = stop if isinstance(stop, Mapping) else {}
        self._metric, self._mode = metric or self._metric, mode or self._mode
        if self._converted is not None:
            return False  # Ray Tune then refuses a second space
        self._converted = tune_space(config, ranges=False)
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        space = self._chosen.space
        if space.n_points < math.inf and is_exhausted(space, trials_of_study(self.study, space)):
            return str(Searcher.FINISHED)
        trial = self.study.ask()
        trial.set_user_attr(SESSION, self._session)
        trial.set_user_attr(TUNE_ID, trial_id)
        self._trials[trial_id] = trial
        return self._chosen.config(suggest_all(trial, space))

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        trial, value, step = self._trials.get(trial_id), self._value(result), result.get(STEP)
        if trial is None or not isinstance(step, int):
            return
        self._steps[trial_id] = step
        if value is not None:
            try:
                trial.report(value, step)
            except UpdateFinishedTrialError:
                self._trials.pop(trial_id)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        trial = self._trials.get(trial_id)
        if trial is None:
            return
        try:
            if error:
                self._fail(trial, "the trial raised an error; see its folder in Ray Tune's results")
            elif not result:
                self._fail(trial, INTERRUPTED)
            else:
                self._end(trial_id, trial, result)
        except UpdateFinishedTrialError:  # before the checkpoint that was restored
            pass
        self._trials.pop(trial_id)
        self._steps.pop(trial_id, None)

    def _end(self, trial_id: str, trial: Trial, result: Mapping[str, Any]) -> None:
        value, constraints = self._value(result), self._found(result)
        if value is None:
            name = str(self._metric)
            got = repr(result[name]) if name in result else "no such result"
            return self._fail(trial, f"{name} must be a finite number, got {got}")
        if missing := [name for name in self._constraints if name not in constraints]:
            why = f"the constraint {missing[0]!r} must be a finite number in the last result"
            return self._fail(trial, why, constraints)
        pruned, step = self._is_pruned(trial_id, result), result.get(STEP)
        if isinstance(step, int) and self._steps.get(trial_id) != step:
            trial.report(value, step)
        state = TrialState.PRUNED if pruned else TrialState.COMPLETE
        values = None if pruned else [value]
        return finish_trial(self.study, trial, state, values, constraints=constraints)

    def _is_pruned(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Whether a scheduler has stopped the trial early. Ray Tune does not tell; but it passes
        the last result of a trial that ends by itself to `on_trial_result` before."""
        step = result.get(STEP)
        if not isinstance(step, int) or self._steps.get(trial_id) == step:
            return False
        if any(result.get(name, -math.inf) >= most for name, most in self._stop.items()):
            return False
        return step < (self._max_t or self._farthest())

    def _farthest(self) -> int:
        """The last step that any trial has reached."""
        steps = [trial.last_step or 0 for trial in self.study.get_trials(deepcopy=False)]
        return max([*self._steps.values(), *steps], default=0)

    def _value(self, result: Mapping[str, Any]) -> float | None:
        return _number(result.get(str(self._metric)))

    def _found(self, result: Mapping[str, Any]) -> dict[str, float]:
        found = {name: _number(result.get(name)) for name in self._constraints}
        return {name: value for name, value in found.items() if value is not None}

    def _fail(
        self,
        trial: Trial | FrozenTrial,
        reason: str,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        finish_trial(
            self.study, trial, TrialState.FAIL,
            user_attrs={FAILURE: reason}, constraints=constraints,
        )  # fmt: skip

    # Checkpoints ----------------------------------------------------------------------------------

    def save(self, checkpoint_path: str) -> None:
        state = {
            "session": self._session,
            "seed": self._seed,
            "metric": self._metric,
            "mode": self._mode,
            "trials": {trial_id: trial.number for trial_id, trial in self._trials.items()},
            "steps": self._steps,
            "journal": None,
        }
        if self._storage is None:
            _ = self.study
            assert self._folder is not None
            state["journal"] = (Path(self._folder.name) / "study.log").read_text(encoding="utf-8")
        Path(checkpoint_path).write_text(json.dumps(state), encoding="utf-8")

    def restore(self, checkpoint_path: str) -> None:
        state = json.loads(Path(checkpoint_path).read_text(encoding="utf-8"))
        self._forget()
        self._session, self._seed = state["session"], state["seed"]
        self._metric, self._mode = state["metric"], state["mode"]
        self._study = self._open(self._storage or self._journal(state["journal"]))
        trials = self._study.get_trials(deepcopy=False)
        known = {number: trial_id for trial_id, number in state["trials"].items()}
        for trial in trials:
            if trial.number in known:
                self._trials[known[trial.number]] = live_trial(self._study, trial)
            elif trial.state == TrialState.RUNNING and self._is_ours(trial):
                self._fail(stored_trial(self._study, trial), INTERRUPTED)  # after the checkpoint
        self._steps = state["steps"]

    def _is_ours(self, trial: FrozenTrial) -> bool:
        return bool(trial.user_attrs.get(SESSION) == self._session)


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
