# ===- inputs.py - Operands of random programs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The operands of a program by its seed: the same on every machine. Needs numpy and
torch."""

import zlib

import numpy
import torch

#: How operands are drawn.
LAWS = ("normal", "magnitudes", "special")
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0)
TYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
    "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
}  # fmt: skip


def draw(seed, law, wants):
    """Tensors on the CPU for the inputs of a library's signature."""
    return [_draw(numpy.random.PCG64([seed, LAWS.index(law), place]), law, want)
            for place, want in enumerate(wants)]  # fmt: skip


def _draw(bits, law, want):
    # By integers and arithmetic alone: numpy's distributions may change.
    count = int(numpy.prod(want["shape"], dtype=int))
    words = bits.random_raw(4 * count + 4)[: 4 * count].reshape(4, count)
    kind = TYPES[want["dtype"]]
    if want["dtype"].startswith("i"):
        info = torch.iinfo(kind)
        if law == "magnitudes":
            numbers = words[0].view("i8") >> (64 - info.bits)
        else:
            numbers = (words[0] % 17).astype("i8") - 8
        return torch.from_numpy(numbers).to(kind).reshape(want["shape"])
    units = (words >> 11).astype("f8") * 2.0**-53
    # Of 12 uniform numbers' sum, the normal law's middle.
    numbers = sum(((words[i] >> shift) & 0xFFFFF).astype("f8") * 2.0**-20
                  for i in range(4) for shift in (0, 20, 40)) - 6.0  # fmt: skip
    if law == "magnitudes":
        sign = numpy.where(words[0] & 1, 1.0, -1.0)
        # No exp2: its last bit differs from machine to machine.
        numbers = sign * numpy.ldexp(1 + units[2], (16 * units[1]).astype("i4") - 8)
    elif law == "special":
        chosen = numpy.array(SPECIAL)[words[1] % len(SPECIAL)]
        numbers = numpy.where(words[2] % 16 == 0, chosen, numbers)
    return torch.from_numpy(numbers).to(kind).reshape(want["shape"])


def digest(tensors):
    """Tells whether two machines drew the same."""
    crc = 0
    for tensor in tensors:
        crc = zlib.crc32(bytes_of(tensor).tobytes(), crc)
    return crc


def bytes_of(tensor):
    """A tensor's bytes as numpy has them: it has no bf16."""
    flat = tensor.contiguous().cpu().reshape(-1)
    return flat.view(torch.uint8).numpy() if flat.numel() else numpy.zeros(0, "u1")


def from_bytes(array, want):
    return torch.from_numpy(array.copy()).view(TYPES[want["dtype"]]).reshape(want["shape"])
