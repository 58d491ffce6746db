# ===- backend.py - torch.compile's backend -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.compile(model, backend="fastk"): Inductor, with fastk's programs where they win.

A rewriter in front of Inductor. Regions of the graph that have winners are cut out,
imported by themselves, must be the same workload, and are replaced by an op that calls
the winner's program, if it has won a duel against Inductor on this machine. All else is
Inductor's, with its modes and options. What fastk does not take goes through as it is.
"""

import hashlib
import logging
import warnings

import torch

from . import compiler, duel, graphs, ops, record, regions
from .errors import Failed, Unsupported
from .importing import Importer, Imports
from .store import Store

log = logging.getLogger(__name__)

_importer = Importer()


def fastk(module, inputs, *, mode=None, options=None):
    """The backend. `mode` and `options` are Inductor's."""
    try:
        module = rewriter_for(module, inputs).run(module, inputs)
    except (Unsupported, Failed) as error:
        _tell(f"fastk leaves a graph to Inductor: {error}")
        record.record_left(module, inputs, str(error))
    except Exception as error:  # never the user's problem
        log.debug("fastk failed", exc_info=True)
        _tell(
            f"fastk failed and leaves a graph to Inductor: {type(error).__name__}: "
            f'{error}; TORCH_LOGS="+fastk" shows where'
        )
    return _inductor(module, inputs, mode, options)


def _inductor(module, inputs, mode, options):
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx

    patches = dict(list_mode_options(mode) if mode else {}, **(options or {}))
    return compile_fx(module, inputs, config_patches=patches or None)


_told = set()


def _tell(text):
    """Warns once of each kind of thing."""
    log.info("%s", text)
    if text not in _told:
        _told.add(text)
        warnings.warn(text, stacklevel=2)


def check(module, inputs):
    """The device of a graph; raises Unsupported for what fastk does not take."""
    if any(isinstance(each, (torch.SymInt, torch.SymFloat)) for each in inputs):
        raise Unsupported("it has sizes that a call decides")
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    if not tensors or len(tensors) != len(inputs):
        raise Unsupported("its inputs are not all tensors")
    for each in tensors:
        fake = torch._subclasses.FakeTensor
        if type(each) not in (torch.Tensor, torch.nn.Parameter, fake):
            raise Unsupported(f"it takes a {type(each).__name__}")
        if any(not isinstance(size, int) for size in each.shape):
            raise Unsupported("it has sizes that a call decides")
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        raise Unsupported(
            "it is trained, or run without torch.no_grad(); fastk's programs have no "
            "gradients"
        )
    devices = {each.device for each in tensors}
    if len(devices) != 1:
        raise Unsupported(f"it is on several devices: {', '.join(map(str, devices))}")
    (device,) = devices
    if torch.is_autocast_enabled(device.type):
        raise Unsupported("autocast is on, which decides types by itself")
    if torch.get_default_dtype() != torch.float32:
        raise Unsupported("the default type is not float32")
    if any(regions.is_stateful(node) for node in module.graph.nodes):
        raise Unsupported("it changes torch's state: autocast, or whether it has gradients")
    return device


def rewriter_for(module, inputs, kind=None):
    """What rewrites a graph; raises Unsupported for one that fastk does not take."""
    device = check(module, inputs)
    target = compiler.target_of(device)
    if target is None:
        raise Unsupported(f"fastk has no programs for {device}")
    settings = compiler.Settings(
        target,
        compiler.allowed_precision(),
        torch.are_deterministic_algorithms_enabled(),
    )
    return (kind or Rewriter)(settings, device, Store())


class Rewriter:
    """Rewrites one graph."""

    def __init__(self, settings, device, store):
        self.settings, self.device, self.store = settings, device, store
        self.imports = Imports(store, _importer)

    def run(self, module, inputs):
        """The graph with fastk's ops in it, or the graph itself."""
        text = self.imports.text_of(module, inputs)
        found = compiler.workloads_of(text, self.settings)
        chosen, taken = [], set()
        for workload in found:
            if workload["outcome"] != "hit":
                log.info("%s: %s", workload["name"], workload["reason"])
                continue
            try:
                region, op = self.choose(module, workload, taken)
            except Unsupported as error:
                log.info("%s: its winner is not used: %s", workload["name"], error)
                continue
            chosen.append((region, op))
            taken.update(region.nodes)
        digest = graphs.digest(graphs.to_data(module, inputs))
        record.record(digest, self.settings, text, found)
        return regions.replace_all(module, chosen) if chosen else module

    def choose(self, module, workload, taken):
        """(region, op) of a hit; raises Unsupported where it cannot or should not be."""
        region = regions.cut(module, workload)
        if not taken.isdisjoint(region.nodes):
            raise Unsupported("a node of it is part of another region")
        part = regions.subgraph(module, region)
        values = [regions.value_of(node) for node in region.inputs]
        result, op = self.result_of(part, region, values)
        log.info("%s: %s", region.name, result.text())
        if not result.is_won:
            raise Unsupported(result.text())
        return region, op

    def result_of(self, part, region, values):
        """The Result of a winner's duel, and its op; raises Unsupported."""
        if regions.share_memory(part, values):
            raise Unsupported("its results share memory with each other or with operands")
        text = self.imports.text_of(part, values)
        path, digest = compiler.compile_region(
            text, region.key, self.settings, self.store
        )
        outputs = [
            (tuple(value.shape), value.dtype)
            for value in map(regions.value_of, region.outputs)
        ]
        op = ops.register(path, digest, region.key, region.name, outputs)
        name = f"{region.key[:16]}-{digest[:16]}"
        return self.duel(part, op, values, name), op

    def duel(self, part, op, values, name):
        """The Result of op beside Inductor's region, from the store if it is there."""
        strides = "-".join(
            "x".join(map(str, value.stride())) or "scalar" for value in values
        )
        name = f"duels/{duel.machine(self.device)}/{name}-{hash_of(strides)}.json"
        known = self.store.read(name)
        if known is not None:
            return duel.Result(**known)
        result = hold_duel(part, op, values, self.device)
        if result.is_settled:
            self.store.write(name, vars(result))
        return result


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def hold_duel(part, op, values, device):
    """Measures op beside what Inductor makes of the region."""
    # The graph that is being compiled is not part of it.
    with torch._guards.tracing(None), torch.no_grad():
        inputs = duel.operands(values, device)
        mine = regions.graph_of(op, len(inputs))
        problem = duel.differs(mine(*inputs), part(*inputs))
        if problem:
            return duel.Result(0, 0, 0, 0, 0, problem)
        ours, theirs = compiled(mine, inputs), compiled(part, inputs)
        return duel.measure(
            lambda: ours(*inputs), lambda: theirs(*inputs), duel.clock_of(device)
        )


def compiled(module, inputs):
    """What Inductor makes of a GraphModule by itself."""
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(module, inputs)
