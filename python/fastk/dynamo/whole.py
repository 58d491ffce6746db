# ===- whole.py - Duels of whole graphs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A graph with ops in it beside the graph without, both compiled by Inductor.

Regions that win by themselves may lose together: Inductor no longer fuses across their
borders, plans memory around them, and the host may be what a call waits for.
"""

import contextlib

import torch

from . import duel, regions

#: A graph with ops is kept from this ratio on, if the interval's lower end is above LOW.
LEAST, LOW = 1.0, 0.98


def is_kept(result):
    """Whether the graph with ops is to be used: also after a duel that is held again in
    the next process, where it gains more than Inductor's times differ from themselves."""
    is_beyond_noise = result.low > 1 + result.noise
    return (
        not result.wrong
        and (result.is_settled or is_beyond_noise)
        and result.ratio >= LEAST
        and result.low > LOW
    )


def differs(module, rewritten, inputs, device, precision):
    """Where results of `rewritten` are not PyTorch's on these inputs: a text, else empty.

    precision: how far they may differ, as compiler.Settings has it.
    """
    if any(isinstance(each, torch._subclasses.FakeTensor) for each in inputs):
        return "it is compiled for inputs without values, so nothing can be compared"
    if precision == "ieee,convolution=tf32" and not _convolves(module):
        precision = "ieee"
    with _unseen(device):
        wanted, got = module(*inputs), rewritten(*inputs)
        for each in wanted:
            if each.is_floating_point() and not each.isfinite().any():
                return "PyTorch's results are not finite, so nothing can be compared"
        return duel.differs(got, wanted, precision)


def _convolves(module):
    return any(
        "conv" in (getattr(node.target, "__name__", None) or str(node.target))
        for node in module.graph.nodes
        if node.op in ("call_function", "call_method")
    )


@contextlib.contextmanager
def _unseen(device):
    """Nobody sees what is called here, not even who draws random numbers."""
    gpu = device.type == "cuda"
    on = torch.cuda.device(device) if gpu else contextlib.nullcontext()
    random = torch.random.fork_rng([device] if gpu else [])
    with torch._guards.tracing(None), torch.no_grad(), random, on:
        yield


def hold(module, rewritten, inputs, device, config, compiled):
    """Measures a call of `rewritten` beside one of `module`; both stay as they are.

    Args:
      inputs: what Dynamo compiles them for.
      compiled: what Inductor makes of (GraphModule, inputs, config), without CUDA
        graphs; where `config` asks for these, calls are captured and replayed.
    """
    with _unseen(device):
        if any(isinstance(each, torch._subclasses.FakeTensor) for each in inputs):
            inputs = duel.operands(inputs, device, duel.indices_of(module))
        calls = []
        for graph in (rewritten, module):
            # Inductor changes what it is given.
            made = compiled(regions.replace_all(graph, []), inputs, config)
            calls.append(lambda made=made: made(*inputs))
        if device.type == "cuda" and config.get("triton.cudagraphs"):
            calls = list(map(_captured, calls))
        return duel.measure(*calls, duel.clock_of(device))


def _captured(call):
    """What replays a call from a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = call()

    def replay(results=results):  # which has to live as long
        graph.replay()

    return replay
