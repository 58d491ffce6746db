# ===- test_thinking_model.py - benchmarks/thinking_model.py -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The model that only takes its time thinks about all prompts at once, and a search takes what it says."""

import json
import os
import subprocess
import sys

import pytest
from compiled import BIN
from conftest import ROOT

BENCHMARKS = ROOT / "benchmarks"

#: Ends when all prompts of the folder have answers.
WAIT = """import glob, os, sys, time
prompts = glob.glob(sys.argv[1] + "/*.prompt.md")
while not all(os.path.exists(path.replace(".prompt.", ".answer.")) for path in prompts):
    time.sleep(0.02)
"""


@pytest.fixture
def think(tmp_path):
    """Runs a command with a model that thinks for `seconds`; the model's row, and all that was said."""

    def call(seconds, *command):
        result = subprocess.run(
            [sys.executable, BENCHMARKS / "thinking_model.py", tmp_path / "box",
             f"--seconds={seconds}", "--spool=spool", "--", *command],
            env=os.environ | {"FASTK_BANK": "", "XDG_CACHE_HOME": os.devnull}, cwd=tmp_path,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout.splitlines()[-1]), result.stdout + result.stderr

    return call


def test_all_prompts_are_thought_about_at_once(think, tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    names = ["0a-round-1-ideas-%012x", "0b-round-2-ideas-again-%012x", "0c-round-1-some-ideas-sample-1-%012x"]
    paths = [box / (name % number) for number, name in enumerate(names)]
    for path in paths:
        path.with_name(path.name + ".prompt.md").write_text("?")
    said = box / "0d-round-1-ideas-000000000009.answer.md"
    said.write_text("What somebody else said.")
    said.with_name(said.name.replace(".answer.", ".prompt.")).write_text("?")
    row, _ = think(0.5, sys.executable, "-c", WAIT, box)
    assert row["busy_while_thinking"] is None
    assert (row["replies"], row["prompts_at_once"]) == (3, 3)
    assert 0.5 <= row["thinking_seconds"] < 1.5
    assert said.read_text() == "What somebody else said."
    first, second, program = (path.with_name(path.name + ".answer.md").read_text() for path in paths)
    titles = [idea["title"] for reply in (first, second) for idea in json.loads(reply)["ideas"]]
    assert len(titles) == len(set(titles))
    assert "```cuda" in program and "```json" in program


def test_the_busy_part_is_of_the_time_in_which_it_thinks(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from thinking_model import busy_while_thinking

    def write(when, *names):
        path = tmp_path.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (when, when))

    # Jobs from 4 to 6 and from 9 to 15; it thinks from 0 to 8 and from 10 to 12.
    for number, begin, end in [(1, 4, 6), (2, 9, 15)]:
        write(begin, "spool", f"job-{number}", "claim-1")
        write(end, "spool", f"job-{number}", "verdict.json")
    for number, begin, end in [(1, 0, 5), (2, 3, 8), (3, 10, 12)]:
        write(begin, "box", f"a-{number:012x}.prompt.md")
        write(end, "box", f"a-{number:012x}.answer.md")
    assert busy_while_thinking(str(tmp_path / "box"), str(tmp_path / "spool")) == round(4 / 6, 3)


def test_a_search_takes_what_it_says(think, tmp_path):
    model = subprocess.run([sys.executable, BENCHMARKS / "many_keys.py", "2"], capture_output=True, check=True)
    (tmp_path / "model.mlir").write_bytes(model.stdout)
    (tmp_path / "seconds.json").write_text('{"evaluate": [0.1], "promote": [0.2], "compare": [0.02]}')
    row, said = think(
        0.5, sys.executable, BENCHMARKS / "simulated_workers.py", "spool", "--seconds=seconds.json", "--",
        BIN / "fastk-opt", "model.mlir", "--target=cuda:sm_90a", "--search", "--write=programs", "--rounds=2",
        "--ideas=2", "--implementations=2", "--proposer=mailbox:box?wait=60", "--bank=bank",
        "--evaluator=spool:spool?wait=60", "-o", os.devnull,
    )  # fmt: skip
    # Of each workload and round a prompt for ideas and four for programs, and nothing to be mended.
    assert row["replies"] == 20
    assert row["prompts_at_once"] >= 4
    assert 0 <= row["busy_while_thinking"] <= 1
    assert "unreadable" not in said
    assert said.count(" 8 ok") == 2
