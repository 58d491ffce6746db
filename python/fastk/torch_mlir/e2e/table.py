# ===- table.py - Results as a page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The page: counts, what fastk fails and why, what it passes that the reference fails."""

import collections

from . import expected

_STATUSES = ["pass", "fail", "crash", "timeout"]


def page(results, names, made_by, command):
    """Markdown of `results` for the tests `names`.

    `made_by` is what the backends are now: results of another program are counted.
    `command` is what made them.
    """
    expectations = expected.load()
    lines = ["# torch-mlir's end-to-end tests", "", "```sh", command, "```", ""]
    lines += ["| what | version |", "|---|---|"]
    lines += [f"| {what} | {version} |" for what, version in results.versions.items()]
    lines += ["", *_counts(results, names), ""]
    for backend, program in made_by.items():
        other = [
            n
            for n in names
            if results.get(n, backend) and not results.has(n, backend, program)
        ]
        if other:
            lines += [f"{len(other)} results of {backend} are by an earlier program.", ""]
    fails = [n for n in names if not _passes(results, n, "fastk")]
    lost = [n for n in fails if _passes(results, n, "reference")]
    lines += _section(
        "Failures that the reference backend passes", results, lost, expectations
    )
    both = [n for n in fails if n not in lost]
    lines += _section("Failures of both", results, both, expectations)
    won = [
        n
        for n in names
        if _passes(results, n, "fastk") and not _passes(results, n, "reference")
    ]
    lines += ["## Passes that the reference backend fails", ""]
    lines += ["| test | what the reference says |", "|---|---|"] if won else ["None."]
    lines += [f"| {n} | {_said(results.get(n, 'reference'))} |" for n in won]
    return "\n".join(lines) + "\n"


def unexpected(results, names):
    """(failures that nobody expects, expected failures that pass)"""
    expectations = expected.load()
    done = [n for n in names if results.get(n, "fastk")]
    return (
        [n for n in done if not _passes(results, n, "fastk") and n not in expectations],
        [n for n in done if _passes(results, n, "fastk") and n in expectations],
    )


def _passes(results, name, backend):
    outcome = results.get(name, backend)
    return outcome is not None and outcome.status == "pass"


def _counts(results, names):
    lines = [f"| backend | {' | '.join(_STATUSES)} | not run | tests |"]
    lines.append("|---" * (len(_STATUSES) + 3) + "|")
    for backend in ("fastk", "reference"):
        outcomes = [results.get(name, backend) for name in names]
        count = collections.Counter(each.status if each else "" for each in outcomes)
        cells = [str(count[status]) for status in [*_STATUSES, ""]]
        lines.append(f"| {backend} | {' | '.join(cells)} | {len(names)} |")
    return lines


def _section(title, results, names, expectations):
    lines = [f"## {title}", ""]
    if not names:
        return [*lines, "None.", ""]
    lines += ["| test | fastk | expected |", "|---|---|---|"]
    for name in names:
        reason = expectations.get(name, "no")
        lines.append(f"| {name} | {_said(results.get(name, 'fastk'))} | {reason} |")
    return [*lines, ""]


def _said(outcome):
    if outcome is None:
        return "not run"
    text = outcome.reason.replace("|", "\\|").replace("<", "&lt;")
    return f"{outcome.status} ({outcome.phase}): {text[:200]}"
