# ===- gluon_kernel.py - A kernel in Gluon, for test_from_triton -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Apart, since Triton before 3.5 has no Gluon."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy(x, y, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(y + at, gl.load(x + at, mask=at < n), mask=at < n)
