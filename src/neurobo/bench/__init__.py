"""Benchmarks: problems, real peers, the harness that runs them, statistics and reports."""
