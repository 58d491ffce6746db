# ===- test_commandline.py - Standard streams of the commands -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A standard output that is closed, or that has not all characters."""

import os

import pytest
from conftest import python
from report_journals import llm_search

GOOD = "def build():\n    return nn.ReLU(), (torch.randn(3),)\n"


def run(*arguments, closed=()):
    """Runs Python with some of its streams closed; returns the finished process."""
    return python(*arguments, preexec_fn=lambda: [os.close(each) for each in closed])


@pytest.mark.parametrize(
    "text",
    ["gr\u00fcn", "x" * 100000 + "\u00fc", "\ud800"],
    ids=["short", "long", "surrogate"],
)
def test_a_character_that_stdout_has_not(text, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    program = (
        "import sys; from fastk.commandline import write_stdout\n"
        f"sys.exit(write_stdout({text!a}, 'name a file'))"
    )
    result = run("-c", program)
    assert (result.returncode, result.stdout) == (1, "")
    character = ascii(next(each for each in text if not each.isascii()))
    assert result.stderr == (
        f"error: cannot write standard output: its encoding, ascii, has no {character}\n"
        "remedy: name a file\n"
    )


@pytest.mark.parametrize("closed", [(1,), (0, 1)])
def test_the_importer_with_a_closed_stdout(model, closed):
    result = run("-m", "fastk.importer", model(GOOD), "--quiet", closed=closed)
    assert result.returncode == 1
    assert result.stderr == (
        "error: cannot write standard output: it is closed\n"
        "remedy: free some space, or name a file with -o\n"
    )


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_an_import_without_streams(model, tmp_path, closed):
    # The first line of progress comes after 2 s.
    slow = GOOD.replace(":\n", ":\n    import time; time.sleep(5)\n", 1)
    out = tmp_path / "out.mlir"
    result = run("-m", "fastk.importer", model(slow), "-o", out, closed=closed)
    # Nor is progress written to stdout.
    assert (result.returncode, result.stdout) == (0, "")
    assert ("exporting" in result.stderr) == (2 not in closed)
    assert "func.func @forward" in out.read_text()


def test_a_report_with_a_closed_stdout(tmp_path):
    llm_search(tmp_path / "j")
    result = run("-m", "fastk.report", tmp_path / "j", closed=(1,))
    assert result.returncode == 1
    assert result.stderr == (
        "error: cannot write standard output: it is closed\n"
        "remedy: free some space, or leave the text out with --quiet\n"
    )
    page = tmp_path / "page.html"
    result = run(
        "-m", "fastk.report", tmp_path / "j", "--quiet", "-o", page, closed=(1, 2)
    )
    assert result.returncode == 0
    assert page.exists()
