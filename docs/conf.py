"""Sphinx reads the documentation with these settings."""

from __future__ import annotations

from importlib.metadata import version as _version

project = "wakeful"
author = "the wakeful authors"
copyright = "the wakeful authors, Apache License 2.0"  # noqa: A001  (the name Sphinx reads)
version = release = _version("wakeful")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples"]
nitpicky = True

html_theme = "furo"
html_title = "wakeful"
html_show_sphinx = False
