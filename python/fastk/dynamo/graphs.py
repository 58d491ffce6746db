# ===- graphs.py - Graphs of Dynamo as data -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Graphs of Dynamo as data: for the process that imports them, and for caches.

A pickled torch.fx.GraphModule is traced again when it is read: what has no tensor
argument (torch.arange(8)) is computed then, and nodes lose their places. So nodes are
written one by one, targets by their names.
"""

import hashlib
import importlib
import io
import pickle

import torch
from torch.fx.node import _get_qualified_name

from .errors import Unsupported

#: What a node of a graph is called in locations: FILE, and its place in the graph.
FILE = "fastk.node"


class _Pickler(pickle.Pickler):
    """Nodes by their places, functions by their names; what runs no code."""

    def __init__(self, stream, places):
        super().__init__(stream, protocol=4)
        self.places = places

    def persistent_id(self, value):
        if isinstance(value, torch.fx.Node):
            return ("node", self.places[value])
        if isinstance(value, torch._ops.OpOverload):
            return ("op", value.name())
        if isinstance(value, torch.device):
            # The import knows no devices.
            return ("device", "cpu")
        if callable(value) and not isinstance(value, type):
            return ("function", _name_of(value))
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream, nodes):
        super().__init__(stream)
        self.nodes = nodes

    def persistent_load(self, identity):
        kind, value = identity
        if kind == "node":
            return self.nodes[value]
        if kind == "device":
            return torch.device(value)
        if kind == "op":
            name, _, overload = value.partition("::")[2].partition(".")
            packet = getattr(getattr(torch.ops, value.partition("::")[0]), name)
            return getattr(packet, overload or "default")
        return _resolve(value)


def _name_of(function):
    """The name by which _resolve finds the function."""
    try:
        name = _get_qualified_name(function)
        if _resolve(name) is function:
            return name
    except Exception:  # a name that nobody finds
        name = repr(function)
    raise Unsupported(f"it calls {name}, which cannot be named in another process")


def _resolve(name):
    """What a dotted name stands for."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ImportError(name)


def _dump(value, places):
    stream = io.BytesIO()
    try:
        _Pickler(stream, places).dump(value)
    except Unsupported:
        raise
    except Exception as error:  # whatever a value's own code raises
        raise Unsupported(f"it holds what cannot be written: {error}") from error
    return stream.getvalue()


def describe(tensor):
    """What an import knows of a tensor: sizes and type."""
    return (tuple(int(size) for size in tensor.shape), tensor.dtype)


def to_data(module, inputs):
    """The graph of a GraphModule with these inputs as data: bytes for from_data."""
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    nodes = []
    for node in module.graph.nodes:
        target = node.target
        if node.op == "get_attr":
            value = _attribute(module, target)
            if not isinstance(value, torch.Tensor):
                raise Unsupported(f"it has a part of its own, '{target}'")
            target = value.detach().cpu()
        elif node.op == "call_module":
            raise Unsupported(f"it calls the module '{target}'")
        nodes.append((node.op, target, node.args, node.kwargs))
    return _dump((nodes, [describe(each) for each in inputs]), places)


def _attribute(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


class Numbered(torch.nn.Module):
    """A graph whose nodes say in traces at which places they are."""

    def __init__(self, graph, attributes):
        super().__init__()
        # Not as submodules: their tensors are constants, and no arguments.
        root = torch.nn.Module()
        for name, value in attributes.items():
            object.__setattr__(root, name, value)
        object.__setattr__(self, "module", torch.fx.GraphModule(root, graph))

    def forward(self, *inputs):
        return torch.fx.Interpreter(self.module).run(*inputs)


def from_data(data):
    """(a Numbered, [(sizes, type)...]) of what to_data has written."""
    graph, made, attributes = torch.fx.Graph(), [], {}
    nodes, inputs = _Unpickler(io.BytesIO(data), _Places()).load()
    for place, (op, target, args, kwargs) in enumerate(nodes):
        if op == "get_attr":
            name = f"constant{place}"
            attributes[name], target = target, name
        if op == "placeholder":
            target = f"input{place}"
        args, kwargs = torch.fx.node.map_aggregate(
            (args, kwargs), lambda each: made[each.place] if _is_place(each) else each
        )
        node = graph.create_node(op, target, tuple(args), dict(kwargs))
        node.meta["stack_trace"] = f'  File "{FILE}", line {place + 1}, in forward\n'
        made.append(node)
    return Numbered(graph, attributes), inputs


class _Place:
    def __init__(self, place):
        self.place = place


def _is_place(value):
    return isinstance(value, _Place)


class _Places:
    """Stands for nodes before there are any."""

    def __getitem__(self, place):
        return _Place(place)


def digest(data):
    """Names a graph in caches."""
    return hashlib.sha256(data).hexdigest()
