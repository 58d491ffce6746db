# ===- text.py - The report on a terminal -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The text on stdout: trajectory, costs, shares of valid variants."""

from . import figures, shown

_IDEA_WIDTH = 70


def _table(header, rows, left):
    """Lines of columns; those whose numbers are in `left` begin at the left."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        yield "  " + "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()


def _idea(row):
    if row.label == "0":
        return "default lowering" + ("" if row.seconds else ", not measured")
    if not row.variant:
        return f"nothing passed of {row.tried} tried"
    if not row.variant.idea:
        return "the bank's winner"
    return shown.one_line(row.variant.idea.title, _IDEA_WIDTH)


def _trajectory(search):
    rows = [
        [
            row.label,
            shown.milliseconds(row.seconds),
            shown.percent(row.speedup),
            shown.percent(figures.share_of_floor(search, row.seconds)),
            _idea(row),
        ]
        for row in figures.trajectory(search)
    ]
    header = ["round", "ms", "% of baseline", "% of floor", "idea"]
    yield from _table(header, rows, left={0, 4})
    yield "  baseline: the default lowering, timed beside each variant"
    if search.floor_seconds:
        yield (
            f"  floor: {shown.seconds(search.floor_seconds)}, the time that no kernel "
            "can beat on this machine"
        )
    else:
        yield (
            "  floor: not in this journal; --report=FILE.json of the same search has it"
        )


def _rounds(search):
    """What each round cost, and which share of its variants was right."""
    has_models = bool(search.exchanges)
    has_prices = any(each.usage["usd"] is not None for each in search.exchanges)
    header = ["round", "ideas", "evaluations", "valid", "time"]
    header += ["tokens in", "tokens out"] if has_models else []
    header += ["USD"] if has_prices else []
    rows, tried, unreadable = [], [], []

    def add(label, ideas, evaluations, valid, seconds, exchanges):
        cost = figures.cost(exchanges)
        cells = [label, str(ideas or "-"), str(evaluations or "-")]
        cells.append(f"{valid.valid}/{valid.judged}" if valid.judged else "-")
        cells.append(shown.duration(seconds))
        if has_models:
            cells += [f"{cost.input_tokens:,}", f"{cost.output_tokens:,}"]
        if has_prices:
            cells.append(f"{cost.usd:.4f}")
        rows.append(cells)

    for each in search.rounds:
        tried += each.tried
        unreadable += each.unreadable
        add(
            each.label,
            len(each.ideas),
            len(each.tried) + each.promotions,
            figures.validity(each.tried, each.unreadable),
            each.seconds,
            each.exchanges,
        )
    add(
        "all",
        len(search.ideas),
        sum(len(each.tried) + each.promotions for each in search.rounds),
        figures.validity(tried, unreadable),
        search.elapsed,
        search.exchanges,
    )
    yield from _table(header, rows, left={0})
    total = figures.validity(tried, unreadable)
    if total.judged:
        yield (
            f"  valid: {total.share:.1%} of {shown.count(total.judged, 'variant')} "
            "passed validation"
        )


def _models(search):
    """One line for each model that was asked."""
    for model in sorted({each.model for each in search.exchanges}):
        cost = figures.cost([e for e in search.exchanges if e.model == model])
        about = "about " if cost.is_estimated else ""
        line = (
            f"  {shown.one_line(model)}: {shown.count(cost.exchanges, 'exchange')}, "
            f"{about}{cost.input_tokens:,} tokens in ({cost.cached_tokens:,} cached), "
            f"{cost.output_tokens:,} out ({cost.reasoning_tokens:,} reasoning)"
        )
        line += f", {shown.duration(cost.seconds)}" if cost.seconds else ""
        if cost.unpriced < cost.exchanges:
            line += f", {cost.usd:.4f} USD"
            if cost.unpriced:
                line += f" and {shown.count(cost.unpriced, 'exchange')} without a price"
        else:
            line += ", price unknown"
        yield line


def _failures(search):
    for kind in figures.failures(search):
        reason = next(iter(kind.reasons), "")
        line = f"  {kind.count} {kind.status}"
        yield line + (f": {shown.one_line(reason, 90)}" if reason else "")


def render(search):
    """The report of one search, its lines ended."""
    title = f"{search.title} {search.shapes}".strip()
    lines = [
        shown.one_line(f"{title} ({search.target}, {search.precision})"),
        *_trajectory(search),
        "",
        *_rounds(search),
        *_models(search),
    ]
    failed = list(_failures(search))
    if failed:
        lines += ["", "  failures, each kind with its most frequent reason:"]
        lines += ["  " + line for line in failed]
    lines.append("")
    if search.end:
        detail = f": {search.end_detail}" if search.end_detail else ""
        lines.append("  " + shown.one_line(f"ended by {search.end}{detail}"))
    lines.append("  " + shown.one_line(figures.standing(search)))
    found = figures.found_in(search)
    if found:
        which = "winner" if search.winner else "best so far"
        place = "the sweep at the end" if found == "sweep" else f"round {found}"
        lines.append(f"  the {which} was found in {place}")
    return "\n".join(lines) + "\n"
