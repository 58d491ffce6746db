# ===- triton_kernels.py - Kernels in Triton for workloads of the tests -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Kernels in Triton, and how each is launched for a golden input of the tests.

They are ordinary ones, as somebody who knows Triton writes them, and know no size that is
not an argument or a constexpr. benchmarks/triton_variants.py has a search judge them;
scripts/regenerate-triton.py records the PTX of some for the tests.
"""

import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    """One block of elements a program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    # Not tl.maximum, which drops NaN.
    tl.store(y + at, tl.where(value < 0.0, 0.0, value), mask=at < n)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """A row a program, held in registers: it is read once."""
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < columns, other=float("-inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(y + row + at, value / tl.sum(value, 0), mask=at < columns)


@triton.jit
def long_softmax(x, y, columns, BLOCK: tl.constexpr):
    """A row a program, in pieces: the sum is corrected where a larger maximum comes, and
    the row is read twice."""
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        value = tl.load(
            x + row + begin + at, mask=begin + at < columns, other=float("-inf")
        )
        now = tl.maximum(largest, value)
        scale = tl.where(now == largest, 1.0, tl.exp(largest - now))
        total = total * scale + tl.where(now == float("-inf"), 0.0, tl.exp(value - now))
        largest = now
    top = tl.max(largest, 0)
    whole = tl.sum(
        tl.where(largest == float("-inf"), 0.0, total * tl.exp(largest - top)), 0
    )
    for begin in range(0, columns, BLOCK):
        value = tl.load(x + row + begin + at, mask=begin + at < columns)
        tl.store(
            y + row + begin + at, tl.exp(value - top) / whole, mask=begin + at < columns
        )


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Tiles on tensor cores; programs go through GROUP rows of tiles together, so that what
    one has read of `b` is still in the L2 cache for the next."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    program = tl.program_id(0)
    first = program // (GROUP * columns) * GROUP
    height = tl.minimum(rows - first, GROUP)
    within = program % (GROUP * columns)
    i = (first + within % height) * BM + tl.arange(0, BM)
    j = within // height * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + i[:, None] * K + k[None, :]
    right = b + k[:, None] * N + j[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, K, BK):
        inside = begin + k < K
        x = tl.load(left, mask=(i[:, None] < M) & inside[None, :], other=0.0)
        y = tl.load(right, mask=inside[:, None] & (j[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * N
    where = (i[:, None] < M) & (j[None, :] < N)
    tl.store(c + i[:, None] * N + j[None, :], total.to(c.dtype.element_ty), mask=where)


def _tiles(meta):
    return (triton.cdiv(meta["M"], meta["BM"]) * triton.cdiv(meta["N"], meta["BN"]),)


def _config(rows, columns, depth, warps, stages):
    sizes = {"BM": rows, "BN": columns, "BK": depth, "GROUP": 8}
    return {**sizes, "num_warps": warps, "num_stages": stages}


#: By the name of the golden input (test/Inputs/golden/NAME.mlir): what
#: fastk.from_triton is given beside the folder.
WORKLOADS = {
    "softmax_small": [
        dict(
            kernel=softmax, grid=(23,), args=["in0: f32", "out0: f32", 157],
            constexprs={"BLOCK": 256}, configs=[{"num_warps": 1}, {"num_warps": 4}],
            category="memory access",
        ),
    ],
    "softmax": [
        dict(
            kernel=long_softmax, grid=(4096,), args=["in0: f32", "out0: f32", 65536],
            configs=[
                {"BLOCK": block, "num_warps": warps, "num_stages": stages}
                for block, warps in ((4096, 8), (8192, 16), (16384, 16))
                for stages in (1, 3)
            ],
            category="memory access",
        ),
        dict(
            kernel=softmax, grid=(4096,), args=["in0: f32", "out0: f32", 65536],
            constexprs={"BLOCK": 65536}, configs=[{"num_warps": 32}],
            category="memory access",
        ),
    ],
    "matmul_f16": [
        dict(
            kernel=matmul, grid=_tiles,
            args=["in0: f16", "in1: f16", "out0: f16", 4096, 4096, 4096],
            configs=[
                _config(128, 128, 64, 8, 3), _config(128, 256, 64, 8, 3),
                _config(64, 256, 64, 4, 4), _config(128, 128, 32, 4, 4),
            ],
            category="compute and instructions",
        ),
    ],
}  # fmt: skip

#: Of tests, for their own model: 64x128 of f32 (test/Driver/Inputs/relu.mlir).
RELU = dict(
    kernel=relu, grid=lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),),
    args=["in0: f32", "out0: f32", 64 * 128], configs=[{"BLOCK": 512, "num_warps": 4}],
    category="memory access",
)  # fmt: skip
