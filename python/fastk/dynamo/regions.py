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
that share memory with nothing.
"""

import dataclasses
import operator

import torch

from .errors import Unsupported
from .graphs import FILE


@dataclasses.dataclass
class Region:
    """Nodes of a graph, in its order, that are computed at once.

    Attributes:
      key: of the workload that they are.
      name, reason: what it is called, and what its winner is.
      nodes: of the graph.
      inputs: nodes whose values it takes, in the order of their first use.
      outputs: nodes of it whose values others take.
    """

    key: str
    name: str
    reason: str
    nodes: list
    inputs: list
    outputs: list


def value_of(node):
    """The fake tensor that Dynamo has for a node; None where it has another value."""
    value = node.meta.get("example_value", node.meta.get("val"))
    return value if isinstance(value, torch.Tensor) else None


def workload_nodes(module, workload):
    """The nodes of the graph whose ops are in a workload of fastk-opt's list."""
    nodes = list(module.graph.nodes)
    places = {line - 1 for file, line, _ in workload["places"] if file == FILE}
    return [nodes[place] for place in sorted(places) if place < len(nodes)]


def cut(module, workload):
    """The Region of a workload; raises Unsupported where it cannot be one."""
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    nodes = [
        node
        for node in workload_nodes(module, workload)
        if node.op in ("call_function", "call_method")
    ]
    if not nodes:
        raise Unsupported("no op of the graph is known to be in it")
    inside = set(nodes)
    inputs = []
    for node in nodes:
        for each in node.all_input_nodes:
            if each not in inside and each not in inputs:
                inputs.append(each)
    outputs = [node for node in nodes if any(u not in inside for u in node.users)]
    region = Region(
        workload["key"], workload["name"], workload["reason"], nodes, inputs, outputs
    )
    _check_values(region)
    _check_order(module, region, order)
    return region


def _check_values(region):
    for node in (*region.inputs, *region.outputs):
        value = value_of(node)
        if value is None:
            raise Unsupported(f"'{node.name}' at its border is no tensor")
        if value.layout != torch.strided:
            raise Unsupported(f"'{node.name}' at its border is {value.layout}")
    for node in region.outputs:
        if not value_of(node).is_contiguous():
            raise Unsupported(f"its result '{node.name}' is not contiguous")


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
        if node not in inside and node.op == "call_function" and is_stateful(node):
            raise Unsupported(f"the graph changes torch's state by '{node.name}'")


def mutates(node):
    """Whether a node may change a tensor that it is given, or its name says so."""
    if node.kwargs.get("out") is not None or node.kwargs.get("inplace"):
        return True
    if node.op == "call_method":
        return node.target.endswith("_") and not node.target.endswith("__")
    if node.op != "call_function":
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.is_mutable
    name = getattr(node.target, "__name__", "_")
    # relu(x, True), batch_norm in training.
    return name in ("setitem", "delitem") or name.endswith("_") or True in node.args


def is_stateful(node):
    """Whether a node changes what later ones do: autocast, grad mode."""
    name = getattr(node.target, "__name__", "")
    return name.startswith(("_enter_", "_exit_", "_set_grad", "_saved_tensors"))


def subgraph(module, region):
    """The region by itself: a GraphModule with its inputs, returning its outputs."""
    graph, copies = torch.fx.Graph(), {}
    for node in region.inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in region.nodes:
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[node] for node in region.outputs))
    return torch.fx.GraphModule(module, graph)


def share_memory(part, values):
    """Whether an output of a GraphModule shares memory with another or an input.

    values: fake tensors like the inputs.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    # Of a mode of their own: Dynamo's may be several.
    with torch._guards.tracing(None), FakeTensorMode(), torch.no_grad():
        inputs = [
            torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=value.device
            )
            for value in values
        ]
        outputs = torch.fx.Interpreter(part).run(*inputs)
    storages = [each.untyped_storage()._cdata for each in (*inputs, *outputs)]
    return len(set(storages)) < len(storages)


def graph_of(op, count):
    """A GraphModule that calls `op` on its `count` inputs, and returns a tuple."""
    graph = torch.fx.Graph()
    call = graph.call_function(
        op, tuple(graph.placeholder(f"input{index}") for index in range(count))
    )
    results = len(op._schema.returns)
    graph.output(
        (call,)
        if results == 1
        else tuple(
            graph.call_function(operator.getitem, (call, index))
            for index in range(results)
        )
    )
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def replace_all(module, chosen):
    """The graph with ops for regions: [(region, op)] of `module`, which stays."""
    graph, copies = torch.fx.Graph(), {}
    graph.output(graph.graph_copy(module.graph, copies))
    for node in module.graph.nodes:
        if node in copies and hasattr(node, "_dynamo_source"):
            copies[node]._dynamo_source = node._dynamo_source
    result = torch.fx.GraphModule(module, graph)
    result.meta = dict(module.meta)
    for region, op in chosen:
        # Where an earlier one has made an input, its copy is what is there now.
        copies.update(_replace(graph, region, op, copies))
    graph.lint()
    result.recompile()
    return result


def _replace(graph, region, op, copies):
    """Has the graph call `op` where the region was; its outputs' new nodes."""
    nodes = [copies[node] for node in region.nodes]
    with graph.inserting_after(nodes[-1]):
        call = graph.call_function(op, tuple(copies[node] for node in region.inputs))
    values, last = [call], call
    if len(region.outputs) > 1:
        call.meta["example_value"] = tuple(map(value_of, region.outputs))
        values = []
        for index in range(len(region.outputs)):
            with graph.inserting_after(last):
                last = graph.call_function(operator.getitem, (call, index))
            values.append(last)
    for node, value in zip(region.outputs, values):
        value.meta["example_value"] = value_of(node)
        copies[node].replace_all_uses_with(value)
    for node in reversed(nodes):
        graph.erase_node(node)
    return dict(zip(region.outputs, values))
