# ===- test_import_lookups.py - Bags of rows, compiled -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""nn.EmbeddingBag: what torch computes, in memory that its arguments need anyway."""

import pytest
import torch
from compiled import compile_and_bind
from torch import nn

#: Bags that begin at the same index hold nothing, as one at the end does.
STARTS = torch.tensor([0, 3, 3, 3, 20, 41, 61])


@pytest.mark.parametrize(
    ("mode", "dtype"),
    [("mean", torch.int64), ("max", torch.int32), ("weights", torch.int64)],
)
def test_bags(mode, dtype, tmp_path):
    torch.manual_seed(2)
    weights = [torch.randn(61)] if mode == "weights" else []
    module = nn.EmbeddingBag(
        11, 5, mode="sum" if weights else mode, padding_idx=None if weights else 4
    )
    ids, starts = torch.randint(11, (61,), dtype=dtype), STARTS.to(dtype)
    imported, bound = compile_and_bind(tmp_path, module, ids, starts, *weights)
    with torch.no_grad():
        got, want = bound(ids, starts, *weights), module(ids, starts, *weights)
        torch.testing.assert_close(got, want)
        # Other bags of the same number.
        starts = torch.tensor([0, 0, 1, 9, 9, 60, 61], dtype=dtype)
        got, want = bound(ids, starts, *weights), module(ids, starts, *weights)
        torch.testing.assert_close(got, want)
    # No index is compared with each bag.
    assert "61x7x" not in imported.text and "7x61x" not in imported.text
