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

import builtins
import hashlib
import importlib
import io
import pickle

import torch
from torch.fx.node import _get_qualified_name

from .errors import Unsupported

#: What a node of a graph is called in locations: FILE, and its place in the graph.
FILE = "fastk.node"

#: What a graph may name: packages, whose functions are nobody's own.
PACKAGES = ("builtins", "collections", "math", "operator", "_operator", "torch")

#: Values that are objects of torch and written by their names: pickle would search
#: every module for one that holds them, and find any.
_NAMED = (torch.dtype, torch.layout, torch.memory_format)


class _Pickler(pickle.Pickler):
    """Nodes by their places, functions by their names, tensors by their bytes.

    Equal graphs are equal bytes in every process: nothing depends on which values are
    the same object, nor on addresses.
    """

    def __init__(self, stream, places):
        super().__init__(stream, protocol=4)
        self.places = places
        # Without it a value that occurs twice is written once, if it is one object.
        self.fast = True

    def persistent_id(self, value):
        if isinstance(value, torch.fx.Node):
            return ("node", self.places[value])
        if isinstance(value, torch._ops.OpOverload):
            return ("op", value.name())
        if isinstance(value, torch.device):
            # The import knows no devices.
            return ("device", "cpu")
        if isinstance(value, _NAMED):
            return ("torch", str(value).removeprefix("torch."))
        if isinstance(value, torch.Tensor):
            return ("tensor", _bytes_of(value))
        if isinstance(value, torch.fx.GraphModule):
            raise Unsupported("it calls a graph of its own")
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
        if kind == "torch":
            return getattr(torch, value)
        if kind == "tensor":
            return _tensor_of(*value)
        if kind == "op":
            name, _, overload = value.partition("::")[2].partition(".")
            packet = getattr(getattr(torch.ops, value.partition("::")[0]), name)
            return getattr(packet, overload or "default")
        return _resolve(value)

    def find_class(self, module, name):
        _check_package(module)
        return super().find_class(module, name)


def _bytes_of(tensor):
    """(type, sizes, bytes) of a tensor: torch's own pickles hold addresses."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Unsupported(f"it holds a {type(tensor).__name__}")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise Unsupported(f"it holds a tensor that is {tensor.layout}, or quantized")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
    return tensor.dtype, tuple(tensor.shape), data


def _tensor_of(dtype, shape, data):
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


def _check_package(name):
    if name.partition(".")[0] not in PACKAGES:
        raise ImportError(f"{name} is none of {', '.join(PACKAGES)}")


def _name_of(function):
    """The name by which _resolve finds the function."""
    try:
        name = _get_qualified_name(function)
        if getattr(builtins, name, None) is function:
            name = f"builtins.{name}"
        if _resolve(name) is function:
            return name
    except Exception:  # a name that nobody finds
        name = repr(function)
    raise Unsupported(f"it calls {name}, which is no function of torch")


def _resolve(name):
    """What a dotted name stands for."""
    _check_package(name)
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


def is_idle(node):
    """Whether a node changes torch's state to what it is: autocast that is disabled,
    where it is off. Rotary embeddings have it."""
    name = getattr(node.target, "__name__", "")
    if node.op != "call_function":
        return False
    if name == "_enter_autocast":
        return len(node.args) > 2 and node.args[2] is False
    return name == "_exit_autocast" and is_idle(node.args[0])


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
            target = value
        elif node.op == "placeholder":
            # Graphs that differ in names alone are the same.
            target = ""
        elif node.op == "call_module":
            raise Unsupported(f"it calls the module '{target}'")
        # Which would be ops to an import; what comes after keeps its place.
        if is_idle(node):
            nodes.append(("call_function", bool, (), {}))
        else:
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
