# ===- numbers.py - Python's, complex, quantised -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Results that are Python's numbers; complex and quantised tensors."""

import torch

from .program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


@add((4, 5))
def sizes_as_results(x):
    return x.size(0) * 2, x + x.shape[1]


@add(torch.arange(8, dtype=torch.float32).reshape(4, 2))
def complex_arithmetic(x):
    z = torch.view_as_complex(x)
    return torch.view_as_real(z * z), z.real * z.imag


@add(torch.complex(torch.arange(4.0), torch.ones(4)))
def complex_inputs(z):
    return z * z, z.real + z.imag


@add((5, 6))
def fake_quantisation(x):
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)


@add(torch.arange(-8, 8, dtype=torch.int8).reshape(4, 4))
def integer_scales(x):
    wide = x.to(torch.int32) @ x.to(torch.int32).T
    return wide, (wide.float() * 0.05).round().clamp(-128, 127).to(torch.int8)
