# ===- test_graph_data_errors.py - Graphs that cannot be data -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What a graph must not have to be written, and what is not read."""

import io
import os
import pickle

import pytest
import torch
from worlds import capture

from fastk.dynamo import graphs
from fastk.dynamo.errors import Unsupported

X = torch.ones(3)


def graph_of(target, *more, root=None, op="call_function"):
    graph = torch.fx.Graph()
    node = graph.create_node(op, target, (graph.placeholder("x"), *more))
    graph.output((node,))
    return torch.fx.GraphModule(root or torch.nn.Module(), graph)


def refused(module):
    with pytest.raises(Unsupported) as error:
        graphs.to_data(module, [X])
    return str(error.value)


def test_modules():
    root = torch.nn.Module()
    root.part = torch.nn.ReLU()
    assert "it calls the module 'part'" in refused(
        graph_of("part", root=root, op="call_module")
    )


def own_function(x):
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        own_function,
        os.getpid,
    ],
    ids=["lambda", "module", "other package"],
)
def test_functions_that_are_not_torchs(function):
    assert "which is no function of torch" in refused(graph_of(function))


def test_graphs_in_graphs():
    def loop(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    module, inputs = capture(loop, X)
    with pytest.raises(Unsupported, match="it has a part of its own, 'cond_true_0'"):
        graphs.to_data(module, inputs)
    inner = graph_of(torch.neg)
    assert "it calls a graph of its own" in refused(graph_of(torch.add, inner))


class Unwritable:
    def __reduce__(self):
        raise ValueError("no")


class Odd(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "value, reason",
    [
        (Unwritable(), "cannot be written: no"),
        (open(os.devnull), "cannot be written"),  # noqa: SIM115
        (X.as_subclass(Odd), "it holds a Odd"),
        (torch.eye(2).to_sparse(), "torch.sparse_coo"),
    ],
    ids=["reduce", "file", "subclass", "sparse"],
)
def test_values(value, reason):
    # A graph would not have most of them.
    nodes = [("call_function", torch.add, (value,), {})]
    with pytest.raises(Unsupported) as error:
        graphs._dump((nodes, []), {})
    assert reason in str(error.value)


@pytest.mark.parametrize("name", ["os.getpid", "subprocess.run", "worlds.mlp", ""])
def test_other_packages_are_not_imported(name):
    with pytest.raises(ImportError):
        graphs._resolve(name)


def test_a_pickle_that_calls_others_is_not_read():
    class Harm:
        def __reduce__(self):
            return os.system, ("echo harm",)

    with pytest.raises(ImportError, match="posix is none of"):
        graphs.from_data(pickle.dumps(Harm()))
    assert isinstance(
        graphs._Unpickler(io.BytesIO(pickle.dumps(torch.Size([1]))), None).load(),
        torch.Size,
    )


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_half_a_file(cut):
    data = graphs.to_data(graph_of(torch.neg), [X])
    with pytest.raises((EOFError, pickle.UnpicklingError)):
        graphs.from_data(data[:cut])
