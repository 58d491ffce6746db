# ===- figures.py - The figures of a search -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the text and the page show of a search: trajectory, rounds, costs, failures."""

import dataclasses
import re

from .journal import USABLE
from .model import Variant
from .verdict import NOT_ITS_FAULT


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the trajectory: the best of a round, the baseline, the winner."""

    label: str
    seconds: float  #: 0 where nothing passed.
    speedup: float  #: Over the default lowering, timed beside it.
    variant: Variant | None
    tried: int


_NUMBER = re.compile(
    r"\b0x[0-9a-fA-F]+|(?<![A-Za-z_])\d+(,\d{3})*(\.\d+)?(e[+-]?\d+)?"
)


def trajectory(search):
    """The Rows that the search itself prints, and more exactly so."""
    baseline = search.baseline_seconds
    rows = [Row("0", baseline, 1.0 if baseline else 0.0, None, 0)]
    for each in search.rounds:
        if each.label == "promoted":
            continue
        # A round that a limit cut off before its first evaluation has no line.
        if each.tried or each.unreadable:
            best = each.best
            rows.append(
                Row(
                    each.label,
                    best.seconds if best else 0.0,
                    best.speedup if best else 0.0,
                    best,
                    len(each.tried) + len(each.unreadable),
                )
            )
    if search.winner:
        second = search.winner.promotion
        speedup = second.over_baseline.median
        rows.append(
            Row(
                "promoted",
                second.seconds,
                speedup,
                search.winner,
                len(search.failed_promotions) + 1,
            )
        )
    return rows


def share_of_floor(search, seconds):
    """The floor over a time, or None where either is unknown."""
    if search.floor_seconds > 0 and seconds > 0:
        return search.floor_seconds / seconds
    return None


@dataclasses.dataclass
class Validity:
    """How many variants were right, of those that were judged."""

    valid: int = 0
    judged: int = 0

    @property
    def share(self):
        return self.valid / self.judged if self.judged else None


def validity(tried, unreadable):
    judged = [v for v in tried if v.status not in NOT_ITS_FAULT]
    return Validity(
        valid=sum(v.is_valid for v in judged), judged=len(judged) + len(unreadable)
    )


@dataclasses.dataclass
class Cost:
    """What language models took."""

    exchanges: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    usd: float = 0.0
    unpriced: int = 0  #: Exchanges whose price is unknown: `usd` is without them.
    is_estimated: bool = False  #: Some tokens were counted from the texts.


def cost(exchanges):
    total = Cost(exchanges=len(exchanges))
    for each in exchanges:
        usage = each.usage
        total.input_tokens += usage["input_tokens"]
        total.cached_tokens += usage["cached_tokens"]
        total.output_tokens += usage["output_tokens"]
        total.reasoning_tokens += usage["reasoning_tokens"]
        total.seconds += usage["seconds"]
        total.is_estimated |= usage["estimated"]
        if usage["usd"] is None:
            total.unpriced += 1
        else:
            total.usd += usage["usd"]
    return total


@dataclasses.dataclass
class Failure:
    """A kind of failure: a status, and the reasons but for their numbers."""

    status: str
    count: int = 0
    variants: list = dataclasses.field(default_factory=list)
    exchanges: list = dataclasses.field(default_factory=list)
    reasons: dict = dataclasses.field(default_factory=dict)


def failures(search):
    """The kinds of failure, the most frequent first: variants, then replies."""
    kinds = {}

    def add(status, reason, variant=None, exchange=None):
        kind = kinds.setdefault(status, Failure(status))
        kind.count += 1
        if variant:
            kind.variants.append(variant)
        if exchange:
            kind.exchanges.append(exchange)
        general = _general(reason)
        kind.reasons[general] = kind.reasons.get(general, 0) + 1

    for round_ in search.rounds:
        for variant in [*round_.unreadable, *round_.tried]:
            if not variant.is_valid:
                add(variant.status, variant.reason, variant)
    for variant, problem in search.failed_promotions:
        add("second measurement", problem, variant)
    with_ideas = {each.round for each in search.ideas}
    for exchange in search.exchanges:
        if exchange.status != "complete":
            problem = exchange.problem or exchange.failure.replace("none", "")
            add(f"reply {exchange.status}", problem, exchange=exchange)
        elif (
            exchange.kind == "ideas"
            and not exchange.ideas
            and exchange.round in with_ideas
        ):
            add("reply without ideas", "", exchange=exchange)
    for kind in kinds.values():
        kind.reasons = dict(
            sorted(kind.reasons.items(), key=lambda each: (-each[1], each[0]))
        )
    return sorted(kinds.values(), key=lambda each: (-each.count, each.status))


def _general(reason):
    """A reason without what differs from variant to variant."""
    line = reason.strip().splitlines()[0] if reason.strip() else ""
    line = _NUMBER.sub("#", line)
    return line if len(line) <= 160 else line[:159] + "…"


def standing(search):
    """In a sentence: what came of the search, as far as its journal tells."""
    if search.winner:
        ratio = search.winner.promotion.over_baseline
        return (
            f"winner: {ratio.median:.2f}x ({ratio.low:.2f} to {ratio.high:.2f}) the "
            "default lowering, measured a second time on fresh data"
        )
    if search.end == "pending":
        return "pending: run the same search again when the answers are there"
    if search.no_winner_reason:
        return f"no winner: {search.no_winner_reason}"
    if search.failed_promotions:
        variant, problem = search.failed_promotions[-1]
        title = variant.idea.title if variant.idea else "the bank's winner"
        return f"no winner: '{title}' failed its second measurement: {problem}"
    if not search.trials and search.exchanges:
        last = search.exchanges[-1]
        if not any(each.status in USABLE for each in search.exchanges):
            return f"no winner: {last.model} has not answered: {last.problem}"
    if not search.trials:
        return "no winner: nothing has been evaluated yet"
    return (
        "no winner in the journal: there is no second measurement (the search goes "
        "on, was ended, or found nothing fast enough)"
    )


def found_in(search):
    """The round in which the winner, else the best so far, was found; or None."""
    best = search.winner or search.best
    return best.round if best else None
