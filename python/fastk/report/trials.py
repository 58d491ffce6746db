# ===- trials.py - Which variants were tried when, and which led -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Replays what a search decided from its journal: order, rounds, the best, the winner.

The journal holds answers, not decisions; those follow from them by the rules of
lib/Search, which this mirrors: its strategies, the sweep, trials and promotion.
"""

import re

from .model import Round, Variant
from .record_rules import noise_problem
from .verdict import PRECISIONS

#: What a new best without a duel, or a step of a sweep, must gain.
_NOISE = 1.005
#: Evaluations of the sweep after each round.
_ROUND_SWEEP = 8
#: The sweep after a round begins where the round came this close to the best.
_IN_REACH = 1.3
#: The search ends at this share of the floor.
_FLOOR_SHARE = 0.95
#: What the lower end of the second measurement's interval must pass.
_PROMOTION_GAIN = 1.02


class Trials:
    """Fed with a journal's events in their order.

    Args:
      search: the Search that is filled in.
      last_round: the label of the last round that has ideas: after its own sweep
        comes the one at the end.
    """

    def __init__(self, search, last_round):
        self.search = search
        self.last_round = last_round
        self.label = "1"
        self._rounds = {}
        self._known = {}  # Digest -> its variants, in order.
        self._is_batched = not re.fullmatch(
            r"[0-9a-f]{64}|", search.settings.get("worker", "")
        )
        self._is_sequential = search.settings.get("strategy") == "sequential"
        self._batch_incumbent, self._in_batch = None, False
        self._chain = None  # Where the sweep after the round stands.
        self._chain_used = 0
        self._chain_improved = False

    def round(self, label):
        return self._rounds.setdefault(label, Round(label))

    def rounds(self):
        """Those in which anything happened: numbers, the sweep, the promotion."""
        last = {"sweep": 1, "promoted": 2}
        return sorted(
            self._rounds.values(),
            key=lambda each: (last.get(each.label, 0), len(each.label), each.label),
        )

    def ideas_asked(self, label, ideas):
        self._in_batch = False
        if ideas or not self.search.trials:
            self.label = label
            self._chain = None
        self.round(self.label).ideas += ideas

    def variants_asked(self, variants, around=None):
        """`around` is the digest whose neighbours they are."""
        self._in_batch = False
        if around is not None and self.label != "sweep":
            self._enter_sweep(around)
        for variant in variants:
            known = self._known.setdefault(variant.digest, [])
            known.append(variant)
            if variant.problem and len(known) == 1:
                variant.round = self.label
                self.round(self.label).unreadable.append(variant)

    def _enter_sweep(self, around):
        """Tells the sweep after the last round from the one at the end."""
        if self._chain is None:
            tried = self.round(self.label).tried
            start = max(
                (each for each in tried if each.speedup > 0),
                key=lambda each: each.speedup,
                default=None,
            )
            goes_on = (
                start is not None
                and start.digest == around
                and start.speedup * _IN_REACH > self.search.best.speedup
                and not self._is_sequential
                and not self._is_at_floor()
            )
            self._chain, self._chain_used = start, 0
        else:
            goes_on = (
                self._chain_improved
                and self._chain.digest == around
                and self._chain_used < _ROUND_SWEEP
                and not self._is_at_floor()
            )
        self._chain_improved = False
        # Before a later round there is no other sweep.
        if not goes_on and self.label == self.last_round:
            self.label = "sweep"

    def _is_at_floor(self):
        best, floor = self.search.best, self.search.floor_seconds
        return best is not None and floor >= _FLOOR_SHARE * best.seconds > 0

    def evaluated(self, digest, verdict, elapsed):
        """An event evaluate/DIGEST. Returns the variant."""
        variant = self._tried(digest)
        variant.verdict, variant.elapsed = verdict, elapsed
        variant.round, variant.order = self.label, len(self.search.trials)
        self.search.trials.append(variant)
        round_ = self.round(self.label)
        round_.tried.append(variant)
        if not self.search.baseline_seconds:
            self.search.baseline_seconds = verdict.baseline_seconds
        if not self._in_batch:
            self._in_batch, self._batch_incumbent = True, self.search.best
        if variant.speedup > 0:
            if round_.best is None or variant.speedup > round_.best.speedup:
                round_.best = variant
            if self._leads(variant):
                self.search.best, variant.was_best = variant, True
            if self._chain is not None:
                if variant.speedup > self._chain.speedup * _NOISE:
                    self._chain, self._chain_improved = variant, True
        if self._chain is not None:
            self._chain_used += 1
        return variant

    def _leads(self, variant):
        best = self.search.best
        if best is None:
            return True
        duel = variant.verdict.over_incumbent
        # In a batch all had the incumbent from before it.
        if duel and (not self._is_batched or best is self._batch_incumbent):
            return duel.low > _NOISE
        return variant.speedup > best.speedup * _NOISE

    def _tried(self, digest):
        """The one of the known variants of that name that was evaluated."""
        known = self._known.setdefault(digest, [])
        # Of a sweep's neighbours those after the first better one were left, and
        # may be proposed again.
        for variant in known:
            if variant.how != "neighbours":
                return variant
        if known:
            return known[-1]
        seed = Variant(
            digest=digest,
            idea=None,
            language="",
            program=None,
            program_digest="",
            plan=None,
            workspace_bytes=0,
            parameters={},
            parent="",
            problem="",
            how="seed",
            position=-1,
            number=len(self.search.trials),
        )
        known.append(seed)
        self.search.variants.append(seed)
        return seed

    def promoted(self, digest, verdict):
        """An event promote/DIGEST."""
        self._in_batch = False
        variant = self._tried(digest)
        variant.promotion = verdict
        self.round("promoted").promotions += 1
        problem = self._problem(verdict)
        if problem:
            self.search.failed_promotions.append((variant, problem))
        else:
            # One that was left out is made up for before more is tried: what passed
            # later was better.
            self.search.winner = variant

    def _problem(self, second):
        """Why a second measurement does not make a winner, or None."""
        if second.status != "ok":
            return f"{second.status}: {second.reason}"
        accepted = PRECISIONS.index(self.search.precision)
        if second.precision not in PRECISIONS[: accepted + 1]:
            return "its precision did not hold on fresh data"
        ratio = second.over_baseline
        is_lost = ratio and ratio.high <= _PROMOTION_GAIN
        noise = None if is_lost else noise_problem(second)
        if noise:
            return noise
        if not ratio or not second.seconds:
            return "it came back without times"
        if second.over_baseline.low <= _PROMOTION_GAIN:
            return (
                f"at least {second.over_baseline.low:.1%} of the default lowering's "
                f"speed is sure, and {_PROMOTION_GAIN:.1%} is needed"
            )
        if "deterministic" in self.search.settings and not second.repeats_bits:
            return "nothing says that it gives the same bits each time, as is required"
        return None
