# ===- text.py - torch-mlir modules as text for fastk-opt -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A module of torch-mlir's MLIR as text that fastk-opt's MLIR reads alike.

Text is all that passes from the one MLIR to the other: the wheel's is newer.
"""

import re

#: A constant of i1 whose values are printed in hex.
_BOOLS = re.compile(
    r'dense<"0x([0-9A-Fa-f]*)"> : ((?:tensor|vector)<((?:\d+x)*)i1>)'
)


def module_text(module):
    """The text of `module`: an ir.Module of torch-mlir, or text already."""
    if isinstance(module, str):
        return pack_bools(module)
    # Without locations, which only say where in torch's Python an op comes from.
    return pack_bools(module.operation.get_asm(enable_debug_info=False))


def pack_bools(text):
    """Rewrites hex constants of i1 from a byte an element to a bit an element.

    MLIR 22 reads bits, MLIR of 2026 prints bytes, and neither says which it is.
    """
    return _BOOLS.sub(_pack, text)


def _pack(match):
    digits, printed, shape = match.groups()
    count = 1
    for extent in shape.split("x")[:-1]:
        count *= int(extent)
    data = bytes.fromhex(digits)
    if len(data) != count:
        return match.group(0)  # in bits as it is
    packed = bytearray((count + 7) // 8)
    for index, value in enumerate(data):
        if value:
            packed[index // 8] |= 1 << index % 8
    return f'dense<"0x{packed.hex().upper()}"> : {printed}'
