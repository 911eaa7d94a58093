"""Models of the objective: network draws, Gaussian processes, linearised networks, evidence."""
