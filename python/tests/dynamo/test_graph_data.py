# ===- test_graph_data.py - Graphs of Dynamo as data -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A graph that was written and read computes the same, and equal graphs are equal bytes."""

import operator
import os

import pytest
import torch
from torch.nn import functional
from worlds import capture, run_script

from fastk.dynamo import graphs

TABLE = torch.arange(12.0).reshape(3, 4)


def in_place(x):
    y = x * 2
    y += 1
    y[1:, 0] = 3.0
    return functional.relu(y.neg(), inplace=True).add_(y)


def no_tensor_arguments(x):
    steps = torch.arange(x.shape[0], dtype=torch.float32, device=x.device)
    return x + steps[:, None] + torch.full((4,), 2.5, dtype=torch.float32)


def slices(x):
    return x[..., 1::2], x[None, :, -1], x[:, [0, 2]]


def types_and_devices(x):
    half = x.to(torch.float16).to(device="cpu", dtype=torch.float64)
    return half, x.to("cpu"), torch.zeros(3, dtype=torch.int32, device="cpu")


def tuples(x):
    values, indices = x.max(dim=1)
    first, *rest = x.split(1, dim=1)
    return values, indices, first, rest[-1], torch.topk(x, 2, sorted=True).values


def attributes_of_tensors(x):
    return x.T @ x, x.mT.real, x.unsqueeze(0).shape[0] * x


def keywords(x):
    weight = torch.ones(4)
    return functional.layer_norm(x, (4,), weight=weight, eps=1e-3), torch.sum(x, dim=(0, 1))


def overloads(x):
    return torch.ops.aten.add.Tensor(x, x, alpha=3), torch.ops.aten.relu(x)


def memory_formats(x):
    return x.reshape(1, 1, 3, 4).contiguous(memory_format=torch.channels_last)


def numbers(x):
    return x * float("inf"), x + float("nan"), x.to(torch.complex64) * (1 + 2j)


FUNCTIONS = [
    in_place, no_tensor_arguments, slices, types_and_devices, tuples,
    attributes_of_tensors, keywords, overloads, memory_formats, numbers,
]  # fmt: skip


def written_and_read(module, inputs):
    numbered, described = graphs.from_data(graphs.to_data(module, inputs))
    assert described == [(tuple(each.shape), each.dtype) for each in inputs]
    return numbered


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_it_computes_the_same(function):
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    module, inputs = capture(function, x.clone())
    got = written_and_read(module, inputs)(x.clone())
    wanted = module(x.clone())
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


CONSTANTS = [
    TABLE, TABLE.t(), TABLE[1:, ::2], TABLE.bool(), TABLE.to(torch.bfloat16),
    TABLE.to(torch.int8), TABLE.to(torch.complex64).conj(), torch.tensor(3.0),
    torch.empty(0, 4), torch.nn.Parameter(TABLE), TABLE[:1].expand(3, 4),
    torch.imag(TABLE.to(torch.complex64).conj()),
]  # fmt: skip


@pytest.mark.parametrize("constant", CONSTANTS, ids=range(len(CONSTANTS)))
def test_tensors_that_a_graph_has(constant):
    root = torch.nn.Module()
    root.part = torch.nn.Module()
    root.part.table = constant
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    table = graph.get_attr("part.table")
    graph.output((graph.call_function(torch.mul, (table, x)), table))
    module = torch.fx.GraphModule(root, graph)
    (product, same) = written_and_read(module, [torch.ones(())])(torch.ones(()))
    assert same.dtype == constant.dtype and same.shape == constant.shape
    assert torch.equal(same, constant.detach().resolve_neg())
    assert torch.equal(product, constant * torch.ones(()))


def test_a_node_says_its_place():
    module, inputs = capture(lambda x: (x + 1).relu(), torch.ones(2))
    numbered = written_and_read(module, inputs)
    traces = [node.meta["stack_trace"].strip() for node in numbered.module.graph.nodes]
    assert traces == [f'File "fastk.node", line {n}, in forward' for n in range(1, 5)]


def digest_of(function, *inputs):
    return graphs.digest(graphs.to_data(*capture(function, *inputs)))


X = torch.ones(3, 4)


@pytest.mark.parametrize(
    "other",
    [
        (lambda x: x * 2.5 + 1, X),
        (lambda x: x * 2 + 2, X),
        (lambda x: x * 2 - 1, X),
        (lambda x: 1 + x * 2, X),
        (lambda x: x * 2 + 1, torch.ones(4, 3)),
        (lambda x: x * 2 + 1, torch.ones(3, 4, 1)),
        (lambda x: x * 2 + 1, X.half()),
        (lambda x: x * 2 + True, X),
        (lambda x: (x * 2 + 1, x * 3), X),
    ],
)
def test_what_differs_has_another_digest(other):
    assert digest_of(lambda x: x * 2 + 1, X) != digest_of(*other)


def with_constant(table):
    root = torch.nn.Module()
    root.table = table
    graph = torch.fx.Graph()
    graph.output((graph.call_function(operator.add, (graph.placeholder("x"),
                                                     graph.get_attr("table"))),))  # fmt: skip
    return graphs.to_data(torch.fx.GraphModule(root, graph), [X])


def test_the_values_of_constants_count():
    assert with_constant(TABLE) == with_constant(TABLE.clone())
    assert with_constant(TABLE) == with_constant(TABLE.t().contiguous().t())
    assert with_constant(TABLE) != with_constant(TABLE + 1)
    assert with_constant(TABLE) != with_constant(TABLE.double())
    assert with_constant(TABLE) != with_constant(TABLE.reshape(12))


def test_names_of_inputs_and_values_and_objects_do_not():
    def one(x, y):
        return x * 2 + y

    def two(weight, bias):
        product = weight * 2
        return product + bias

    assert digest_of(one, X, X + 1) == digest_of(two, X, X + 1)
    # Sizes that are one object, or two.
    size = (3, 4)
    assert digest_of(lambda x: (x.reshape(size), x.expand(size)), X) == digest_of(
        lambda x: (x.reshape((3, 4)), x.expand((3, 4))), X
    )


def test_two_processes_write_the_same(tmp_path):
    # The other's own module has a type of torch's by name, and comes before torch.
    (tmp_path / "usertypes.py").write_text("from torch import float16\n")
    text = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import usertypes
from test_graph_data import FUNCTIONS, TABLE, digest_of, with_constant
from fastk.dynamo import graphs
for function in FUNCTIONS:
    print(digest_of(function, TABLE))
print(graphs.digest(with_constant(TABLE)))
"""
    mine = [digest_of(function, TABLE) for function in FUNCTIONS]
    mine.append(graphs.digest(with_constant(TABLE)))
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    assert run_script(text, PYTHONHASHSEED=seed).split() == mine
