#!/usr/bin/env python3
# ===- triton_variants.py - Triton kernels beside families -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Has a search judge Triton's kernels beside families and the default lowering.

    python3 benchmarks/triton_variants.py make FOLDER [WORKLOAD...]
    python3 benchmarks/triton_variants.py search FOLDER [--target=cuda] [--fastk-opt=PATH] [WORKLOAD...]
    python3 benchmarks/triton_variants.py table FOLDER [-o PAGE.md]

`make` compiles the kernels of benchmarks/triton_kernels.py for a GPU; it needs Triton, and no
GPU. `search` asks `files:` and `families` for each workload in one search of one round, and
needs the GPU, or, with --evaluator=spool:DIR, a worker that has it (then again, until it
does not end with 75). `table` prints, of each workload, the default lowering and the best
that each proposer has, and which one was stored.

Times are those of the first measurements, which are taken beside the default lowering in
one process; the winner's is of its promotion.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

GOLDEN = ROOT / "test" / "Inputs" / "golden"

#: Who proposed an idea, by the beginning of its id.
PROPOSERS = {"files": "Triton"}


def known_workloads():
    import triton_kernels

    return triton_kernels.WORKLOADS


def make(folder, names):
    import fastk

    workloads = known_workloads()
    for name in names or workloads:
        for entry in workloads[name]:
            for made in fastk.from_triton(**entry, to=folder / name / "kernels"):
                print(made)
    return 0


def search(folder, names, target, evaluator, fastk_opt):
    """The status of the last one that did not end well."""
    status = 0
    made = sorted(each.parent.name for each in folder.glob("*/kernels"))
    for name in names or made:
        place = folder / name
        command = [
            fastk_opt, GOLDEN / f"{name}.mlir", f"--target={target}", "--fusion=whole",
            f"--bank={place / 'bank'}", "--search=all", "--rounds=1",
            f"--proposer=files:{place / 'kernels'}", "--proposer=families",
            f"--evaluator={evaluator}", f"--report={place / 'report.json'}", "-o", place / "out.mlir",
        ]  # fmt: skip
        status = (
            subprocess.run(list(map(str, command)), check=False).returncode or status
        )
    return status


def proposer_of(idea):
    first = idea.split("/")[0].split(":")[0]
    return PROPOSERS.get(first, first)


def microseconds(seconds):
    return f"{1e6 * seconds:.2f}" if seconds else "-"


def rows_of(workload):
    """A row for the default lowering, and one for each proposer."""
    baseline = workload["baseline_seconds"]
    yield [
        "default lowering",
        "",
        microseconds(baseline),
        "1.00" if baseline else "-",
        "",
        "",
    ]
    by_proposer = {}
    for each in workload["verdicts"]:
        by_proposer.setdefault(proposer_of(each["idea"]), []).append(each)
    winner = workload["winner"]
    for proposer, verdicts in sorted(by_proposer.items()):
        passed = [
            each for each in verdicts if each["status"] == "ok" and each["seconds"]
        ]
        tried = f"{len(passed)} of {len(verdicts)}"
        if not passed:
            reasons = {each["reason"] or each["status"] for each in verdicts}
            yield [
                proposer,
                "none: " + "; ".join(sorted(reasons))[:200],
                "-",
                "-",
                tried,
                "",
            ]
            continue
        best = min(
            passed, key=lambda each: each["seconds"] / (each["baseline_seconds"] or 1)
        )
        ratio = best["baseline_seconds"] / best["seconds"]
        is_stored = winner is not None and proposer_of(winner["idea"]) == proposer
        yield [
            proposer, f"{best['title']} ({best['language']})", microseconds(best["seconds"]), f"{ratio:.2f}",
            tried, "stored" if is_stored else "",
        ]  # fmt: skip


def table(reports):
    lines = [
        "| workload | who | best | µs | × default lowering | passed | |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    for name, report in reports:
        for workload in report["workloads"]:
            shown = f"{name}: {workload['name']} {workload['shapes']}"
            for row in rows_of(workload):
                cells = [each.replace("|", "\\|").replace("\n", " ") for each in row]
                lines.append(f"| {shown} | " + " | ".join(cells) + " |")
                shown = ""
    return "\n".join(lines) + "\n"


def read_reports(folder):
    paths = sorted(folder.glob("*/report.json"))
    if not paths:
        raise SystemExit(
            f"triton_variants: {folder} has no */report.json: run search first"
        )
    return [(path.parent.name, json.loads(path.read_text())) for path in paths]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["make", "search", "table"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("workload", nargs="*")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--evaluator", default="local")
    parser.add_argument("--fastk-opt", default="fastk-opt")
    parser.add_argument("-o", dest="output", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.step == "make":
        return make(arguments.folder, arguments.workload)
    if arguments.step == "search":
        return search(
            arguments.folder, arguments.workload, arguments.target, arguments.evaluator, arguments.fastk_opt
        )  # fmt: skip
    text = table(read_reports(arguments.folder))
    if arguments.output:
        arguments.output.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
