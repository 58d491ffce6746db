# ===- ops.py - Programs as torch's ops -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Programs as ops of torch: torch.ops.fastk.NAME.

PT2's caches know an op by its name alone, so the name has the digest of what it does.
"""

import hashlib
import re

import torch

from .. import library
from . import native
from .errors import Unsupported

#: More arguments than PyTorch lets an op have: then they are one list.
MOST_ARGUMENTS = 64

_registered = {}
_fragment = None


def _takes_list(count):
    return count > MOST_ARGUMENTS


def arguments_of(inputs):
    """What a call of an op of register() is given for its inputs."""
    return (list(inputs),) if _takes_list(len(inputs)) else tuple(inputs)


def register(path, digest, key, name, inputs, outputs):
    """The op that calls a compiled region.

    Args:
      path: a library for the host, or a plan file.
      inputs: [(sizes, type)] of what it takes.
      outputs: the same of what it returns: new and contiguous.
    """
    global _fragment
    plain = re.sub(r"\W", "_", name)[:40].strip("_") or "region"
    # One program may return what are other types to torch: int8 and uint8.
    what = hashlib.sha256(f"{digest} {inputs} {outputs}".encode()).hexdigest()
    op = f"{plain}_{key[:8]}_{what[:8]}"
    if op in _registered:
        return _registered[op]
    function = library.Library(path)
    _check(function, inputs, outputs)
    count = len(inputs)
    returned = "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    takes_list = _takes_list(count)
    arguments = ", ".join(f"Tensor a{index}" for index in range(count))
    if takes_list:
        arguments = "Tensor[] inputs"
    if _fragment is None:
        _fragment = torch.library.Library("fastk", "FRAGMENT")
    _fragment.define(
        f"{op}({arguments}) -> {returned}",
        # Inductor pads strides of other ops' operands.
        tags=(torch.Tag.needs_exact_strides, torch.Tag.pt2_compliant_tag),
    )

    def called(function):
        return (lambda inputs: function(*inputs)) if takes_list else function

    def fake(*inputs):
        made = [inputs[0].new_empty(sizes, dtype=dtype) for sizes, dtype in outputs]
        return made[0] if len(made) == 1 else tuple(made)

    # Where a call takes so many tensors, Python's share of it is small.
    if takes_list or not native.define(op, function, inputs, outputs):
        call = called(_caller(function, outputs))
        for device in ("CPU", "CUDA"):
            _fragment.impl(op, call, device)
    torch.library.register_fake(f"fastk::{op}", called(fake), lib=_fragment)
    _registered[op] = getattr(torch.ops.fastk, op).default
    return _registered[op]


def _check(function, inputs, outputs):
    """Raises Unsupported unless a program takes and writes what the graph has."""
    for what, has in (("inputs", inputs), ("outputs", outputs)):
        wants = function.signature[what]
        if [tuple(want["shape"]) for want in wants] != [tuple(sizes) for sizes, _ in has]:
            raise Unsupported(f"its program has other {what} than the region")
        for want, (_, dtype) in zip(wants, has):
            kind = library.dtypes().get(want["dtype"])
            if kind is None or kind.itemsize != dtype.itemsize:
                raise Unsupported(f"its program has {want['dtype']} for {dtype}")


#: Inputs and results begin at a multiple of this many bytes: hosts, GPUs.
_ALIGNMENT = {"cpu": 64, "cuda": 16}


def _caller(function, outputs):
    entry = function.unchecked()

    def ready(tensor):
        tensor = tensor.contiguous()
        if tensor.data_ptr() % _ALIGNMENT[tensor.device.type]:
            tensor = tensor.clone()
        return tensor

    def call(*inputs):
        device = inputs[0].device
        inputs = [ready(each) for each in inputs]
        made = [torch.empty(sizes, dtype=dtype, device=device) for sizes, dtype in outputs]
        entry(inputs, made)
        return made[0] if len(made) == 1 else tuple(made)

    return call
