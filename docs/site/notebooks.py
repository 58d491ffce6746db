# ===- notebooks.py - Notebooks as pages of the site -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Markdown of a notebook, with the outputs of its last run if that was of the same cells.

A few lines instead of myst-nb, which brings Jupyter and a data base to every build.
"""

import json
import pathlib
import re

#: Where scripts/run-notebooks.py leaves the notebooks that ran.
RAN = pathlib.Path("build/notebooks")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
FROM = """
---
This page is the notebook {download}`%s <%s>`.
"""


def source_of(cell):
    return "".join(cell["source"])


def fenced(language, text):
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def shown(outputs):
    """The text of outputs, what was said on standard error among it."""
    parts = []
    for output in outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        parts.append("".join(text))
    return COLOURS.sub("", "".join(parts))


def last_run(root, name, cells):
    """The cells as they were run last; those of the notebook where they are others."""
    path = root / RAN / name
    if not path.is_file():
        return cells
    ran = json.loads(path.read_text(encoding="utf-8"))["cells"]
    same = list(map(source_of, ran)) == list(map(source_of, cells))
    return ran if same else cells


def markdown(root, path, text):
    parts = []
    for cell in last_run(root, path.name, json.loads(text)["cells"]):
        source = source_of(cell)
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        shell = source.startswith("%%sh")
        language = "sh" if shell else "python"
        parts.append(fenced(language, source.removeprefix("%%sh\n")))
        if said := shown(cell["outputs"]):
            parts.append(fenced("text", said))
    return "\n".join([*parts, FROM % (path.name, path.name)])
