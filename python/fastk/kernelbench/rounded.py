# ===- rounded.py - What rounding operands alone costs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A model in f64 whose products have operands of 10 bits, as tensor cores read them in
TF32: what such a class costs where everything else is exact. A norm that divides by
what is small makes more of it than 2^-10.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
#: The two factors among the operands of each op that sums products, by the kind of a
#: --precision that names it.
FACTORS = {
    "convolution": {_aten.convolution: (0, 1)},
    "contraction": {
        _aten.mm: (0, 1), _aten.bmm: (0, 1), _aten.mv: (0, 1), _aten.dot: (0, 1),
        _aten.addmm: (1, 2), _aten.baddbmm: (1, 2), _aten.addmv: (1, 2),
    },
}  # fmt: skip
#: Bits of an f32 behind the ten that TF32 has.
_CUT = 13


def to_ten_bits(values):
    """The nearest of 10 bits behind the point and f32's exponent; of two the even one."""
    bits = values.float().view(torch.int32)
    odd = (bits >> _CUT) & 1
    near = (bits + ((1 << (_CUT - 1)) - 1) + odd) & -(1 << _CUT)
    rounded = near.view(torch.float32)
    return torch.where(torch.isfinite(values), rounded, values.float()).to(values.dtype)


def kinds_of(accepts):
    """What a --precision lets be rounded to 10 bits, among FACTORS."""
    classes = dict.fromkeys(FACTORS, "ieee")
    for each in accepts.split(","):
        kind, _, name = each.rpartition("=")
        for every in [kind] if kind else FACTORS:
            if every in classes:
                classes[every] = name
    return {kind for kind, name in classes.items() if name in ("tf32", "half")}


class Rounding(TorchDispatchMode):
    """Rounds the factors of products of the kinds."""

    def __init__(self, kinds):
        super().__init__()
        self.factors = {op: places for kind in kinds for op, places in FACTORS[kind].items()}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        places = self.factors.get(func.overloadpacket, ())
        args = [to_ten_bits(each) if i in places else each for i, each in enumerate(args)]
        return func(*args, **(kwargs or {}))
