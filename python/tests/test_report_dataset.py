# ===- test_report_dataset.py - Variants as training data -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""--export-dataset: one line a judged variant, as docs/formats/dataset.md says."""

import json
import re

import pytest
from conftest import ROOT
from fastk.report import dataset
from fastk.report.search import read_searches
from report_journals import JournalWriter, kernel, llm_search, sha, verdict

IDEA = ("x/a", "memory access", "A", "Why it pays.", "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    names = llm_search(folder)
    lines = [json.loads(line) for line in dataset.lines(read_searches(folder))]
    return {line["digest"]: line for line in lines}, lines, names


def test_one_line_a_judged_variant(whole):
    by_digest, lines, names = whole
    assert len(lines) == len(by_digest) == 13
    assert set(names.values()) <= set(by_digest)
    assert {line["status"] for line in lines} == {
        "ok",
        "slow",
        "wrong",
        "refused",
        "crash",
        "memory",
        "timeout",
        "unreadable",
    }


def test_a_line_is_complete_in_itself(whole):
    by_digest, _, names = whole
    line = by_digest[names["best"]]
    assert line["workload"]["key"].startswith("1f3a9c0b")
    assert line["workload"]["ir"].startswith("func.func")
    assert line["idea"]["title"] == "Vectorised (half2) shared-memory writes"
    assert line["parent"]["program"] == kernel(128, 2)
    assert line["parent"]["digest"] == line["parent_digest"] == names["fast"]
    assert line["program"] == kernel(128, 2, vector="half2")
    assert line["plan"]["steps"][0]["launch"] == "conv"
    assert (line["status"], line["is_valid"], line["is_winner"]) == ("ok", True, True)
    assert line["seconds"] == pytest.approx(795e-6)
    assert line["speedup"]["median"] == pytest.approx(1410 / 795)
    assert line["precision"] == "half"
    assert line["second_measurement"]["seconds"] == pytest.approx(801e-6)
    assert line["exchange"]["model"] == "openai:gpt-x"
    assert len(line["exchange"]["prompt"]) == len(line["exchange"]["reply"]) == 64
    assert line["diagnostics"]["warnings"] == ["ptxas info: 40 bytes spilled in conv"]
    assert {each["distribution"] for each in line["diagnostics"]["errors"]} == {
        "normal",
        "spike",
        "equal",
    }


def test_failures_say_why(whole):
    by_digest, _, names = whole
    line = by_digest[names["second"]]
    assert "identifier \"table\" is undefined" in line["diagnostics"]["reason"]
    assert line["parent"]["digest"] == names["unreadable"]
    assert (line["how"], line["seconds"], line["speedup"]) == ("repair", None, None)
    unreadable = by_digest[names["unreadable"]]
    assert unreadable["diagnostics"]["reason"].startswith("the reply has no block")


def test_lines_are_what_the_page_says(whole):
    """Every field is documented, and nothing is that does not exist."""
    _, lines, _ = whole
    text = (ROOT / "docs" / "formats" / "dataset.md").read_text()
    named = set(re.findall(r"`([a-z_]+)`", text))

    def fields(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                # What is the plan's or the program's own is not the format's.
                if name not in ("plan", "parameters"):
                    yield from fields(inner)
                yield name
        elif isinstance(value, list):
            for inner in value:
                yield from fields(inner)

    used = {name for line in lines for name in fields(line)}
    assert used - named == set()
    table = set(re.findall(r"^\| `([a-z_]+)`", text, re.MULTILINE))
    assert table - used == set()


def test_the_ir_may_be_in_a_prompt(tmp_path):
    w = JournalWriter(tmp_path, about={"name": "n"})
    w.exchange("ideas", "k-round-1-ideas", "# W\n\n```mlir\nfoo\nbar\n```\n", "[]")
    (search,) = read_searches(tmp_path)
    assert dataset.workload_ir(search) == "foo\nbar\n"


def test_without_ir_there_is_the_key(tmp_path):
    w = JournalWriter(tmp_path, about=None)
    w.ideas("1/0", [IDEA])
    (digest,) = w.variants(
        "realise/1/0/0", [{"idea": "x/a", "language": "c", "text": "int x;"}]
    )
    w.evaluate(digest, verdict("ok", 90.0))
    (line,) = map(json.loads, dataset.lines(read_searches(tmp_path)))
    assert line["workload"]["ir"] is None and line["workload"]["key"]
    assert line["exchange"] is None and line["plan"] is None


def test_bytes_that_are_no_text_and_numbers_that_are_none(tmp_path):
    w = JournalWriter(tmp_path)
    w.ideas("1/0", [("x/a", "memory access", "A\ud800", "Why.\u2028", "")])
    (digest,) = w.variants(
        "realise/1/0/0", [{"idea": "x/a", "language": "c", "text": "int x;"}]
    )
    broken = {"distribution": "n", "max_normalized": None, "bound": 1.0}
    w.evaluate(digest, verdict("wrong", errors=[broken]))
    path = tmp_path / "programs" / f"{sha('int x;')}.c"
    assert path.exists()
    (text,) = dataset.lines(read_searches(tmp_path))
    assert text.isascii() and text.count("\n") == 1
    assert json.loads(text)["diagnostics"]["errors"][0]["share"] is None


def test_a_winner_of_the_bank_has_no_program(tmp_path):
    w = JournalWriter(tmp_path)
    w.evaluate("ab" * 32, verdict("ok", 80.0))
    (line,) = map(json.loads, dataset.lines(read_searches(tmp_path)))
    assert (line["how"], line["program"], line["idea"]) == ("seed", None, None)
