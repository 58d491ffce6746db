# ===- __init__.py - fastk as a backend of torch.compile -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.compile(model, backend="fastk").

The installed package registers the backend by itself; from a checkout importing
fastk.dynamo does. See docs/pytorch.md.
"""

from .backend import fastk
from .explain import Explanation, explain

__all__ = ["Explanation", "explain", "fastk"]


def _register():
    from torch._dynamo import register_backend
    from torch._dynamo.backends import registry

    # Where torch knows the entry point of the package it registers what this module
    # defines, as soon as it is imported, and takes no name twice.
    if "fastk" not in registry._BACKENDS:
        register_backend(fastk, name="fastk")


_register()
