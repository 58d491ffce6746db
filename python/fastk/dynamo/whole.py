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
    """Whether the graph with ops is to be used."""
    return (
        not result.wrong
        and result.is_settled
        and result.ratio >= LEAST
        and result.low > LOW
    )


def hold(module, rewritten, inputs, device, config, compiled):
    """Measures a call of `rewritten` beside one of `module`; both stay as they are.

    Args:
      inputs: what Dynamo compiles them for.
      compiled: what Inductor makes of (GraphModule, inputs, config), without CUDA
        graphs; where `config` asks for these, calls are captured and replayed.
    """
    gpu = device.type == "cuda"
    on = torch.cuda.device(device) if gpu else contextlib.nullcontext()
    # Nobody sees that it was called, not even who draws random numbers.
    random = torch.random.fork_rng([device] if gpu else [])
    with torch._guards.tracing(None), torch.no_grad(), random, on:
        if any(isinstance(each, torch._subclasses.FakeTensor) for each in inputs):
            inputs = duel.operands(inputs, device, duel.indices_of(module))
        calls = []
        for graph in (rewritten, module):
            # Inductor changes what it is given.
            made = compiled(regions.replace_all(graph, []), inputs, config)
            calls.append(lambda made=made: made(*inputs))
        if gpu and config.get("triton.cudagraphs"):
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
