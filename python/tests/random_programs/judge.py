# ===- judge.py - Results of random programs against their oracle -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The contract of docs/validation.md for each element, four times as wide: what is
looked for are programs that compute something else."""

import dataclasses

import inputs
import torch

#: Times the bound of class ieee, which is 8 u times the condition.
SLACK = 4
#: Without conditions, of the result's largest element. Few roundings of operands
#: that cancel may be a thousand; what is another function is far beyond.
RELATIVE = {"f64": 2.0**-24, "f32": 2.0**-8, "f16": 2.0**-4, "bf16": 2.0**-3}
#: The round-off of a program's arithmetic by the narrowest type in it: its sums may be
#: kept in that, of which the conditions know nothing. A quarter, or all would pass.
UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-13, "bf16": 2.0**-10}
#: Of a result: errors below are none. f32 and bf16 may flush denormals.
TINY = {"f64": 2.0**-1022, "f32": 2.0**-126, "f16": 2.0**-24, "bf16": 2.0**-126}
OWN_UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


@dataclasses.dataclass
class Comparison:
    """Of one result."""

    judged: int = 0
    #: Elements of which nothing can be asked.
    masked: int = 0
    wrong: int = 0
    #: The worst, as a share of its bound; and what it is about.
    share: float = 0.0
    reason: str = ""


def narrowest(text):
    """The float type of a program's text that is rounded to most coarsely."""
    return next((kind for kind in ("bf16", "f16", "f32") if f"x{kind}" in text
                 or f"<{kind}" in text), "f64")  # fmt: skip


def compare(kind, got, want, condition, arithmetic):
    """`got` of a program, of element type `kind`; `want` of the oracle; `condition` may
    be None; `arithmetic`: the narrowest type in the program."""
    if kind.startswith("i"):
        differ = (got != want).reshape(-1)
        found = Comparison(judged=got.numel(), wrong=int(differ.sum()))
        if condition is not None:
            # Places of an extremum, of which rounding may choose another.
            condition = condition.double().reshape(-1)
            free = differ & (condition != 0)
            found.masked, found.wrong = int(free.sum()), int((differ & ~free).sum())
            differ &= ~free
        elif arithmetic in ("f32", "f16", "bf16"):
            # The same where values are beyond their type: the first infinity is taken.
            found.masked, found.wrong = found.wrong, 0
        if found.wrong:
            at = int(differ.nonzero()[0])
            found.share = float("inf")
            found.reason = (f"element {at}: {got.reshape(-1)[at].item()}, "
                            f"not {want.reshape(-1)[at].item()}")  # fmt: skip
        return found
    got, want = got.double().reshape(-1), want.double().reshape(-1)
    unit = UNIT[arithmetic]
    if condition is None:
        finite = want[torch.isfinite(want)].abs()
        scale = float(finite.max()) if finite.numel() else 0.0
        bound = torch.full_like(want, RELATIVE[arithmetic] * scale)
        # An intermediate may be beyond its type, and nobody says so.
        condition = torch.where(torch.isfinite(got), bound, torch.full_like(want, torch.inf))
    else:
        condition = condition.double().reshape(-1)
        bound = SLACK * (8 * unit * condition + OWN_UNIT[kind] * want.abs())
    bound = bound + SLACK * TINY[kind]
    masked = torch.isfinite(want) & ~torch.isfinite(condition)
    if arithmetic in ("f16", "bf16"):
        # A sum that is all but 0 may have the other sign there, and then a root; it may
        # be 0, and then a quotient.
        masked |= torch.isnan(want) | (~torch.isfinite(got) & (bound > want.abs()))
    largest = torch.finfo(inputs.TYPES[kind]).max
    beyond = torch.isinf(got) & (want.abs() + bound > largest) & (got.sign() == want.sign())
    masked |= torch.isfinite(want) & beyond
    both = torch.isfinite(want) & torch.isfinite(got) & ~masked
    same = both | masked | (~torch.isfinite(want) & ~torch.isfinite(got))
    error = torch.where(both, (got - want).abs(), torch.zeros_like(want))
    share = torch.where(both, error / bound, torch.zeros_like(want))
    share = torch.where(same, share, torch.full_like(share, float("inf")))
    wrong = share > 1
    found = Comparison(
        judged=int((~masked).sum()), masked=int(masked.sum()), wrong=int(wrong.sum()),
        share=float(share.max()) if share.numel() else 0.0,
    )  # fmt: skip
    if found.wrong:
        at = int(share.argmax())
        found.reason = (f"element {at}: {got[at]:.9g}, not {want[at]:.9g} "
                        f"(bound {bound[at]:.3g})")  # fmt: skip
    return found
