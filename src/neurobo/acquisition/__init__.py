"""What it is worth to evaluate a point: improvement, bounds, constraints, exploration."""
