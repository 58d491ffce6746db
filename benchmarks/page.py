# ===- page.py - Measurements as a page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Markdown tables of what host.py measured."""

import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

BEGIN = re.compile(r"<!-- numbers: written by benchmarks/\w+\.py, do not edit -->")
END = "<!-- end of numbers -->"


def _output(*command, **options):
    result = subprocess.run(
        [*map(str, command)], text=True, capture_output=True, check=False, **options
    )
    return result.stdout.strip() if result.returncode == 0 else ""


def describe_machine(options, root, program="benchmarks/host.py"):
    """Where and with what: everything a reader needs to repeat the run."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown",
    )
    commit = _output("git", "rev-parse", "--short=12", "HEAD", cwd=root)
    edited = _output("git", "status", "--porcelain", "--untracked-files=no", cwd=root)
    arguments = [
        os.path.relpath(argument, root) if os.path.isabs(argument) else argument
        for argument in sys.argv[1:]
    ]
    return {
        "cpu": cpu,
        "processors": len(os.sched_getaffinity(0)),
        "threads": options.threads,
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "python": sys.version.split()[0],
        "torch": importlib.metadata.version("torch"),
        "mlir": _output("mlir-opt-22", "--version").partition("version ")[2].split("\n")[0],
        "compiler_of_torch": _output("g++", "--version").split("\n")[0],
        "commit": commit + (" with local changes" if edited else ""),
        "command": shlex.join([".venv/bin/python", program, *arguments]),
        "rounds": options.rounds,
        "block": options.block,
        "pause": options.pause,
        "date": datetime.date.today().isoformat(),
        "load_before": os.getloadavg()[0],
    }


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def ratio(result, name):
    found = result["ratios"].get(name)
    return (
        f"{found['median']:.2f}× ({found['low']:.2f}–{found['high']:.2f})"
        if found
        else "failed"
    )


def bar(result, name="eager/winners"):
    """What is asked for, and whether the median is there."""
    if result["bar"] is None or name not in result["ratios"]:
        return "–"
    reached = result["ratios"][name]["median"] >= result["bar"]
    return f"≥ {result['bar']:.2f}× " + ("reached" if reached else "**missed**")


def one_line(result):
    times = ", ".join(f"{k} {seconds(v)}" for k, v in result["seconds"].items())
    return f"{result['name']}: {times}; eager/winners {ratio(result, 'eager/winners')}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def speed_table(operators):
    return table(
        ["operator", "torch eager / fastk", "asked", "torch.compile / fastk"]
        + ["default / fastk", "eager / default", "of the floor"],
        [
            [
                r["name"],
                ratio(r, "eager/winners"),
                bar(r),
                ratio(r, "torch.compile/winners"),
                ratio(r, "default/winners"),
                ratio(r, "eager/default"),
                f"{100 * r['floor_seconds'] / r['seconds']['winners']:.0f} %",
            ]
            for r in operators
        ],
    )


def time_table(operators):
    kinds = ["eager", "torch.compile", "winners", "default"]
    return table(
        ["operator", "eager", "torch.compile", "fastk", "default lowering", "floor"]
        + ["eager's result goes to", "page faults a call", "bank"],
        [
            [r["name"]]
            + [seconds(r["seconds"][k]) if k in r["seconds"] else "failed" for k in kinds]
            + [seconds(r["floor_seconds"]), r["output"].get("eager", "–")]
            + [" / ".join(f"{r['faults'][k]:.0f}" for k in kinds if k in r["faults"])]
            + [r["summary"]]
            for r in operators
        ],
    )


def error_table(operators):
    rows = []
    for r in operators:
        cells = [
            f"{r['errors'][k]:.1e}" + (" **wrong**" if k in r["wrong"] else "")
            if k in r["errors"]
            else "failed"
            for k in ("eager", "torch.compile", "winners", "default")
        ]
        rows.append([r["name"], *cells])
    return table(["operator", "eager", "torch.compile", "fastk", "default lowering"], rows)


def winner_table(operators):
    rows = []
    seen = set()
    for r in operators:
        for w in r["winners"]:
            if w["key"] in seen:
                continue
            seen.add(w["key"])
            errors = w.get("errors", {})
            worst = max(errors, key=errors.get) if errors else None
            rows.append(
                [
                    r["name"],
                    f"{w['name']} {w['shapes']}",
                    w["precision"],
                    f"{errors[worst]:.1e} on {worst}" if worst else "–",
                    w["language"],
                    f"{w['speedup']:.2f}×",
                    w["idea"],
                ]
            )
    if not rows:
        return "No winner of the bank applies to these operators."
    return table(
        ["operator", "workload", "class", "largest error", "language"]
        + ["default / winner when recorded", "idea"],
        rows,
    )


def compile_table(operators):
    return table(
        ["model", "fastk-opt, winners applied", "mlir-opt-22", "ratio (asked: ≤ 2×)"]
        + ["--emit=so"],
        [
            [
                r["name"],
                seconds(r["compile_time"]["fastk_seconds"]),
                seconds(r["compile_time"]["mlir_opt_seconds"]),
                f"{r['compile_time']['ratio']['median']:.2f}×"
                + ("" if r["compile_time"]["ratio"]["median"] <= 2 else " **missed**"),
                seconds(r["winners_build_seconds"]),
            ]
            for r in operators
        ],
    )


def search_table(reports):
    return table(
        ["workload", "evaluations", "time of the search", "evaluations a minute"],
        [
            [
                f"{r['name']} {r['shapes']}",
                r["evaluations"],
                seconds(r["seconds"]) if r["seconds"] else "–",
                f"{60 * r['evaluations'] / r['seconds']:.0f}" if r["seconds"] else "–",
            ]
            for r in reports
        ],
    )


def short_falls(operators):
    """Every number below what is asked, by name."""
    found = []
    for r in operators:
        if "eager/winners" in r["ratios"] and r["bar"] is not None:
            got = r["ratios"]["eager/winners"]["median"]
            if got < r["bar"]:
                found.append(f"{r['name']}: {got:.2f}× of torch eager, asked ≥ {r['bar']}×")
        got = r["ratios"]["default/winners"]
        if got["high"] < 1:
            found.append(f"{r['name']}: {got['median']:.2f}×: slower than the default")
        got = r["compile_time"]["ratio"]["median"]
        if got > 2:
            found.append(f"{r['name']}: compiles in {got:.2f}× of mlir-opt, asked ≤ 2×")
        for label in r["wrong"]:
            found.append(f"{r['name']}: {label} gives a wrong result")
        for label, error in r["failed"].items():
            found.append(f"{r['name']}: {label} failed: {' '.join(error.split())[:300]}")
    return "\n".join(f"- {line}" for line in found) or "Nothing."


def tables(document):
    m, operators = document["machine"], document["operators"]
    parts = [
        # scripts/run-doc-examples.py wants to know why no test runs it.
        "<!-- not-run: takes an hour of a quiet machine -->\n"
        f"```console\n$ {m['command']}\n```",
        f"{m['date']}, commit {m['commit']}. {m['cpu']}, {m['processors']} processors, "
        f"{m['threads']} threads for each contender; {m['kernel']}; torch {m['torch']}, "
        f"Python {m['python']}, MLIR {m['mlir']}, torch.compile with "
        f"{m['compiler_of_torch'] or 'no C++ compiler'}. Load average before the run "
        f"{m['load_before']:.2f}, after it {m['load_after']:.2f} (the run itself is "
        f"{m['threads']} at most). {m['rounds']} rounds of {m['block']:g} s blocks, "
        f"{m['pause']:g} s pauses.",
        "## Speed\n\nRatios of times in one round: above 1 fastk is faster. Median, 95 % "
        "interval.\n\n" + speed_table(operators),
        "## Falls short\n\n" + short_falls(operators),
        "## Times\n\nMedian of the rounds' medians.\n\n" + time_table(operators),
        "## Errors\n\nLargest error against torch in float64 on the same values, of the "
        "largest element.\n\n" + error_table(operators),
        "## Winners\n\nAs recorded in the bank by the promotion.\n\n"
        + winner_table(operators),
        "## Compile time\n\n" + compile_table(operators),
    ]
    if document["reports"]:
        parts.append("## Search\n\n" + search_table(document["reports"]))
    return "\n\n".join(parts) + "\n"


def finish(document, options, make_tables):
    """Ends a run: notes the load after it, keeps its samples where --json says, and puts
    its tables into the page of --output, or prints them."""
    document["machine"]["load_after"] = os.getloadavg()[0]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    text = make_tables(document)
    if options.output:
        insert(options.output, text)
    else:
        print(text)


def insert(path, text):
    """Replaces what stands between the markers of a page, whole or not at all."""
    page = pathlib.Path(path).read_text()
    begin = BEGIN.search(page)
    _, end, tail = page[begin.end() :].partition(END) if begin else ("", "", "")
    if not end:
        raise SystemExit(
            f"error: {path} has no markers '{BEGIN.pattern}', '{END}' for the tables"
        )
    new = pathlib.Path(f"{path}.new")
    new.write_text(f"{page[: begin.end()]}\n\n{text}\n{END}{tail}")
    new.replace(path)
