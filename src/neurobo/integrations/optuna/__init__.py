"""Optuna: sampler, history, attributes, storage."""
