# ===- record_rules.py - When times make a record -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Why the times of a second measurement do not count: mirrors
include/fastk/Protocol/RecordRules.h, which says where the numbers come from.
"""

import math

_CONTROL_LIMIT, _CONTROL_REACH = 0.02, 0.015
_WIDEST_RATIO = 0.05
_TENTHS_APART = 0.10
_FEWEST, _FEWEST_LONG = 16, 8
_LONG_SECONDS = 60


def _timing(raw, name, field):
    entry = raw.get(name)
    value = entry.get(field) if isinstance(entry, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0


def _needed(timing):
    """Samples that a record of these times needs."""
    block = (
        _timing(timing, "candidate", "median_ns")
        + 2 * _timing(timing, "baseline", "median_ns")
        + _timing(timing, "incumbent", "median_ns")
    )
    room = _LONG_SECONDS * 1e9 / max(block, 1.0)
    return max(_FEWEST_LONG, min(_FEWEST, int(room)))


def noise_problem(verdict):
    """Why the times of a Verdict make no record though it is right, or None."""
    timing = verdict.raw.get("timing")
    timing = timing if isinstance(timing, dict) else {}
    by = str(timing.get("disturbed_by", ""))
    if timing.get("too_busy") is True:
        return f"the machine is too busy: {by}"

    def noisy(text):
        return (
            f"the machine was too noisy for this measurement to count: {text}"
            + (f" ({by})" if by else "")
        )

    control = verdict.control
    if control and not (
        control.low >= 1 - _CONTROL_LIMIT
        and control.high <= 1 + _CONTROL_LIMIT
        and control.high >= 1 - _CONTROL_REACH
        and control.low <= 1 + _CONTROL_REACH
    ):
        return noisy(f"the baseline timed against itself gave {control.median:.1%}")
    ratio = verdict.over_baseline
    if not ratio or not ratio.median > 0:
        return None
    half_width = (ratio.high - ratio.low) / (2 * ratio.median)
    if not half_width <= _WIDEST_RATIO:
        return noisy(f"its gain is known to ±{half_width:.1%} only")
    samples, needed = int(_timing(timing, "candidate", "samples")), _needed(timing)
    if samples < needed:
        return noisy(f"{samples} undisturbed samples, of {needed} needed")
    fast = _timing(timing, "candidate", "p10_ns")
    fast_baseline = _timing(timing, "baseline", "p10_ns")
    allowed = _TENTHS_APART + (
        (float(timing.get("handshake_ns") or 0))
        / max(_timing(timing, "candidate", "median_ns"), 1.0)
    )
    if fast > 0 and fast_baseline > 0:
        tenths = fast_baseline / fast
        if not abs(math.log(tenths / ratio.median)) <= allowed:
            return noisy(
                f"its fast calls gained {tenths:.3g} times, half of all calls "
                f"{ratio.median:.3g} times"
            )
    return None
