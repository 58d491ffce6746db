# ===- test_report_command.py - python -m fastk.report -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: text, files, exit codes, and what it says of bad input."""

import json
import os
import subprocess
import sys

import pytest
from conftest import PYTHON, python
from report_journals import JournalWriter, llm_search, verdict


@pytest.fixture
def journal(tmp_path):
    llm_search(tmp_path / "j")
    return tmp_path / "j"


def report(*arguments, **options):
    return python("-m", "fastk.report", *arguments, **options)


def test_the_text(journal):
    result = report(journal)
    assert (result.returncode, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "conv2d_relu 100x3x224x224xf32_96x3x11x11xf32 (cuda:sm_90a, half)",
        "round ms % of baseline % of floor idea",
        "0 1.41 100.0 25.7 default lowering",
        "1 2.90 48.6 12.5 FP16 tensor-core implicit GEMM",
        "2 1.37 102.9 26.4 Double-buffered cp.async",
        "3 0.795 177.4 45.5 Vectorised (half2) shared-memory writes",
        "sweep - - - nothing passed of 1 tried",
        "promoted 0.801 176.0 45.2 Vectorised (half2) shared-memory writes",
        "1 3 8 4/9 3.3 min 76,200 11,412 0.2400",
        "all 6 13 7/13 5.9 min 136,300 21,512 0.4500",
        "valid: 53.8% of 13 variants passed validation",
        "openai:gpt-x: 16 exchanges, about 136,300 tokens in (68,150 cached), 21,512 "
        "out (7,170 reasoning), 5.3 min, 0.4500 USD and 1 exchange without a price",
        "1 reply refused: the model would not answer: content filter",
        "winner: 1.76x (1.75 to 1.77) the default lowering, measured a second time on "
        "fresh data",
        "the winner was found in round 3",
    ):
        assert line in lines


def test_the_files(journal, tmp_path):
    page, data = tmp_path / "r.html", tmp_path / "d.jsonl"
    result = report(journal, "-o", page, f"--export-dataset={data}", "--quiet")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == f"fastk.report: wrote {page}\nfastk.report: wrote {data}\n"
    assert page.read_text().startswith("<!doctype html>")
    assert len(data.read_text().splitlines()) == 13
    assert {each.name for each in tmp_path.iterdir()} == {"j", "r.html", "d.jsonl"}


def test_a_folder_of_several(journal, tmp_path):
    JournalWriter(tmp_path / "k", {"key": "ab" * 32})
    result = report(tmp_path)
    assert result.returncode == 0
    assert "conv2d_relu" in result.stdout
    assert "no winner: nothing has been evaluated yet" in result.stdout


def test_the_report_says_why_it_ended(journal, tmp_path):
    found = tmp_path / "found.json"
    entry = {"key": "1f3a9c0b" * 8, "end": "budget", "end_detail": "it is spent"}
    found.write_text(json.dumps({"format": 1, "workloads": [entry]}))
    result = report(journal, f"--report={found}")
    assert "ended by budget: it is spent" in result.stdout


def test_the_report_knows_what_old_journals_do_not(tmp_path):
    JournalWriter(tmp_path / "j", about=None)
    found = tmp_path / "found.json"
    entry = {
        "key": "1f3a9c0b" * 8,
        "name": "softmax",
        "shapes": "4x4xf32",
        "floor_seconds": 1e-6,
        "end": "pending",
    }
    found.write_text(json.dumps({"format": 1, "workloads": [entry]}))
    result = report(tmp_path / "j", f"--report={found}")
    assert result.stdout.startswith("softmax 4x4xf32 (cuda:sm_90a, half)\n")
    assert "floor: 1.00 us" in result.stdout
    assert "pending: run the same search again" in result.stdout
    assert "floor: not in this journal" in report(tmp_path / "j").stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "the report is no object"),
        ('{"format": 2}', "has format 2"),
        ('{"format": 1, "workloads": [{}]}', "has no field 'key'"),
        ('{"format": 1, "workloads": []}', "has no workload of this journal"),
    ],
)
def test_a_bad_report(journal, tmp_path, content, said):
    found = tmp_path / "found.json"
    found.write_text(content)
    result = report(journal, f"--report={found}")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{found}: error: ")
    assert said in result.stderr and "remedy: " in result.stderr


def test_a_damaged_journal_writes_nothing(journal, tmp_path):
    path = journal / "journal.jsonl"
    path.write_text(path.read_text().replace("implicit GEMM", "implicit gemm", 1))
    result = report(journal, "-o", tmp_path / "r.html")
    assert (result.returncode, result.stdout) == (1, "")
    assert f"{path}:" in result.stderr and "remedy: " in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_notes_go_to_stderr(journal):
    path = journal / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    result = report(journal)
    assert result.returncode == 0
    assert result.stderr.startswith("note: ")
    assert "is left out" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "JOURNAL"),
        (("x", "--wat"), "--wat"),
        (("x",), "x: error: does not exist"),
        (("x", "-o", "-"), "stdout has the text"),
        (("x", "-o", "a", "--export-dataset=a"), "name the same file"),
    ],
)
def test_bad_options(arguments, said, tmp_path):
    result = report(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr and "remedy: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_cannot_be_written(journal, tmp_path):
    result = report(journal, "-o", tmp_path / "none" / "r.html")
    assert (result.returncode, result.stdout) == (1, "")
    assert "cannot write" in result.stderr and "Traceback" not in result.stderr


def test_a_full_disk_under_stdout(journal):
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = python("-m", "fastk.report", journal, stdout=full)
    assert result.returncode == 1
    assert result.stderr == (
        "error: cannot write standard output: No space left on device\n"
        "remedy: free some space, or leave the text out with --quiet\n"
    )


def test_a_page_is_replaced_whole(journal, tmp_path):
    page = tmp_path / "r.html"
    page.write_text("old")
    assert report(journal, "-o", page, "--quiet").returncode == 0
    assert page.read_text().startswith("<!doctype html>")


def test_nothing_of_the_journal_is_touched(journal):
    def state():
        return {
            str(each): (each.stat().st_mtime_ns, each.read_bytes())
            for each in journal.rglob("*")
            if each.is_file()
        }

    before = state()
    assert report(journal).returncode == 0
    assert state() == before


def test_foreign_texts_do_not_reach_the_terminal_as_they_are(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "A\x1b[2J\nB\u202e", "Why.", "")])
    (digest,) = w.variants(
        "realise/1/0/0", [{"idea": "x/a", "language": "c", "text": "int x;"}]
    )
    w.evaluate(
        digest,
        {
            "status": "ok",
            "precision": "ieee",
            "timing": {"candidate": {"median_ns": 1e3}, "baseline": {"median_ns": 2e3}},
        },
    )
    result = report(tmp_path)
    assert "\x1b" not in result.stdout
    assert "A\\u{1b}[2J B\\u{202e}" in result.stdout


def test_a_reader_that_has_enough(journal):
    result = subprocess.run(
        f"{sys.executable} -m fastk.report {journal} | head -n 1",
        shell=True,
        env=dict(os.environ, PYTHONPATH=str(PYTHON)),
        text=True,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0 and "Error" not in result.stderr


def test_a_terminal_without_unicode(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "Größe " * 30, "Why.", "")])
    (digest,) = w.variants(
        "realise/1/0/0", [{"idea": "x/a", "language": "c", "text": "int x;"}]
    )
    w.evaluate(digest, verdict("ok", 90.0))
    environment = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONPATH=str(PYTHON))
    result = subprocess.run(
        [sys.executable, "-m", "fastk.report", tmp_path],
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Gr\\xf6\\xdfe" in result.stdout


def test_the_help_teaches():
    result = report("--help")
    assert result.returncode == 0
    for word in ("fastk-opt model.mlir --search", "Exit codes", "BANK.journal"):
        assert word in result.stdout


def test_neither_torch_nor_numpy_is_needed(journal):
    code = (
        "import sys, fastk.report.__main__ as m\n"
        f"assert m.main([{str(journal)!r}, '--quiet']) == 0\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
    )
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
