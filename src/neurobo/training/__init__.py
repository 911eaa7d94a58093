"""Residuals, Gauss-Newton and Adam, Nyström landmarks, incremental Cholesky."""
