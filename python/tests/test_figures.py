# ===- test_figures.py - Pictures and figures are those of their pages -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The picture is drawn of the pages as they are, and the first page says their figures."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import ROOT

SCRIPT = ROOT / "scripts" / "draw-figures.py"


@pytest.fixture(scope="module")
def figures():
    found = importlib.util.spec_from_file_location("draw_figures", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_picture_is_that_of_the_pages():
    subprocess.run([sys.executable, SCRIPT, "--check"], check=True)


def test_a_stale_picture_is_found(figures, tmp_path, monkeypatch, capsys):
    (tmp_path / "old.svg").write_text("<svg/>")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "FIGURE", tmp_path / "old.svg")
    monkeypatch.setattr(sys, "argv", ["draw-figures.py", "--check"])
    assert figures.main() == 1
    assert "old.svg is stale: run scripts/draw-figures.py" in capsys.readouterr().err


def test_a_page_without_its_table(figures):
    with pytest.raises(SystemExit, match="families.md has no table of ratios"):
        figures.ratios_of("families.md", "On another card")


@pytest.mark.parametrize("number", [1, 3, 4])
def test_the_first_page_says_their_figures(figures, number):
    _, page, heading = figures.GROUPS[number]
    mean, losses, rows = re.match(
        r"([\d.]+); (\d+) of (\d+)", figures.summary(figures.ratios_of(page, heading))
    ).groups()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"{page}\).*\| {mean} \| {losses} of {rows} \|", readme)
