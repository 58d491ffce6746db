# ===- test_decompositions.py - Decompositions against torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each decomposition computes what the ATen op it replaces computes."""

import pytest
import torch

from fastk.importer import decompositions, lookups

aten = torch.ops.aten
TABLE = {**decompositions.table(), **lookups.table()}


def randn(*shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(len(shape) * 1000 + shape[0])
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def cases(dtype):
    """(op, args, kwargs) for every op of the table."""

    def r(*shape):
        return randn(*shape, dtype=dtype)

    var = r(6).abs() + 0.5
    yield aten.gelu.default, (r(40, 9),), {}
    yield aten.gelu.default, (r(40, 9),), {"approximate": "tanh"}
    yield (
        aten.native_layer_norm.default,
        (r(3, 5, 7), [5, 7], r(5, 7), r(5, 7), 1e-5),
        {},
    )
    yield aten.native_layer_norm.default, (r(3, 5, 7), [7], None, None, 1e-3), {}
    yield (
        aten.native_group_norm.default,
        (r(3, 6, 5, 4), r(6), r(6), 3, 6, 20, 2, 1e-5),
        {},
    )
    yield (
        aten.native_group_norm.default,
        (r(3, 6, 5, 4), None, None, 3, 6, 20, 3, 1e-5),
        {},
    )
    norm = aten._native_batch_norm_legit_no_training.default
    yield norm, (r(3, 6, 5, 4), r(6), r(6), r(6), var, 0.1, 1e-5), {}
    yield norm, (r(3, 6, 5), None, None, r(6), var, 0.1, 1e-5), {}
    attention = aten.scaled_dot_product_attention.default
    q, k, v = r(2, 3, 10, 8), r(2, 3, 14, 8), r(2, 3, 14, 6)
    yield attention, (q, k, v), {}
    yield attention, (q, k, v), {"scale": 0.3}
    yield attention, (q, k, v), {"is_causal": True}
    yield attention, (k, q, q), {"is_causal": True}
    mask = torch.ones(10, 14, dtype=torch.bool).tril(-1)
    yield attention, (q, k, v), {"attn_mask": mask}  # the first row is all masked
    yield attention, (q, k, v), {"attn_mask": r(10, 14)}
    yield attention, (r(2, 6, 10, 8), k, v), {"enable_gqa": True}
    bag = aten.embedding_bag.padding_idx
    # Three bags, the second without rows, and one that is padding alone.
    ids, starts = torch.tensor([1, 4, 1, 6, 0, 3, 3]), torch.tensor([0, 2, 2, 5])
    for mode in (1, 2):
        for last, padding in ((False, None), (True, None), (False, 3), (False, -4)):
            ends = torch.cat((starts, torch.tensor([7]))) if last else starts
            yield bag, (r(7, 5), ids, ends, False, mode, False, None, last, padding), {}
    yield bag, (r(7, 5), ids, starts, False, 0, False, r(7), False, None), {}
    yield bag, (r(7, 5), ids, starts, False, 0, False, None, False, 1), {}
    renorm = aten.embedding_renorm.default
    for norm in (2.0, 1.0):
        yield renorm, (r(7, 5), ids[:4].reshape(2, 2), 1.5, norm), {}


NAMES = [str(op) for op, _, _ in cases(torch.float64)]


def test_every_decomposition_has_a_case():
    assert {str(op) for op in TABLE} == set(NAMES)


@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
# Half types round the result once, as torch does: one unit in the last place.
@pytest.mark.parametrize(
    "dtype,tolerance",
    [(torch.float64, 1e-13), (torch.float32, 2e-6), (torch.float16, 1e-3)],
)
def test_agrees_with_torch(index, dtype, tolerance):
    op, args, kwargs = list(cases(dtype))[index]
    expected, got = op(*args, **kwargs), TABLE[op](*args, **kwargs)
    if isinstance(expected, torch.Tensor):
        expected, got = [expected], [got]
    assert len(expected) == len(got)
    for position, (want, have) in enumerate(zip(expected, got)):
        # torch's half norms keep their statistics in another type; the importer
        # never returns them from forward.
        if position == 0:
            assert have.dtype == want.dtype
        if want.numel() == 0:
            continue
        if have is None and position > 0:
            continue  # nothing computes it, and who uses it fails
        assert have.numel() == want.numel()
        error = (have.reshape(want.shape).double() - want.double()).abs().max()
        assert error <= tolerance * max(1.0, want.double().abs().max())
