# ===- regions.py - Parts of a graph, cut out and replaced -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Parts of a graph that a program could stand for: found, cut out, replaced.

A region is whole nodes. What is cut is imported again by itself, so nothing here has to
be right for results to be: it has to be right about memory, which an import does not
see. A program reads all of its inputs at one moment and returns new, contiguous tensors
that share memory with nothing; where PyTorch's have other strides they are copied.
"""

import contextlib
import dataclasses
import operator

import torch
from torch.fx.node import map_aggregate

from . import ops
from .errors import Unsupported
from .graphs import FILE, is_idle


@dataclasses.dataclass
class Region:
    """Nodes of a graph, in its order, that are computed at once.

    Attributes:
      key: of the workload that they are.
      name, reason: what it is called, and what its winner is.
      nodes: of the graph.
      inputs: nodes whose values it takes, in the order of their first use.
      outputs: nodes of it whose values others take.
      constants: nodes that take no input, which it computes for itself: they stay.
    """

    key: str
    name: str
    reason: str
    nodes: list
    inputs: list
    outputs: list
    constants: list


def value_of(node):
    """The fake tensor that Dynamo has for a node; None where it has another value."""
    value = node.meta.get("example_value", node.meta.get("val"))
    return value if isinstance(value, torch.Tensor) else None


def layout_of(value):
    """The order of a tensor's dimensions in memory; None where it has gaps or overlaps."""
    order = sorted(range(value.dim()), key=value.stride, reverse=True)
    if value.numel() == 0:
        return sorted(order)
    step = 1
    for dimension in reversed(order):
        if value.shape[dimension] != 1 and value.stride(dimension) != step:
            return None
        step *= value.shape[dimension]
    return order


def workload_nodes(module, workload):
    """The nodes of the graph whose ops are in a workload of fastk-opt's list."""
    nodes = list(module.graph.nodes)
    places = {line - 1 for file, line, _ in workload["places"] if file == FILE}
    return [nodes[place] for place in sorted(places) if place < len(nodes)]


def cuts(module, workload):
    """Yields functions that return a Region of a workload, or raise Unsupported.

    What no input goes into has no place, as many share it: whether it is in the
    workload is for its key to say.
    """
    yield lambda: cut(module, workload)
    fixed = _constants(module)
    if not fixed.isdisjoint(each for node in _calls(module, workload)
                            for each in node.all_input_nodes):  # fmt: skip
        yield lambda: cut(module, workload, fixed)


def _constants(module):
    """The nodes of a graph that compute the same in each call."""
    found = set()
    for node in module.graph.nodes:
        if node.op in ("call_function", "call_method") and not is_idle(node):
            if all(each in found for each in node.all_input_nodes):
                found.add(node)
    return found


def _calls(module, workload):
    return [
        node
        for node in workload_nodes(module, workload)
        if node.op in ("call_function", "call_method")
    ]


def cut(module, workload, fixed=frozenset()):
    """The Region of a workload; raises Unsupported where it cannot be one.

    fixed: nodes that compute constants, which it computes where it needs them.
    """
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    nodes = [node for node in _calls(module, workload) if node not in fixed]
    if not nodes:
        raise Unsupported("no op of the graph is known to be in it")
    inside = set(nodes)
    constants, reached = set(), list(nodes)
    while reached:
        new = {each for each in reached.pop().all_input_nodes if each in fixed}
        reached += new - constants
        constants |= new
    inputs = []
    for node in nodes:
        for each in node.all_input_nodes:
            if each not in inside and each not in constants and each not in inputs:
                inputs.append(each)
    outputs = [node for node in nodes if any(u not in inside for u in node.users)]
    if not inputs or not outputs:
        raise Unsupported("it takes nothing, or nobody takes what it computes")
    region = Region(
        workload["key"],
        workload["name"],
        workload["reason"],
        nodes,
        inputs,
        outputs,
        sorted(constants, key=order.get),
    )
    check_values(region)
    _check_order(module, region, order)
    return region


def check_values(region):
    """Raises Unsupported for inputs or outputs that a program cannot take or make."""
    for node in (*region.inputs, *region.outputs):
        value = value_of(node)
        if value is None:
            raise Unsupported(f"'{node.name}' at its border is no tensor")
        if value.layout != torch.strided:
            raise Unsupported(f"'{node.name}' at its border is {value.layout}")
    for node in region.outputs:
        if layout_of(value_of(node)) is None:
            raise Unsupported(f"its result '{node.name}' has gaps or overlaps")


def _check_order(module, region, order):
    """What is computed at the place of its last node sees and changes the same."""
    inside = set(region.nodes)
    first, last = order[region.nodes[0]], order[region.nodes[-1]]
    for node in module.graph.nodes:
        between = first < order[node] < last and node not in inside
        if between and mutates(node):
            raise Unsupported(f"'{node.name}', which changes a tensor, is in between")
        if between and any(each in inside for each in node.all_input_nodes):
            raise Unsupported(f"'{node.name}' in between takes what it computes")


@contextlib.contextmanager
def _fakes():
    """For running a part of a graph without memory, in a mode of its own.

    Dynamo's tensors may be of several modes, and those of inference mode count no
    versions.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    with torch._guards.tracing(None), torch.inference_mode(False), mode, torch.no_grad():
        yield


def _like(value):
    """An uninitialised tensor of a value's sizes, strides and type."""
    return torch.empty_strided(
        value.shape, value.stride(), dtype=value.dtype, device=value.device
    )


def mutates(node):
    """Whether a node changes a tensor that it is given, or cannot be asked.

    It is run, and the versions of its operands are looked at: names lie (iadd, relu of
    inplace=True). Norms in training say nothing of what they write.
    """
    if node.op not in ("call_function", "call_method") or is_idle(node):
        return False
    given = (*node.args, *node.kwargs.values())
    if "_norm" in node.name and any(each is True for each in given):
        return True
    values = {}
    with _fakes():
        for each in node.all_input_nodes:
            values[each] = value_of(each)
            if values[each] is not None:
                values[each] = _like(values[each])
            elif node.target is operator.getitem:
                return False  # of a tuple
            else:
                return True
        args, kwargs = map_aggregate(
            (node.args, node.kwargs),
            lambda each: values[each] if isinstance(each, torch.fx.Node) else each,
        )
        try:
            if node.op == "call_method":
                getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                node.target(*args, **kwargs)
        except Exception:  # what it needs is not here
            return True
        return any(value._version for value in values.values())


def is_stateful(node):
    """Whether a node changes what later ones do: autocast, grad mode, vmap's levels."""
    if node.op != "call_function" or isinstance(node.target, torch._ops.OpOverload):
        return False
    if is_idle(node):
        return False
    name = getattr(node.target, "__name__", "")
    module = getattr(node.target, "__module__", None) or ""
    return (
        name.startswith(("_enter_", "_exit_", "_set_", "_saved_tensors"))
        or "_functorch" in module
        or module.startswith("torch.autograd")
    )


def subgraph(module, region):
    """The region by itself: a GraphModule with its inputs, returning its outputs."""
    graph, copies = torch.fx.Graph(), {}
    for node in region.inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in (*region.constants, *region.nodes):
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[node] for node in region.outputs))
    return torch.fx.GraphModule(module, graph)


def share_memory(part, values):
    """Whether an output of a GraphModule shares memory with another or an input.

    values: fake tensors like the inputs.
    """
    with _fakes():
        inputs = [_like(value) for value in values]
        outputs = torch.fx.Interpreter(part).run(*inputs)
    storages = [each.untyped_storage()._cdata for each in (*inputs, *outputs)]
    return len(set(storages)) < len(storages)


def graph_of(op, count, values):
    """A GraphModule that calls `op` on its `count` inputs, and returns a tuple.

    values: tensors with the strides that its results are to have.
    """
    graph = torch.fx.Graph()
    inputs = tuple(graph.placeholder(f"input{index}") for index in range(count))
    graph.output(tuple(_call(graph, op, inputs, values)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _call(graph, op, inputs, values):
    """Nodes of a call's results, with the strides of `values`: where the graph is."""
    made = [value.contiguous() for value in values]
    call = graph.call_function(op, ops.arguments_of(inputs))
    if len(values) == 1:
        call.meta["example_value"] = made[0]
        return [_restrided(graph, call, made[0], values[0])]
    call.meta["example_value"] = tuple(made)
    nodes = []
    for index, value in enumerate(made):
        nodes.append(graph.call_function(operator.getitem, (call, index)))
        nodes[-1].meta["example_value"] = value
    return [_restrided(graph, *each) for each in zip(nodes, made, values)]


def _restrided(graph, node, made, value):
    """A node of the same values with the strides of `value`, which its users count on.

    They would take views that others do not have.
    """
    order = layout_of(value)
    back = sorted(range(len(order)), key=order.__getitem__)
    if order == back == sorted(order):
        return node
    for name, *dimensions in (("permute", order), ("contiguous",), ("permute", back)):
        node = graph.call_method(name, (node, *dimensions))
        made = getattr(made, name)(*dimensions)
        node.meta["example_value"] = made
    return node


def replace_all(module, chosen):
    """The graph with ops for regions: [(region, op)] of `module`, which stays."""
    graph, copies = torch.fx.Graph(), {}
    graph.output(graph.graph_copy(module.graph, copies))
    for node in module.graph.nodes:
        if node in copies and hasattr(node, "_dynamo_source"):
            copies[node]._dynamo_source = node._dynamo_source
    result = torch.fx.GraphModule(module, graph)
    result.meta = dict(module.meta)
    # What Dynamo has written onto it: sources of inputs, why it ends, where its cache is.
    for name, value in vars(module).items():
        result.__dict__.setdefault(name, value)
    for region, op in chosen:
        # Where an earlier one has made an input, its copy is what is there now.
        copies.update(_replace(graph, region, op, copies))
    graph.lint()
    result.recompile()
    return result


def _replace(graph, region, op, copies):
    """Has the graph call `op` where the region was; its outputs' new nodes."""
    nodes = [copies[node] for node in region.nodes]
    inputs = tuple(copies[node] for node in region.inputs)
    with graph.inserting_before(nodes[-1].next):
        values = _call(graph, op, inputs, list(map(value_of, region.outputs)))
    for node, value in zip(region.outputs, values):
        value.meta["example_value"] = value_of(node)
        copies[node].replace_all_uses_with(value)
    for node in reversed(nodes):
        graph.erase_node(node)
    return dict(zip(region.outputs, values))
