# ===- page.py - Results as a page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Results as Markdown: a table of levels, what fails and why, a row a problem.

The ratio of a problem is the better of torch eager and torch.compile over fastk;
above 1 fastk is faster. A problem that is not timed has none, and no mean hides it:
how many there are stands beside it.
"""

import collections
import math
import statistics


def ratio(row, against=("eager", "compile")):
    """torch's median over fastk's, or None; only of results that are right."""
    said = row["steps"].get("measure", {})
    if said.get("status") != "ok":
        return None
    ms = said["ms"]
    peers = [ms[name]["median"] for name in against if "median" in ms.get(name, {})]
    return min(peers) / ms["fastk"]["median"] if peers else None


def page(rows, names, command):
    """The page of `rows` (a Rows) for the problems `names`, in their order."""
    chosen = [rows.rows[name] for name in names if name in rows.rows]
    lines = ["# KernelBench", "", f"    {command}", ""]
    lines += [f"* {what}: {version}" for what, version in rows.versions.items()]
    if commits := _commits(chosen):
        lines.append(f"* compiled by commit: {commits}")
    lines += [f"* measured on: {each}" for each in _machines(chosen)]
    lines += [
        "",
        "The ratio is the better of torch eager and torch.compile over fastk: above 1 "
        "fastk is faster. Means are geometric, of the problems that are timed and right; what "
        "is open is neither right nor wrong (docs/kernelbench.md).",
        "",
        "| level | problems | imported | compiled | right | timed | ratio | against eager "
        "| ≥ 1 | < 0.5 | compile time, median | longest | of processors, longest |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for level in sorted({name.split("/")[0] for name in names}, key=int):
        lines.append(_level(level, rows, [n for n in names if n.startswith(level + "/")]))
    failed = [(row, *found) for row in chosen if (found := _failure(row))]
    lines += ["", "## What fails", ""]
    if failed:
        lines += ["| problem | step | | reason |", "|---|---|---|---|"]
        lines += [
            f"| {row['problem']} | {step} | {said['status']} | {_cell(said)} |"
            for row, step, said in failed
        ]
    else:
        lines.append("Nothing.")
    timed = sorted((row for row in chosen if ratio(row)), key=ratio)
    if timed:
        lines += [
            "", "## Times", "",
            "Medians in ms; errors relative to the largest element of torch's results in "
            "f64 (\\*: in f32, where f64 does not fit). Harness: KernelBench's own check "
            "against torch at its default flags.", "",
            "| problem | ratio | fastk | eager | compile | error | eager's | harness |",
            "|---|---|---|---|---|---|---|---|",
        ]  # fmt: skip
        lines += [_timed(row) for row in timed]
    return "\n".join(lines) + "\n"


def _machines(rows):
    """What measured, each with the range of its SM clocks."""
    clocks = {}
    for row in rows:
        said = row["steps"].get("measure", {})
        if "device" in said:
            name = said["device"]
            name += f", driver {said['driver']}" if "driver" in said else ""
            name += f", torch {said['torch']}" if "torch" in said else ""
            clocks.setdefault(name, []).append(said.get("clocks", {}).get("sm_mhz"))
    for name, found in sorted(clocks.items()):
        known = [each for each in found if each is not None]
        yield name + (f", SM at {min(known)} to {max(known)} MHz" if known else "")


def _commits(rows):
    """The commits that compiled, each with the number of its problems."""
    counts = collections.Counter(
        commit for row in rows if (commit := row["steps"].get("compile", {}).get("commit"))
    )
    return ", ".join(f"{commit} ({count})" for commit, count in counts.most_common())


def _level(level, rows, names):
    steps = [rows.rows[name]["steps"] for name in names if name in rows.rows]

    def passed(step):
        return [each[step] for each in steps if each.get(step, {}).get("status") == "ok"]

    compiled, right = passed("compile"), passed("measure")
    rows_of = [{"steps": each} for each in steps]
    ratios = [each for each in map(ratio, rows_of) if each]
    eager = [each for row in rows_of if (each := ratio(row, ("eager",)))]
    seconds = [each["seconds"] for each in compiled]
    used = [each["processor_seconds"] for each in compiled if "processor_seconds" in each]
    cells = [level, len(names), len(passed("import")), len(compiled), len(right),
             len(ratios), _mean(ratios), _mean(eager),
             sum(each >= 1 for each in ratios), sum(each < 0.5 for each in ratios),
             f"{statistics.median(seconds):.1f} s" if seconds else "",
             f"{max(seconds):.1f} s" if seconds else "",
             f"{max(used):.1f} s" if used else ""]  # fmt: skip
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _mean(ratios):
    if not ratios:
        return ""
    return f"{math.exp(statistics.fmean(math.log(each) for each in ratios)):.2f}"


def _failure(row):
    for step, said in row["steps"].items():
        if said["status"] != "ok":
            return step, said
    return None


def _cell(said):
    return said.get("reason", "").replace("|", "\\|").replace("\n", " ")


def _timed(row):
    said = row["steps"]["measure"]

    def of(name):
        each = said["ms"].get(name, {})
        return f"{each['median']:.3f}" if "median" in each else each.get("reason", "")

    error = f"{said['error']:.1e}" + ("" if said["exact"] else "\\*")
    if "rounded_error" in said:
        error += f" (rounded operands alone {said['rounded_error']:.1e})"
    return (
        f"| {row['problem']} | {ratio(row):.2f} | {of('fastk')} | {of('eager')} "
        f"| {of('compile')} | {error} | {said['eager_error']:.1e} "
        f"| {'yes' if said['harness'] else 'no'} |"
    )
