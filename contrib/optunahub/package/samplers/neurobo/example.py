"""Minimise a function of two mixed parameters with neurobo's sampler."""

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    kind = trial.suggest_categorical("kind", ["smooth", "rough"])
    return (x - 1) ** 2 + (kind == "rough")


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/neurobo")
    study = optuna.create_study(sampler=module.NeuroSampler(seed=0))
    study.optimize(objective, n_trials=15)
    print(study.best_params, study.best_value)
