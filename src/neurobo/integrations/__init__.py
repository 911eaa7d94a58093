"""How others use the suggestion pass: `neurobo.suggest` and Optuna's samplers."""
