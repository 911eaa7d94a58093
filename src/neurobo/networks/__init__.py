"""Architectures and their infinite-width kernels."""
