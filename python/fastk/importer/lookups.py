# ===- lookups.py - Rows of a table, bag by bag -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Decompositions of lookups that torch-mlir has no lowering for.

- ``embedding_bag``: torch-mlir has plain sums only. Here also means, maxima, weights
  of each row, and a padding index.
- ``embedding_renorm``: the rows that are looked up, cut to a norm.
"""

from .decompositions import widened

#: torch's numbers of the modes.
_SUM, _MEAN, _MAX = range(3)


def table():
    """Returns {op overload: function}, to be merged over torch-mlir's table."""
    import torch

    aten = torch.ops.aten

    def embedding_bag(
        weight,
        indices,
        offsets,
        scale_grad_by_freq=False,
        mode=_SUM,
        sparse=False,
        per_sample_weights=None,
        include_last_offset=False,
        padding_idx=None,
    ):
        if mode == _SUM and per_sample_weights is None and padding_idx is None:
            return NotImplemented  # torch-mlir's own lowering
        dtype = weight.dtype
        rows = aten.embedding(weight, indices).to(widened(torch, dtype))
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.to(rows.dtype).unsqueeze(1)
        count = offsets.shape[0] - include_last_offset
        starts = offsets.narrow(0, 0, count).to(torch.int64)
        # An index is in the last bag that begins at it or before it: counted along the
        # indices, for a comparison with each bag is as large as both together. Bags
        # without rows may begin behind the last index.
        begun = torch.zeros(
            indices.shape[0] + 1, dtype=torch.int64, device=indices.device
        ).scatter_add(0, starts, torch.ones_like(starts))
        bag = begun.narrow(0, 0, indices.shape[0]).cumsum(0) - 1
        counted = torch.ones_like(indices, dtype=torch.bool)
        if padding_idx is not None:
            counted = indices != padding_idx % weight.shape[0]
        sizes = torch.zeros(count, dtype=torch.int64, device=indices.device)
        sizes = sizes.scatter_add(0, bag, counted.to(torch.int64)).unsqueeze(1)
        shape = (count, weight.shape[1])
        if mode == _MAX:
            lowest = torch.full(shape, -torch.inf, dtype=rows.dtype, device=rows.device)
            rows = torch.where(counted.unsqueeze(1), rows, -torch.inf)
            where = bag.unsqueeze(1).expand(rows.shape)
            result = lowest.scatter_reduce(0, where, rows, "amax")
            # A bag without rows is zero.
            result = torch.where(sizes > 0, result, 0.0)
        else:
            rows = torch.where(counted.unsqueeze(1), rows, 0.0)
            zeros = torch.zeros(shape, dtype=rows.dtype, device=rows.device)
            result = zeros.index_add(0, bag, rows)
            if mode == _MEAN:
                result = result / sizes.clamp(min=1).to(rows.dtype)
        # The others serve the gradient.
        return result.to(dtype), None, None, None

    def embedding_renorm(weight, indices, max_norm, norm_type):
        norms = torch.linalg.vector_norm(weight, norm_type, 1)
        indices = indices.reshape(-1)
        used = torch.zeros(weight.shape[0], dtype=torch.int64, device=weight.device)
        used = used.index_put((indices,), torch.ones_like(indices))
        scale = torch.where(
            (used > 0) & (norms > max_norm), max_norm / (norms + 1e-7), 1.0
        )
        return weight * scale.unsqueeze(1).to(weight.dtype)

    return {
        aten.embedding_bag.padding_idx: embedding_bag,
        aten.embedding_renorm.default: embedding_renorm,
    }
