# ===- test_searches.py - docs/searches, from their records -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each search of docs/searches is made again from its record, with neither a language
model nor a GPU, and reports what docs/searches has of it."""

import os
import subprocess
import sys

import pytest
from compiled import BIN, ROOT

SEARCHES = ROOT / "docs" / "searches"
NAMES = sorted(
    os.fspath(path.parent.relative_to(SEARCHES))
    for path in SEARCHES.glob("**/record.jsonl.xz")
)


def test_all_searches_are_made_again():
    script = (ROOT / "scripts" / "replay-search.sh").read_text()
    assert len(NAMES) == 4
    assert all(f"\n  {name})" in script for name in NAMES)


def run(*command):
    made = subprocess.run(
        command,
        text=True,
        capture_output=True,
        check=False,
        env=dict(os.environ, FASTK_BIN=os.fspath(BIN), FASTK_BANK=""),
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_search_reports_what_it_did(name, tmp_path):
    run(ROOT / "scripts" / "replay-search.sh", name, tmp_path)
    text = run(
        sys.executable,
        "-m",
        "fastk.report",
        tmp_path / "journal",
        f"--report={tmp_path}/found.json",
    )
    assert text == (SEARCHES / name / "report.txt").read_text()
