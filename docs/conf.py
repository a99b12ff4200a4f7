"""Sphinx configuration of the manual."""

import tickless

project = "tickless"
author = "The tickless authors"
copyright = f"2026, {author}"
version = release = tickless.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters hold the types
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_static_path = ["_static"]
html_title = "tickless"
