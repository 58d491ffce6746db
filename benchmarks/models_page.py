# ===- models_page.py - Measurements of whole models as a page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Markdown tables of what models.py measured."""

from page import bar, ratio, seconds, table

#: What is asked: seconds of a compile on 2 processors; peak over largest live set.
COMPILE_SECONDS = 60
PEAK = 1.3


def mebibytes(count):
    return f"{count / 2**20:.2f} MiB"


def speed_table(models):
    kinds = ("eager", "torch.compile", "winners", "default")
    return table(
        ["model", "torch eager / fastk", "torch.compile / fastk", "the better one, asked"]
        + ["the better one / default lowering", "default lowering / fastk"]
        + ["eager", "torch.compile", "fastk", "default lowering", "floor"],
        [
            [
                r["name"],
                ratio(r, "eager/winners"),
                ratio(r, "torch.compile/winners"),
                bar(r, f"{r['best']}/winners"),
                ratio(r, f"{r['best']}/default"),
                ratio(r, "default/winners"),
                *(seconds(r["seconds"][k]) if k in r["seconds"] else "failed" for k in kinds),
                seconds(r["floor_seconds"]),
            ]
            for r in models
        ],
    )


def workload_table(models):
    return table(
        ["model", "workloads", "distinct keys", "with a winner", "import"]
        + ["compile, fastk", "compile, default lowering", "library"],
        [
            [
                r["name"],
                r["default_compile"]["workloads"],
                r["default_compile"]["keys"],
                r["winners_compile"]["hits"],
                seconds(r["import_seconds"]),
                *(
                    f"{seconds(c['seconds'])} ({seconds(c['processor_seconds'])} of "
                    "processors)"
                    for c in (r["winners_compile"], r["default_compile"])
                ),
                f"{r['winners_compile']['library_bytes'] / 1024:.0f} KiB",
            ]
            for r in models
        ],
    )


def memory_table(models):
    rows = []
    for r in models:
        for label, said in (("winners", "fastk"), ("default", "default lowering")):
            plan = r[f"{label}_compile"]["plan"]
            measured = r["memory"].get(label)
            rows.append(
                [
                    r["name"],
                    said,
                    mebibytes(plan["alive"]),
                    mebibytes(plan["bytes"]),
                    f"{plan['bytes'] / plan['alive']:.2f}×",
                    mebibytes(r[f"{label}_compile"]["thread_bytes"]),
                    mebibytes(measured) if measured is not None else "failed",
                ]
            )
        if "eager" in r["memory"]:
            own = max(0, r["memory"]["eager"] - r["result_bytes"])
            rows.append([r["name"], "torch eager", *"––––", mebibytes(own)])
    return table(
        ["model", "by", "largest live set", "planned", "planned / live"]
        + ["beside it, each thread", "a call adds"],
        rows,
    )


def error_table(models):
    kinds = ("eager", "winners", "default", "oracle")
    return table(
        ["model", "torch eager", "fastk", "default lowering", "fastk's f64 oracle"]
        + ["fastk from eager", "fastk from oracle"],
        [
            [
                r["name"],
                *(f"{r['errors'][k]:.1e}" for k in kinds),
                f"{r['errors_to_eager']['winners']:.1e}",
                f"{r['errors_to_oracle']['winners']:.1e}",
            ]
            for r in models
        ],
    )


def short_falls(models):
    """Every number beyond what is asked, by name."""
    found = []
    for r in models:
        got = r["ratios"][f"{r['best']}/winners"]["median"]
        if got < r["bar"]:
            found.append(f"{r['name']}: {got:.2f}× of {r['best']}, asked ≥ {r['bar']}×")
        for label, error in sorted(r["failed"].items()):
            found.append(f"{r['name']}: {label} failed: {error}")
        if r["ratios"]["default/winners"]["high"] < 1:
            found.append(f"{r['name']}: slower than the default lowering")
        for label in ("winners_compile", "default_compile"):
            if r[label]["seconds"] > COMPILE_SECONDS:
                found.append(f"{r['name']}: compiles in {seconds(r[label]['seconds'])}")
            plan = r[label]["plan"]
            if plan["bytes"] > PEAK * plan["alive"]:
                found.append(f"{r['name']}: peak {plan['bytes'] / plan['alive']:.2f}×")
        for label in sorted(set(r["wrong"])):
            found.append(f"{r['name']}: {label} gives a wrong result")
    return "\n".join(f"- {line}" for line in found) or "Nothing."


def tables(document):
    m, models = document["machine"], document["models"]
    parts = [
        # scripts/run-doc-examples.py wants to know why no test runs it.
        "<!-- not-run: takes a quarter of an hour of a quiet machine -->\n"
        f"```console\n$ {m['command']}\n```",
        f"{m['date']}, commit {m['commit']}. {m['cpu']}, {m['processors']} processors, "
        f"{m['threads']} threads for each contender; {m['kernel']}; torch {m['torch']}, "
        f"Python {m['python']}, MLIR {m['mlir']}. Load average before the run "
        f"{m['load_before']:.2f}, after it {m['load_after']:.2f} (the run itself is "
        f"{m['threads']} at most). {m['rounds']} rounds of {m['block']:g} s blocks, "
        f"{m['pause']:g} s pauses.",
        "## Speed\n\nRatios of times in one round: above 1 fastk is faster. Median, 95 % "
        "interval. Times are the median of the rounds' medians.\n\n"
        + speed_table(models),
        "## Falls short\n\n" + short_falls(models),
        "## Workloads and compile time\n\n" + workload_table(models),
        "## Memory\n\n" + memory_table(models),
        "## Errors\n\nLargest difference from torch in float64 on the same values, of the "
        "largest element; the last two columns: from torch eager in f32, and from the "
        "oracle.\n\n" + error_table(models),
    ]
    return "\n\n".join(parts) + "\n"
