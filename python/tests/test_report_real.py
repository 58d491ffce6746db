# ===- test_report_real.py - Journals that fastk-opt wrote -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the report makes of real journals is what the search itself said.

Its rules are written twice, in lib/Search and in fastk/report: here they meet.
"""

import json
import os
import subprocess

import pytest
from compiled import BIN
from conftest import GOLDEN
from fastk.report import figures
from fastk.report.search import read_searches
from fastk.report.searchreport import read_report

SOFTMAX = """\
#include <math.h>
void fastk_kernel(const float *in0, float *out0, void *workspace) {{
  for (int row = 0; row < 23; ++row) {{
    const float *x = in0 + row * 157;
    float *y = out0 + row * 157;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < 157; ++i) most = fmaxf(most, x[i]);
    for (int i = 0; i < 157; ++i) sum += y[i] = expf(x[i] - most);
    for (int i = 0; i < 157; ++i) y[i] = {result};
  }}
}}
"""
RIGHT = SOFTMAX.format(result="y[i] / sum")
MENDED = SOFTMAX.format(result="y[i] * (1 / sum)")
WRONG = SOFTMAX.format(result="y[i]")


def search(folder, *arguments):
    """Searches; returns the exit code, 0 or 75 (pending)."""
    result = subprocess.run(
        [
            BIN / "fastk-opt",
            GOLDEN / "softmax_small.mlir",
            "--search",
            f"--bank={folder}/bank",
            f"--journal={folder}/journal",
            f"--report={folder}/found.json",
            f"-o={folder}/found.mlir",
            *arguments,
        ],
        text=True,
        capture_output=True,
        check=False,
        # What was measured of this machine is in its prompts, so it is kept.
        env=dict(os.environ, FASTK_BANK="", FASTK_CACHE_DIR=f"{folder}/cache"),
    )
    assert result.returncode in (0, 75), result.stderr
    return result.returncode


def compare(folder):
    """The search as the report has it, which says what fastk-opt's file says."""
    (said,) = json.loads((folder / "found.json").read_text())["workloads"]
    (found,) = read_searches(folder / "journal", read_report(folder / "found.json"))
    assert (found.key, found.name, found.shapes) == (
        said["key"],
        said["name"],
        said["shapes"],
    )
    assert found.floor_seconds == pytest.approx(said["floor_seconds"])
    assert found.baseline_seconds == pytest.approx(said["baseline_seconds"])
    assert found.end == said["end"]
    rows = figures.trajectory(found)
    assert [row.label for row in rows] == [each["round"] for each in said["trajectory"]]
    for row, each in zip(rows, said["trajectory"], strict=True):
        assert row.tried == each["evaluations"]
        assert row.seconds == pytest.approx(each["seconds"])
        assert row.seconds * row.speedup == pytest.approx(each["baseline_seconds"])
        if row.variant:
            assert row.variant.idea.id == each["idea"]
            assert row.variant.parameters == each["parameters"]
    judged = [v for v in found.variants if v.verdict or (v.problem and v.round)]
    assert sorted((v.status, v.program_digest) for v in judged) == sorted(
        (each["status"], each["program"]) for each in said["verdicts"]
    )
    assert not [v for v in found.variants if v.how == "seed"]
    winner = said["winner"]
    assert (found.winner.program_digest if found.winner else None) == (
        winner["program"] if winner else None
    )
    costs, total = said["costs"], figures.cost(found.exchanges)
    assert costs["evaluations"] == len(found.trials) + sum(
        each.promotions for each in found.rounds
    )
    assert (total.exchanges, total.input_tokens, total.output_tokens) == (
        costs["models"]["exchanges"],
        costs["models"]["input_tokens"],
        costs["models"]["output_tokens"],
    )
    assert found.ir.startswith("fastk.lowering")
    return found


@pytest.mark.measures
def test_a_search_of_the_catalog(tmp_path):
    budget = "--budget=evaluations=9"
    assert search(tmp_path, "--proposer=catalog", "--rounds=2", "--ideas=1", budget) == 0
    found = compare(tmp_path)
    assert len(found.trials) >= 7
    assert [v for v in found.trials if v.how == "neighbours"]
    for variant in found.trials:
        if variant.how == "neighbours":
            assert found.by_digest(variant.parent)


def answer(prompt):
    """What a model might say to a prompt of the search below."""
    name = prompt.name
    if "-ideas-" in name:
        if "-again" not in name:
            return "Let me think about it."
        return json.dumps(
            {
                "ideas": [
                    {
                        "title": f"Three passes, way {i}",
                        "category": "memory access",
                        "text": f"Each row stays in the cache between passes ({i}).",
                        "parent": "",
                        "expected_gain": "1.1",
                    }
                    for i in (1, 2)
                ]
            }
        )
    if "-repair-" in name:
        return f"The sum was left out.\n\n```c\n{MENDED}```\n"
    if "way-1" in name:
        return f"```c\n{RIGHT if 'sample-1' in name else WRONG}```\n"
    if "sample-1" in name:
        return "I need to know more."
    return f"```c\n// The same again.\n{RIGHT}```\n"


@pytest.mark.measures
def test_a_search_with_a_model(tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    arguments = (
        f"--proposer=mailbox:{box}",
        "--rounds=1",
        "--ideas=2",
        "--implementations=2",
        "--repairs=1",
        "--budget=evaluations=8",
    )
    while search(tmp_path, *arguments) == 75:
        (open_search,) = read_searches(tmp_path / "journal")
        assert open_search.winner is None
        asked = [
            each
            for each in box.glob("*.prompt.md")
            if not each.with_name(each.name.replace(".prompt.", ".answer.")).exists()
        ]
        assert asked
        for each in asked:
            path = each.with_name(each.name.replace(".prompt.", ".answer."))
            path.write_text(answer(each))
    found = compare(tmp_path)
    (first, second) = found.ideas
    assert first.exchange is second.exchange and "-again" in first.exchange.name
    right, wrong = first.variants
    assert wrong.status == "wrong"
    (mended,) = wrong.children
    assert mended.program.decode().strip() == MENDED.strip()
    unreadable, again = second.variants
    assert unreadable.status == "unreadable"
    assert again.status == "duplicate" and again.duplicate_of is right
    # The unreadable one was mended into the same program.
    assert [each.status for each in unreadable.children] == ["duplicate"]
    for variant, part in (
        (right, "way-1-sample-1"),
        (wrong, "way-1-sample-2"),
        (unreadable, "way-2-sample-1"),
        (again, "way-2-sample-2"),
        (mended, f"repair-{wrong.digest[:12]}"),
        (unreadable.children[0], f"repair-{unreadable.digest[:12]}"),
    ):
        assert part in variant.exchange.name
    unused = [e for e in found.exchanges if not e.variants and not e.ideas]
    assert unused and all(e.name.endswith("-ideas") for e in unused)
