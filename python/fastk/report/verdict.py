# ===- verdict.py - What an evaluation found -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The worker's verdict (docs/formats/verdict.md), as far as a report shows it.

A verdict is the worker's own and passed its checksum; what it leaves out, or says
in another way than this report knows, is simply not shown.
"""

import dataclasses
import math

#: Right in the accepted class, whether it was fast enough to be kept or not.
VALID = {"ok", "slow"}
#: Evaluations that say nothing of the variant: the workload or the job is at fault.
NOT_ITS_FAULT = {"unfit", "error", "disagreement"}
_RATIO = ("median", "low", "high")
#: The error classes, tightest first.
PRECISIONS = ("ieee", "tf32", "half")


def _number(value):
    """`value` as a finite float, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def _object(raw, name):
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, dict) else {}


def _objects(raw, name):
    value = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, dict)]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A median of paired ratios and its 95 % interval."""

    median: float
    low: float
    high: float


class Verdict:
    """One verdict.

    Attributes:
      raw: the worker's object.
      status, reason, precision: as the format says.
      seconds, baseline_seconds: medians; 0 where there is none.
      over_baseline, over_incumbent, control: Ratio or None; control is the
        baseline timed against itself.
    """

    def __init__(self, raw):
        self.raw = raw
        self.status = str(raw.get("status", "error"))
        self.reason = str(raw.get("reason", ""))
        self.precision = str(raw.get("precision", "none"))
        timing = _object(raw, "timing")
        self.seconds = self._median(timing, "candidate")
        self.baseline_seconds = self._median(timing, "baseline")
        self.over_baseline = self._ratio(timing, "speedup_over_baseline")
        self.over_incumbent = self._ratio(timing, "speedup_over_incumbent")
        self.control = self._ratio(timing, "aa_ratio")

    @staticmethod
    def _median(timing, name):
        return (_number(_object(timing, name).get("median_ns")) or 0.0) * 1e-9

    @staticmethod
    def _ratio(timing, name):
        values = [_number(_object(timing, name).get(k)) for k in _RATIO]
        return None if None in values else Ratio(*values)

    @property
    def speedup(self):
        """Baseline over candidate as the search ranks by it; 0 unless it passed."""
        if self.status != "ok" or not self.seconds > 0:
            return 0.0
        if self.over_baseline:
            return self.over_baseline.median
        return self.baseline_seconds / self.seconds

    @property
    def repeats_bits(self):
        """Whether all runs on the same operands are known to give the same bits."""
        return _object(self.raw, "audit").get("bitwise_deterministic") is True

    def worst_errors(self):
        """Of each distribution the trial that came closest to its bound."""
        worst = {}
        for entry in _objects(self.raw, "errors"):
            name = str(entry.get("distribution", ""))
            error = _number(entry.get("max_normalized"))
            bound = _number(entry.get("bound"))
            # An error that is no number is worse than any that is one.
            share = error / bound if error is not None and bound else math.inf
            kept = worst.get(name)
            trials = (kept["trials"] if kept else 0) + 1
            if kept and kept["share"] >= share:
                kept["trials"] = trials
                continue
            worst[name] = {
                "distribution": name,
                "trials": trials,
                "trial": entry.get("trial"),
                "error": error,
                "bound": bound,
                "nan_mismatch": entry.get("nan_mismatch"),
                "precision": entry.get("precision"),
                "share": share,
            }
        for entry in worst.values():
            if not math.isfinite(entry["share"]):
                entry["share"] = None
        return list(worst.values())

    def warnings(self):
        """What the GPU's assembler warned of."""
        found = _object(self.raw, "gpu").get("warnings")
        return [str(each) for each in found] if isinstance(found, list) else []
