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

import contextlib
import hashlib
import logging
import warnings

import torch

from . import compiler, duel, families, graphs, ops, record, regions, whole, work
from .errors import Failed, Unsupported
from .importing import Importer, Imports
from .store import Store

log = logging.getLogger(__name__)

_importer = Importer()


def fastk(module, inputs, *, mode=None, options=None):
    """The backend. `mode` and `options` are Inductor's."""
    inductor = torch._TorchCompileInductorWrapper(mode, options, None)
    plain = Plain(inductor, module, inputs)
    own = module
    try:
        # Inductor changes what it is given.
        own = regions.replace_all(module, [])
        ahead = None if gives_weights_away(inductor.config) else plain.prepare
        rewritten = rewrite(own, inputs, inductor.config, meanwhile=ahead)
        if rewritten is not own:
            return inductor(rewritten, inputs)
    except (Failed, Unsupported) as error:
        _tell(f"fastk leaves a graph to Inductor: {error}", error)
        record.record_left(own, inputs, str(error))
    except Exception as error:  # never the user's problem
        _tell_failure("fastk failed and leaves a graph to Inductor", error)
        record.record_left(own, inputs, f"{type(error).__name__}: {error}")
    return plain.result()


class Plain:
    """What Inductor makes of a graph as it is; made once."""

    def __init__(self, inductor, module, inputs):
        self.inductor, self.module, self.inputs = inductor, module, inputs
        self.made = self.error = None

    def prepare(self):
        """Makes it ahead; what fails is raised by result()."""
        try:
            self.made = self.inductor(self.module, self.inputs)
        except Exception as error:
            self.error = error

    def result(self):
        if self.made is None and self.error is None:
            self.prepare()
        if self.error is not None:
            raise self.error
        return self.made


def gives_weights_away(config):
    """Whether Inductor may leave a graph without its weights after it has compiled it."""
    with torch._inductor.config.patch(config):
        return torch._inductor.config.freezing


_told = set()


def _tell(text, error):
    """Warns once of each kind of thing: of what differs in details, the first."""
    log.info("%s", text)
    kind = (type(error), str(error).partition(":")[0])
    if kind not in _told:
        _told.add(kind)
        warnings.warn(text, stacklevel=2)


def _tell_failure(what, error):
    log.debug("%s", what, exc_info=True)
    said = f"{what}: {type(error).__name__}: {str(error)[:1000]}"
    _tell(f'{said}; TORCH_LOGS="+fastk" shows where', error)


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


def rewrite(module, inputs, config=None, store=None, meanwhile=None):
    """The graph with fastk's ops in it, or the graph itself.

    config: what Inductor compiles it with, beside its own settings.
    meanwhile: called while the graph is imported, where it was not before.
    """
    return rewriter_for(module, inputs, config, store).run(module, inputs, meanwhile)


def rewriter_for(module, inputs, config=None, store=None, kind=None):
    """The Rewriter of a graph; raises Unsupported for one that fastk does not take."""
    device = check(module, inputs)
    target = compiler.target_of(device)
    if target is None:
        raise Unsupported(f"fastk has no programs for {device}")
    # Before anything that takes time.
    compiler.program()
    settings = compiler.Settings(
        target,
        compiler.allowed_precision(device),
        torch.are_deterministic_algorithms_enabled(),
    )
    return (kind or Rewriter)(settings, device, config or {}, store or Store())


class Rewriter:
    """Rewrites one graph."""

    def __init__(self, settings, device, config, store):
        self.settings, self.device, self.config = settings, device, config
        self.store = store
        self.imports = Imports(store, _importer)
        #: Of texts: the layers of a model are the same region.
        self.compiled = {}
        #: By name. A duel that settled nothing is not held again for the next layer: of
        #: several tries the luckiest would count.
        self.duels = {}

    def ask(self, data):
        """(text, workloads) of what graphs.to_data has made."""
        text = self.imports.text_of_data(data)
        return text, compiler.workloads_of(text, self.settings)

    def run(self, module, inputs, meanwhile=None):
        """The graph with ops for regions; the graph itself where there are none."""
        data = graphs.to_data(module, inputs)
        # With its text, what is left takes less than Inductor.
        if meanwhile and not self.imports.are_there(data):
            text, found = work.beside(lambda: self.ask(data), meanwhile)
        else:
            text, found = self.ask(data)
        if families.are_wanted():
            rewritten = self.by_families(module, inputs, text, found)
            if rewritten is not None:
                record.record(module, inputs, self.settings, text, found)
                return rewritten
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
            except Failed as error:
                _tell(f"fastk leaves the rest of a graph to Inductor: {error}", error)
                break
            except Exception as error:  # of one region
                _tell_failure("fastk failed and leaves a region to Inductor", error)
                continue
            chosen.append((region, op))
            taken.update(region.nodes)
        record.record(module, inputs, self.settings, text, found)
        if not chosen:
            return module
        rewritten = regions.replace_all(module, chosen)
        result = self.whole(module, rewritten, inputs, chosen)
        kept = whole.is_kept(result)
        used = "used" if kept else "not used"
        log.info("the graph with %d ops is %s: %s", len(chosen), used, result.text())
        return rewritten if kept else module

    def by_families(self, module, inputs, text, found):
        """The graph as one op; None where it cannot or should not be."""
        try:
            rewritten, result, said = self.family_result(module, inputs, text, found)
        except Unsupported as error:
            log.info("the graph is not compiled as a whole: %s", error)
            return None
        except Exception as error:
            _tell_failure("fastk could not compile a graph as a whole", error)
            return None
        kept = whole.is_kept(result)
        used = "used" if kept else "not used"
        log.info("the graph as one op, %s, is %s: %s", said, used, result.text())
        return rewritten if kept else None

    def family_result(self, module, inputs, text, found):
        """(the graph as one op, the Result of its duel, what it is made of)."""
        region = families.region_of(module)
        values = [regions.value_of(node) for node in region.inputs]
        if regions.share_memory(module, values):
            raise Unsupported("its results share memory with each other or with operands")
        path, digest, said = families.compile_graph(
            text, found, self.settings, self.store
        )
        op = ops.register(
            path,
            digest,
            digest,
            region.name,
            [graphs.describe(value) for value in values],
            [graphs.describe(regions.value_of(node)) for node in region.outputs],
        )
        chosen = [(region, op)]
        rewritten = regions.replace_all(module, chosen)
        # Of each process, as weights and inputs may be others.
        problem = whole.differs(
            module, rewritten, inputs, self.device, self.settings.precision
        )
        if problem:
            _tell(f"fastk does not use {path}, which is of a graph: {problem}", problem)
            return rewritten, duel.Result(0, 0, 0, 0, 0, problem), said
        return rewritten, self.whole(module, rewritten, inputs, chosen), said

    def whole(self, module, rewritten, inputs, chosen):
        """The Result of a graph with ops beside Inductor's alone."""
        data = graphs.digest(graphs.to_data(module, inputs))
        names = [op.name() for _, op in chosen]
        places = [[node.name for node in region.nodes] for region, _ in chosen]
        strides = [each.stride() for each in inputs]
        circumstances = f"{data} {names} {places} {strides} {self.settings}"
        circumstances += f" {self.inductors()}"
        name = f"graphs/{duel.machine(self.device)}/{hash_of(circumstances)}.json"
        result = duel.Result.read(self.store, name)
        if result is None:
            result = whole.hold(
                module, rewritten, inputs, self.device, self.config, compiled
            )
            if result.is_settled:
                self.store.write(name, vars(result))
        return result

    def inductors(self):
        """A digest of all of Inductor's settings."""
        with torch._inductor.config.patch(self.config):
            return torch._inductor.config.get_hash().hex()

    def choose(self, module, workload, taken):
        """(region, op) of a hit; raises Unsupported where it cannot or should not be."""
        region, op, result = self.result_of(module, workload, taken)
        log.info("%s: %s", region.name, result.text())
        if not result.is_won:
            raise Unsupported(result.text())
        return region, op

    def result_of(self, module, workload, taken):
        """(region, op, Result of its duel) of a hit; raises Unsupported."""
        for number, cut in enumerate(regions.cuts(module, workload)):
            try:
                region, part, values, program = self.find(module, cut(), taken)
                break
            except Unsupported as error:
                reason = error if number == 0 else reason
        else:
            raise reason
        path, digest = program
        results = map(regions.value_of, region.outputs)
        op = ops.register(
            path,
            digest,
            region.key,
            region.name,
            [graphs.describe(value) for value in values],
            [graphs.describe(value) for value in results],
        )
        name = f"{region.key[:16]}-{digest[:16]}"
        return region, op, self.duel(part, op, values, name)

    def find(self, module, region, taken):
        """(region, its graph, values of its inputs, its program); raises Unsupported."""
        if not taken.isdisjoint(region.nodes):
            raise Unsupported("a node of it is part of another region")
        part = regions.subgraph(module, region)
        values = [regions.value_of(node) for node in region.inputs]
        if regions.share_memory(part, values):
            raise Unsupported("its results share memory with each other or with operands")
        text = self.imports.text_of(part, values)
        return region, part, values, self.compile(text, region.key)

    def compile(self, text, key):
        if (text, key) not in self.compiled:
            self.compiled[text, key] = compiler.compile_region(
                text, key, self.settings, self.store
            )
        return self.compiled[text, key]

    def duel(self, part, op, values, name):
        """The Result of op beside Inductor's region, from the store if it is there."""
        # What a time or a difference depends on, but for the machine.
        strides = [value.stride() for value in values]
        circumstances = f"{strides} {self.settings} {self.inductors()}"
        name = f"duels/{duel.machine(self.device)}/{name}-{hash_of(circumstances)}.json"
        result = self.duels.get(name) or duel.Result.read(self.store, name)
        if result is None:
            result = hold_duel(part, op, values, self.device, self.config, self.settings)
            if result.is_settled:
                self.store.write(name, vars(result))
        self.duels[name] = result
        return result


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hold_duel(part, op, values, device, config, settings):
    """Measures op beside what Inductor makes of the region."""
    on = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
    # The graph that is being compiled is not part of it.
    with torch._guards.tracing(None), torch.no_grad(), on:
        inputs = duel.operands(values, device, duel.indices_of(part))
        wanted = part(*inputs)
        mine = regions.graph_of(op, len(inputs), wanted)
        problem = duel.differs(mine(*inputs), wanted, settings.precision)
        if problem:
            return duel.Result(0, 0, 0, 0, 0, problem)
        ours, theirs = compiled(mine, inputs, config), compiled(part, inputs, config)
        return duel.measure(
            lambda: ours(*inputs), lambda: theirs(*inputs), duel.clock_of(device)
        )


def compiled(module, inputs, config):
    """What Inductor makes of a GraphModule by itself."""
    from torch._inductor.compile_fx import compile_fx

    # Graphs of CUDA would keep the operands; the clock leaves out what they save.
    patches = dict(config, **{"triton.cudagraphs": False})
    return compile_fx(module, inputs, config_patches=patches)
