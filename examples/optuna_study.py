"""Use neurobo inside an Optuna study, the rest of which stays as it is."""

import optuna

import neurobo


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -10, 10)
    y = trial.suggest_float("y", -10, 10)
    return (x - 2) ** 2 + (y + 3) ** 2 + x * y / 10


if __name__ == "__main__":
    study = optuna.create_study(sampler=neurobo.NeuroSampler(seed=0))
    study.optimize(objective, n_trials=30)
    print(study.best_params, study.best_value)
