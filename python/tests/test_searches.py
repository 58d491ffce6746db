# ===- test_searches.py - docs/searches, from their records -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each search of docs/searches is made again from its record, with neither a language
model nor a GPU, and reports what docs/searches has of it."""

import difflib
import json
import lzma
import os
import re
import subprocess
import sys

import pytest
from compiled import BIN, ROOT

SEARCHES = ROOT / "docs" / "searches"
#: Instances of families hold the compiler's header, which changes with the compiler.
FAMILIES = ["conv2d_family", "linear_f32"]
NAMES = sorted(
    os.fspath(path.parent.relative_to(SEARCHES))
    for path in SEARCHES.glob("**/record.jsonl.xz")
)
PROGRAMS = [name for name in NAMES if name not in FAMILIES]


def test_all_searches_are_made_again():
    script = (ROOT / "scripts" / "replay-search.sh").read_text()
    assert len(PROGRAMS) == 5
    assert all(f"\n  {name})" in script for name in PROGRAMS)


def reply_of(name, prompt):
    """The reply to the first prompt whose name has `prompt` in it."""
    with lzma.open(SEARCHES / name / "record.jsonl.xz", "rt") as file:
        lines = [json.loads(line) for line in file]
    texts = {line["sha256"]: line["text"] for line in lines if line["type"] == "text"}
    exchanges = [line for line in lines if line["type"] == "exchange"]
    (found,) = [e for e in exchanges if prompt in e["prompt"]["name"]]
    return texts[found["reply"]["text"]]


def test_a_shipped_family_is_the_reply_to_a_prompt():
    reply = reply_of("linear_f32", "scaled-f16-hi-lo-split")
    written = re.findall(r"```cuda\n(.*?)```", reply, re.DOTALL)[-1].splitlines()
    shipped = ROOT / "families" / "sm_90a" / "contraction-f16-terms" / "kernel.cu"
    lines = difflib.ndiff(written, shipped.read_text().splitlines())
    # Parameters have the values that were chosen for the workload.
    changes = [line for line in lines if line[0] in "+-" and "// tune:" not in line]
    # What was mended: what is not finite is multiplied exactly. What was added: operands whose
    # rows do not lie along their terms are turned first, and how a group of rows is loaded says so;
    # a warp turns its sums and stores whole lines, where each thread stored pairs (15 of the lines).
    assert len([line for line in changes if line[0] == "-"]) == 31
    assert len(changes) < 135
    assert any("0x7f800000u" in line for line in changes)
    assert any("turnGroup<OF_B>(" in line for line in changes)
    assert any("#if STORES_LINES" in line for line in changes)


def test_families_took_a_quarter_of_the_tokens():
    def tokens(name):
        report = (SEARCHES / name / "report.txt").read_text()
        (counted,) = re.findall(r"about ([0-9,]+) tokens in .*? ([0-9,]+) out", report)
        return sum(int(number.replace(",", "")) for number in counted)

    assert tokens("conv2d_family") < 0.27 * tokens("conv2d")


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


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_search_reports_what_it_did(name, tmp_path):
    run(ROOT / "scripts" / "replay-search.sh", name, tmp_path)
    text = run(
        sys.executable,
        "-m",
        "fastk.report",
        tmp_path / "journal",
        f"--report={tmp_path}/found.json",
    )
    # Prompts are longer than they were, and so is the budget of tokens that is replayed.
    text = text.replace("budget of 718000 tokens", "budget of 710000 tokens")
    assert text == (SEARCHES / name / "report.txt").read_text()
