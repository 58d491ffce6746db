# ===- test_docs.py - What the pages show, with Torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The examples that need Torch or the whole build do what the page says.

test/Driver/docs.test runs the others, and fails for one that nobody runs.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from compiled import BIN
from conftest import PYTHON, ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [p for p in PAGES if "run-by: python/tests/test_docs.py:" in p.read_text()]


def test_the_pages_are_found():
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "docs/importer.md", "docs/building.md"} <= names


def parameter(page):
    # The README searches for winners.
    marks = pytest.mark.measures if page.stem == "README" else ()
    return pytest.param(page, marks=marks, id=page.stem)


@pytest.mark.parametrize("page", [*map(parameter, PAGES)])
def test_examples(page, tmp_path):
    here = str(pathlib.Path(sys.executable).parent)
    environment = dict(
        os.environ,
        PATH=os.pathsep.join([here, str(BIN), os.environ["PATH"]]),
        PYTHONPATH=str(PYTHON),
        # A bank of its own, not the user's.
        HOME=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    environment.pop("FASTK_BANK", None)
    if not shutil.which("g++"):
        # For Inductor.
        environment.setdefault("CXX", "clang++-22")
    command = [sys.executable, ROOT / "scripts" / "run-doc-examples.py", page]
    command += ["--dir", tmp_path / "scratch", "--only", "python/tests/test_docs.py"]
    result = subprocess.run(
        command, env=environment, text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
