# ===- table.py - Results as a page -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The page: counts, what fastk fails and why, and what only it passes."""

import collections

from . import expected

_STATUSES = ["pass", "fail", "crash", "timeout"]


def page(results, names, made_by, command, target="host"):
    """Markdown of `results` for the tests `names`.

    `made_by` is what the backends are now: results of another program are counted.
    `command` is what made them.
    """
    expectations = expected.load(target)
    lines = ["# torch-mlir's end-to-end tests", ""]
    lines += ["<!-- not-run: needs a checkout of torch-mlir and most of an hour -->"]
    lines += ["```console", f"$ {command}", "```", ""]
    lines += ["| what | version |", "|---|---|"]
    lines += [f"| {what} | {version} |" for what, version in results.versions.items()]
    backends = [
        backend
        for backend in ("fastk", "reference")
        if backend in made_by or any(results.get(name, backend) for name in names)
    ]
    lines += ["", *_counts(results, names, backends), ""]
    for backend, program in made_by.items():
        other = [
            n
            for n in names
            if results.get(n, backend) and not results.has(n, backend, program)
        ]
        if other:
            lines.append(f"{len(other)} results of {backend} are by an earlier program.")
            lines.append("")
    fails = [n for n in names if _failed(results.get(n, "fastk"))]
    reference = {n: results.get(n, "reference") for n in names}
    for title, chosen in (
        ("Failures that the reference backend passes", _passed),
        ("Failures of both", _failed),
        ("Failures, the reference not run", lambda outcome: outcome is None),
    ):
        some = [n for n in fails if chosen(reference[n])]
        if some or chosen is _passed:
            lines += _section(title, results, some, expectations)
    won = [
        n
        for n in names
        if _failed(reference[n]) and _passed(results.get(n, "fastk"))
    ]
    lines += ["## Passes that the reference backend fails", ""]
    lines += ["| test | what the reference says |", "|---|---|"] if won else ["None."]
    lines += [f"| {n} | {_said(reference[n])} |" for n in won]
    return "\n".join(lines) + "\n"


def unexpected(results, names, target="host"):
    """(failures that nobody expects, expected failures that pass)"""
    expectations = expected.load(target)
    outcomes = {n: results.get(n, "fastk") for n in names}
    return (
        [n for n, o in outcomes.items() if _failed(o) and n not in expectations],
        [n for n, o in outcomes.items() if _passed(o) and n in expectations],
    )


def _passed(outcome):
    return outcome is not None and outcome.status == "pass"


def _failed(outcome):
    return outcome is not None and outcome.status != "pass"


def _counts(results, names, backends):
    lines = [f"| backend | {' | '.join(_STATUSES)} | not run | tests |"]
    lines.append("|---" * (len(_STATUSES) + 3) + "|")
    for backend in backends:
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
