"""Errors that teach, results that age, and loops without model calls."""
