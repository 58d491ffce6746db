# ===- attention.py - Attention by families on a GPU, beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Times what families give attention beside torch's backends, in one run.

    python3 benchmarks/attention.py make PROGRAMS [--bank=DIR] [--fastk-opt=PATH] [ROW...]
    python3 benchmarks/attention.py time PROGRAMS [--rounds=30] [-o PAGE.md] [ROW...]

A row is BxHxGxSxD-MASK-TYPE: G heads of keys and values. Torch's contenders are its own
choice and cuDNN, flash and memory-efficient attention, those that take the row. `make`
imports what torch computes, and needs fastk's importer.
"""

import sys

import family_rows
from reductions import import_of

SIZES = [
    (16, 16, 16, 1024, 64, "full causal bias"),
    (4, 32, 32, 4096, 128, "full causal"),
    (2, 16, 16, 8192, 128, "full causal"),
    (1, 16, 16, 16384, 128, "full causal"),
    (8, 32, 32, 2048, 64, "full causal bias"),
    (1, 32, 8, 8192, 128, "full causal"),
    (32, 12, 12, 512, 64, "full causal bias"),
    (1, 8, 8, 4096, 256, "full causal"),
]
BACKENDS = {
    "cuDNN": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
}


def attention(mask, is_grouped):
    def compute(query, key, value, bias=None):
        import torch

        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, bias, is_causal=mask == "causal", enable_gqa=is_grouped
        )

    return compute


def by_backend(function, backend):
    def compute(*operands):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(getattr(SDPBackend, backend)):
            return function(*operands)

    return compute


def rows():
    """Name -> row."""
    found = {}
    for batch, heads, groups, length, size, masks in SIZES:
        for mask in masks.split():
            shapes = [(batch, heads, length, size)] + 2 * [(batch, groups, length, size)]
            if mask == "bias":
                shapes.append((batch, heads, length, length))
            function = attention(mask, heads != groups)
            # A causal mask leaves half of the products.
            operations = 4 * batch * heads * length * length * size
            name = f"{batch}x{heads}x{groups}x{length}x{size}-{mask}-f16"
            found[name] = family_rows.Row(
                text=lambda f=function, s=shapes: import_of(f, s, "f16"),
                reference=function,
                shapes=shapes,
                kind="f16",
                group=mask,
                work=1e-12 * operations / (2 if mask == "causal" else 1),
                unit="TFLOP/s",
                is_compiled=False,
                others={
                    name: by_backend(function, backend)
                    for name, backend in BACKENDS.items()
                },
            )
    return found


if __name__ == "__main__":
    sys.exit(family_rows.main(__doc__, rows()))
