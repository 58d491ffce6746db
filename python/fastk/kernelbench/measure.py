# ===- measure.py - A compiled problem beside torch -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What a compiled problem computes, and how long it takes beside torch.

Errors are relative to the largest element of torch's results in f64; where those do
not fit into memory, of torch's own in f32. `harness` is the verdict of KernelBench's
check, torch.allclose at 1e-4, beside torch at its default flags, which may use TF32.

What needs the device is done in turns (turns.py), timing alone.

Times: before each call a buffer larger than any cache is written; the contenders take
turns in random order; medians of CUDA events on a GPU, of the clock on a host.
"""

import copy
import json
import operator
import os
import random
import statistics
import time

from . import machine, peer, problems

#: Of the largest element; twice eager's error where that is more, but no more than
#: the last: what is further off, though no further than that, is open, for there
#: f32 itself does not tell what the model computes.
LIMIT, MOST_LIMIT = 1e-4, 1e-2
#: Where operands of 10 bits were accepted, TF32 and f16: one is off by 2^-11, two are
#: by 2^-10.
TEN_BITS_LIMIT = 2.0**-10
HARNESS = 1e-4
#: Elements that are compared at a time: all at once need several times the memory.
PIECE = 1 << 26
#: Calls of each contender before and within the measurement, and seconds for it.
WARM_UP, LEAST, MOST, SECONDS = 3, 10, 100, 3.0
#: Bytes written before each call: more than any last-level cache.
FLUSHED = {"cuda": 512 << 20, "cpu": 64 << 20}


def measure(problem, folder, turn=lambda turn: None, accepts="ieee"):
    """Compares and times FOLDER/model.so; returns the fields of a row.

    `accepts` is the --precision that it was compiled with.
    `turn` is called before what needs the device, as turns.Asker.
    """
    import torch

    from ..library import Library

    library = Library(os.path.join(folder, "model.so"))
    device = "cpu" if library.target == "host" else "cuda"
    with open(os.path.join(folder, "model.mlir.json"), encoding="utf-8") as file:
        sidecar = json.load(file)
    file = problems.load(problem)
    module = problems.make_module(file)
    turn("device")
    # A host draws 1e9 numbers in several seconds, and they cross to the device in more.
    # What a problem makes without torch is still on the host.
    inputs = _to(problems.draw_inputs(file, device), device)
    module = module.to(device)
    # A module in training mode updates its buffers: each contender begins alike. What
    # is no buffer of torch may be one of the importer.
    state = {
        each["name"]: operator.attrgetter(each["name"])(module).detach().to(device, copy=True)
        for each in sidecar["arguments"]
        if each["role"] != "input"
    }
    arguments = _arguments(sidecar, state, inputs)
    compiled = torch.compile(copy.deepcopy(module), backend=peer.backend())
    _settle(device)
    turn("none")
    with torch.no_grad():
        unable = peer.prepare(lambda: compiled(*inputs))
        turn("device")
        got = [tensor for tensor, each in zip(library(*arguments), sidecar["results"])
               if each["role"] == "output"]  # fmt: skip
        want = _leaves(module(*inputs))
        exact, short_of_memory = _exact(module, state, inputs)
        said = _errors(got, want, exact, limit_of(accepts))
        if exact and said.get("status") == "wrong":
            rounded, short = _exact(module, state, inputs, accepts)
            short_of_memory |= short
            _beside_rounded(said, rounded, exact)
            del rounded
        del got, want, exact
        _settle(device)
        contenders = {"fastk": lambda: library(*arguments)}
        contenders["eager"] = lambda: module(*inputs)
        contenders["compile"] = unable or (lambda: compiled(*inputs))
        said["ms"], short = _times(contenders, device, lambda: turn("alone"))
        said |= machine.describe(device)
        turn("none")
    if short_of_memory or short:
        said["short_of_memory"] = True
    return said


def limit_of(accepts):
    """What is right at most, where eager is no worse, by the --precision it was compiled
    with: of all classes in it the loosest."""
    return TEN_BITS_LIMIT if "tf32" in accepts or "half" in accepts else LIMIT


def _settle(device):
    """Nothing is under way on the device afterwards, and others can have its memory."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def _to(value, device):
    import torch
    from torch.utils import _pytree as pytree

    def move(leaf):
        return leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf

    return pytree.tree_map(move, value)


def _leaves(value):
    import torch
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _arguments(sidecar, state, inputs):
    """The library's arguments: weights by their names, inputs in their order."""
    tensors = iter(_leaves(inputs))
    return [
        next(tensors).contiguous()
        if each["role"] == "input"
        else state[each["name"]].contiguous()
        for each in sidecar["arguments"]
    ]


def _exact(module, state, inputs, accepts="ieee"):
    """The results in f64, or None, and whether memory did not hold them. The factors of
    products are rounded as --precision `accepts`."""
    import torch

    from .rounded import Rounding, kinds_of

    def widen(value):
        return value.double() if value.is_floating_point() else value

    try:
        exact = copy.deepcopy(module)
        exact.load_state_dict(state, strict=False)
        wide = torch.utils._pytree.tree_map_only(torch.Tensor, widen, inputs)
        with Rounding(kinds_of(accepts)):
            return _leaves(exact.double()(*wide)), False
    except (torch.OutOfMemoryError, MemoryError):
        return None, True
    except RuntimeError:
        # A model that makes f32 tensors of its own does not run in f64.
        return None, False


def _errors(got, want, exact, limit):
    import torch

    if len(got) != len(want):
        return {"status": "wrong", "reason": f"{len(got)} results, not {len(want)}"}
    against = exact or [tensor.double() for tensor in want]
    error, eager, harness = 0.0, 0.0, True
    for mine, theirs, right in zip(got, want, against):
        if mine.shape != right.shape:
            return {
                "status": "wrong",
                "reason": f"a result of {tuple(mine.shape)}, not {tuple(right.shape)}",
            }
        harness &= _all_close(mine, theirs)
        error = max(error, _largest(mine, right))
        eager = max(eager, _largest(theirs, right))
    said = {"error": error, "eager_error": eager, "harness": bool(harness),
            "exact": exact is not None}  # fmt: skip
    # NaN where torch has none is no small error.
    if not error <= max(limit, min(2 * eager, MOST_LIMIT)):
        said["status"] = "open" if error <= 2 * eager else "wrong"
        said["reason"] = f"off by {error:.3g} from f64, eager's f32 by {eager:.3g}"
    return said


def _beside_rounded(said, rounded, exact):
    """What is no further off than twice what rounding operands as accepted costs, all
    else exact, is right after all."""
    if rounded is None or "error" not in said:
        return
    cost = max(_largest(mine, right) for mine, right in zip(rounded, exact, strict=True))
    said["rounded_error"] = cost
    if said["error"] <= min(2 * cost, MOST_LIMIT):
        del said["status"], said["reason"]
    else:
        said["reason"] += f", rounded operands alone by {cost:.3g}"


def _pieces(*tensors):
    """Pieces of tensors of one shape, flat, by PIECE elements."""
    flat = [tensor.reshape(-1).split(PIECE) for tensor in tensors]
    return zip(*flat, strict=True)


def _all_close(mine, theirs):
    """torch.allclose, which makes several tensors as large as its operands."""
    import torch

    return all(
        torch.allclose(a, b, rtol=HARNESS, atol=HARNESS) for a, b in _pieces(mine, theirs)
    )


def _largest(got, right):
    """The largest error relative to the largest finite element; inf where one is
    infinite or NaN and the other is not so."""
    import torch

    scale = error = 0.0
    for mine, exact in _pieces(got, right):
        mine, exact = mine.double(), exact.double()
        finite = torch.isfinite(exact)
        same = torch.equal(torch.nan_to_num(mine[~finite], nan=7.0),
                           torch.nan_to_num(exact[~finite], nan=7.0))  # fmt: skip
        mine, exact = mine[finite], exact[finite]
        if not same or not bool(torch.isfinite(mine).all()):
            return float("inf")
        if exact.numel():
            scale = max(scale, exact.abs().max().item())
            error = max(error, (mine - exact).abs().max().item())
    return error / (scale or 1.0)


def _times(contenders, device, alone):
    """{contender: {median, p10, p90, calls}} in ms; those that fail have a reason. And
    whether one failed for want of memory. `alone` is called when all have been."""
    import torch

    ms, failed, short_of_memory = {name: [] for name in contenders}, {}, False
    flush = torch.empty(FLUSHED[device], dtype=torch.int8, device=device)

    def once(call):
        flush.fill_(1)
        if device == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            begin.record()
            call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3

    for name, call in contenders.items():
        try:
            if isinstance(call, Exception):
                raise call
            for _ in range(WARM_UP):
                once(call)
        except Exception as error:  # of a peer, that is: what it says is a result
            if name == "fastk":
                raise
            short_of_memory |= isinstance(error, (torch.OutOfMemoryError, MemoryError))
            failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    names = [name for name in contenders if name not in failed]
    alone()
    # What others had under way when they were stopped ends with these.
    for name in names:
        once(contenders[name])
    start, order = time.monotonic(), random.Random(problems.SEED)
    while len(ms["fastk"]) < MOST and (
        len(ms["fastk"]) < LEAST or time.monotonic() < start + SECONDS
    ):
        for name in order.sample(names, len(names)):
            ms[name].append(once(contenders[name]))
    result = {}
    for name, reason in failed.items():
        result[name] = {"reason": reason}
    for name in names:
        ordered = sorted(ms[name])
        result[name] = {
            "median": statistics.median(ordered),
            "p10": ordered[len(ordered) // 10],
            "p90": ordered[len(ordered) * 9 // 10],
            "calls": len(ordered),
        }
    return result, short_of_memory
