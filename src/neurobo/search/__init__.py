"""Where to evaluate next: initial design, trust region, acquisition optimiser."""
