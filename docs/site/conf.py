# ===- conf.py - The site that docs/ becomes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Sphinx's settings; scripts/build-site.sh runs it on the root of the checkout.

The pages are those of the checkout, as they are: links between them, and to files
beside them, work in a checkout as on the site.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import checkout  # noqa: E402

project = "fastk"
copyright = "fastk's authors, Apache-2.0 WITH LLVM-exception"
author = "fastk's authors"

extensions = ["myst_parser", "checkout", "mlir_lexer"]
root_doc = "docs/index"
include_patterns = ["docs/**/*.md", "docs/*.md", "docs/**/*.ipynb", *checkout.pages()]
# Recorded prompts and replies are no pages.
exclude_patterns = ["docs/**/journal/**", "build*", "dist", ".*"]

# As GitHub makes them.
myst_heading_anchors = 6
# Generated pages skip levels.
suppress_warnings = ["myst.header"]
highlight_language = "text"

html_theme = "furo"
html_title = "fastk"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_extra_path = ["index.html"]
# It would fetch pages, which browsers refuse for files.
html_show_search_summary = False
