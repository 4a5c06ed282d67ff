"""Commands of the plugins."""
