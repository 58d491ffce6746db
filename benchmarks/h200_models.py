# ===- h200_models.py - Models that only h200.py measures -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Models beside those of test/Inputs/golden, at a GPU's size.

    python -m fastk.importer benchmarks/h200_models.py:elementwise -o elementwise.mlir
"""

import torch


def gated(x, y):
    """A chain of elementwise ops, as `elementwise_small` of the golden inputs has it."""
    return torch.tanh(x) * torch.sigmoid(y) + torch.exp(-x.abs())


class Elementwise(torch.nn.Module):
    def forward(self, x, y):
        return gated(x, y)


def elementwise():
    return Elementwise(), (torch.randn(4096, 16384), torch.randn(16384))
