"""The one loop around suggestions, its workers and its progress."""
