"""Plugins: finding them, checking them, and the typed facade over their hooks."""
