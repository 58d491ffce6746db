# ===- test_notebooks.py - docs/notebooks -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each notebook runs to its end, as Jupyter runs it."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run(notebook, folder):
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "run-notebooks.py", notebook, "-o", folder],
        text=True,
        capture_output=True,
        check=False,
    )


def said_in(folder, name):
    cells = json.loads((folder / name).read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join("".join(output.get("text", "")) for output in outputs)


def test_they_are_found():
    assert [path.name for path in NOTEBOOKS] == ["compile.ipynb", "read-a-search.ipynb"]


# It searches: beside other tests nothing may be judged in time.
@pytest.mark.measures
def test_compile(tmp_path):
    result = run(NOTEBOOKS[0], tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    said = said_in(tmp_path, NOTEBOOKS[0].name)
    assert "matmul_bias_gelu miss" in said
    assert "limit 1.00e-04 (ieee): ok" in said
    assert "the same as torch" in said


def test_read_a_search(tmp_path):
    result = run(NOTEBOOKS[1], tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    said = said_in(tmp_path, NOTEBOOKS[1].name)
    assert "4 ideas, 20 variants, 11 exchanges" in said
    assert "2.69 times the default lowering" in said
    assert "fastk.report: wrote variants.jsonl" in said


@pytest.fixture
def notebook(tmp_path):
    """Writes a notebook of one cell."""

    def write(source, outputs=()):
        cell = {
            "cell_type": "code",
            "id": "only",
            "metadata": {},
            "source": source,
            "outputs": list(outputs),
            "execution_count": None,
        }
        path = tmp_path / "one.ipynb"
        path.write_text(
            json.dumps(
                {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
            )
        )
        return path

    return write


@pytest.mark.parametrize("source", ["1 / 0", "%%sh\nfastk-opt none.mlir"])
def test_a_cell_that_fails(notebook, tmp_path, source):
    result = run(notebook(source), tmp_path / "ran")
    assert result.returncode == 1
    assert "one.ipynb: FAILED:" in result.stdout and source in result.stdout
    assert not (tmp_path / "ran").exists()


def test_outputs_are_not_committed(notebook, tmp_path):
    said = {"output_type": "stream", "name": "stdout", "text": "1"}
    result = run(notebook("1", [said]), tmp_path / "ran")
    assert result.returncode == 1
    assert "one.ipynb: FAILED: has outputs: clear them" in result.stdout
