# ===- program.py - What a program of the sample is -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A program: a function of tensors, and what it is called with."""

import dataclasses
from collections.abc import Callable

import torch


@dataclasses.dataclass(frozen=True)
class Program:
    """Attributes:
    run: the function, or a torch.nn.Module.
    inputs: makes the inputs, always the same.
    dynamic: torch.export's dynamic_shapes, or None.
    rtol, atol: how near to torch the results must be; None: torch's own for a type.
    """

    run: Callable
    inputs: Callable
    dynamic: tuple | None = None
    rtol: float | None = None
    atol: float | None = None

    def module(self):
        if isinstance(self.run, torch.nn.Module):
            return self.run.eval()

        class Wrapped(torch.nn.Module):
            def forward(_, *inputs):
                return self.run(*inputs)

        return Wrapped()


class Programs(dict):
    """{name: Program} of one family."""

    def add(self, *inputs, **fields):
        """Adds the decorated function; `inputs` are tensors or shapes of f32."""

        def decorate(function):
            def make():
                torch.manual_seed(len(function.__name__))
                return tuple(
                    torch.randn(each) if isinstance(each, tuple) else each.clone()
                    for each in inputs
                )

            self[function.__name__] = Program(function, make, **fields)
            return function

        return decorate
