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


def test_the_pictures_are_those_of_the_pages():
    subprocess.run([sys.executable, SCRIPT, "--check"], check=True)


def test_a_stale_picture_is_found(figures, tmp_path, monkeypatch, capsys):
    for name in figures.DRAWN:
        (tmp_path / name).write_bytes((figures.FIGURES / name).read_bytes())
    (tmp_path / "host.svg").write_text("<svg/>")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["draw-figures.py", "--check"])
    assert figures.main() == 1
    said = capsys.readouterr().err
    assert said == "draw-figures: host.svg is stale: run scripts/draw-figures.py\n"


def test_a_page_without_its_table(figures):
    with pytest.raises(SystemExit, match="families.md has no table of 'ratio'"):
        figures.ratios_of(figures.Rows("", "families.md", "On another card"))


def test_rows_with_intervals_and_of_one_kind(figures, tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(
        "| row | a |\n|---|--:|\n| 1/x | 1.10× (1.05–1.20) |\n| 2/y | 0.9 |\n| 1/z | – |\n"
    )
    monkeypatch.setattr(figures, "PAGES", tmp_path)
    of = figures.rows_of
    assert of(figures.Rows("", "page.md", column="a", only="1/")) == [
        ("1/x", [1.1, 1.05, 1.2], "1.10 (1.05 to 1.20)")
    ]
    assert of(figures.Rows("", "page.md", column="a", only="2/")) == [
        ("2/y", [0.9], "0.9")
    ]


@pytest.mark.parametrize("number", [1, 3, 4])
def test_the_first_page_says_their_figures(figures, number):
    rows = figures.DRAWN["ratios.svg"].sources[number]
    mean, losses, count = re.match(
        r"([\d.]+); (\d+) of (\d+)", figures.summary(figures.ratios_of(rows))
    ).groups()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"{rows.page}\).*\| {mean} \| {losses} of {count} \|", readme)
