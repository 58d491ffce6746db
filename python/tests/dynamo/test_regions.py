# ===- test_regions.py - Parts of a graph, cut out and replaced -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What is cut computes what its nodes did, and what replaces it does, too.

Here PyTorch's own functions stand for programs: the op of a region interprets it.
"""

import itertools

import pytest
import torch
from torch.nn import functional
from worlds import capture, nodes_named, workload

from fastk.dynamo import regions

_library = torch.library.Library("fastk_test", "DEF")
_count = itertools.count()

X = torch.linspace(-1, 1, 12).reshape(3, 4)


def op_of(part):
    """An op that does what a GraphModule does."""
    name, count = f"part{next(_count)}", len(part.graph.find_nodes(op="placeholder"))
    results = len(part.graph.output_node().args[0])
    arguments = ", ".join(f"Tensor a{n}" for n in range(count))
    returned = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    _library.define(f"{name}({arguments}) -> {returned}")

    def call(*inputs):
        found = tuple(part(*inputs))
        return found[0] if results == 1 else found

    _library.impl(name, call, "CompositeExplicitAutograd")
    return getattr(torch.ops.fastk_test, name).default


def replaced(module, *parts):
    """The graph with an op for each of `parts`, names of nodes each."""
    cuts = [regions.cut(module, workload(module, *names)) for names in parts]
    return regions.replace_all(
        module, [(cut, op_of(regions.subgraph(module, cut))) for cut in cuts]
    )


def calls_of(module):
    return [
        str(node.target) for node in module.graph.nodes if "fastk_test" in str(node.target)
    ]


def block(x, y):
    up = functional.linear(x, y)
    act = functional.gelu(up)
    down = act @ y
    return down + x, act


def test_what_is_cut():
    module, _ = capture(block, X, torch.ones(5, 4))
    cut = regions.cut(module, workload(module, "act", "down"))
    assert cut.nodes == nodes_named(module, "act", "down")
    # In the order of their first use, each once.
    assert [node.name for node in cut.inputs] == ["up", "l_y_"]
    # What others take: the graph's end among them.
    assert cut.outputs == nodes_named(module, "act", "down")
    assert (cut.key, cut.name) == ("k" * 64, "planted")


def test_a_place_that_is_no_call_is_no_part():
    module, _ = capture(block, X, torch.ones(5, 4))
    found = workload(module, "l_x_", "up", "act", "output")
    found["places"] += [["elsewhere.py", 1, 0], ["fastk.node", 1000, 0]]
    cut = regions.cut(module, found)
    assert cut.nodes == nodes_named(module, "up", "act")


def test_a_part_by_itself():
    module, _ = capture(block, X, torch.ones(5, 4))
    cut = regions.cut(module, workload(module, "act", "down"))
    part = regions.subgraph(module, cut)
    up, y = torch.randn(3, 5), torch.ones(5, 4)
    act, down = part(up, y)
    torch.testing.assert_close(act, functional.gelu(up))
    torch.testing.assert_close(down, functional.gelu(up) @ y)
    assert all("example_value" in node.meta for node in part.graph.nodes
               if node.op != "output")  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [
        [["up"]],
        [["up", "act"]],
        [["act", "down"]],
        [["up"], ["act"], ["down", "add"]],
        [["down", "add"], ["up", "act"]],
        [["add"], ["down"], ["act"], ["up"]],
        [["up", "act", "down", "add"]],
    ],
)
def test_what_replaces_it(parts):
    """In any order: where one feeds the other, and where one has several results."""
    y = torch.randn(5, 4)
    module, inputs = capture(block, X, y)
    text = str(module.graph)
    new = replaced(module, *parts)
    assert len(calls_of(new)) == len(parts)
    for one, other in zip(new(*inputs), module(*inputs)):
        assert torch.equal(one, other)
    assert str(module.graph) == text
    left = {"up", "act", "down", "add"} - set(itertools.chain(*parts))
    assert {node.name for node in new.graph.nodes} & {"up", "act", "down", "add"} == left


def two_ends(x):
    a = x + 1
    b = x * 2
    c = a - b
    return a, b, c, c.sum()


def test_several_results_feed_another_part():
    module, inputs = capture(two_ends, X)
    new = replaced(module, ["a", "b"], ["c", "sum_1"])
    assert len(calls_of(new)) == 2
    for one, other in zip(new(*inputs), two_ends(X)):
        assert torch.equal(one, other)


def test_what_dynamo_knows_stays():
    module, inputs = capture(block, X, torch.ones(5, 4))
    module.meta["mine"] = module.mine = 3
    new = replaced(module, ["up", "act"])
    assert new.meta["mine"] == new.mine == 3
    for one, other in zip(module.graph.nodes, new.graph.nodes):
        if one.op == "placeholder":
            assert one.name == other.name and one.meta == other.meta
            assert one._dynamo_source is other._dynamo_source
    named = {node.name: node for node in new.graph.nodes}
    for node in module.graph.nodes:
        if node.name in ("down", "add"):
            assert named[node.name].meta == node.meta
    (call,) = (node for node in new.graph.nodes if "fastk_test" in str(node.target))
    (act,) = nodes_named(module, "act")
    assert call.meta["example_value"] is act.meta["example_value"]


def test_parts_in_a_graph_with_tensors_of_its_own():
    root = torch.nn.Module()
    root.register_buffer("table", torch.arange(4.0))
    graph = torch.fx.Graph()
    x, table = graph.placeholder("x"), graph.get_attr("table")
    total = graph.call_function(torch.add, (x, table))
    graph.output((graph.call_function(torch.neg, (total,)),))
    module = torch.fx.GraphModule(root, graph)
    for node, value in ((x, X), (table, root.table), (total, X), (graph.output_node().args[0][0], X)):  # fmt: skip
        node.meta["example_value"] = value
    cut = regions.cut(module, workload(module, "add", "table"))
    assert cut.nodes == [total] and cut.inputs == [x, table]
    (result,) = replaced(module, ["add"])(X)
    assert torch.equal(result, -(X + root.table))


def in_place(x):
    a = x * 2
    a += 1
    b = a.relu_()
    return b - 1


def test_changes_inside_a_part():
    module, inputs = capture(in_place, X)
    cut = regions.cut(module, workload(module, "a", "a_1", "b"))
    values = [regions.value_of(node) for node in cut.inputs]
    part = regions.subgraph(module, cut)
    assert not regions.share_memory(part, values)
    assert torch.equal(part(X)[0], (X * 2 + 1).relu())
    (result,) = replaced(module, ["a", "a_1", "b"])(*inputs)
    assert torch.equal(result, in_place(X))


LAYOUTS = [
    lambda x: (x + 1).t(),
    lambda x: torch.ones(2, 3, 4, 5).mul(x[0, 0]).permute(3, 0, 2, 1),
    lambda x: x.reshape(1, 3, 2, 2).to(memory_format=torch.channels_last) + 1,
    lambda x: (x * 2).reshape(3, 1, 4).transpose(0, 1),
    lambda x: (x * 2).t()[:0],
    lambda x: x.sum(),
]


@pytest.mark.parametrize("function", LAYOUTS, ids=range(len(LAYOUTS)))
def test_results_have_the_strides_that_they_had(function):
    """Who takes views of them has been traced with these."""

    def both(x):
        y = function(x)
        return y.permute(tuple(reversed(range(y.dim())))), y

    module, inputs = capture(both, X)
    calls = [n.name for n in module.graph.nodes if n.op not in ("placeholder", "output")]
    new = replaced(module, [name for name in calls[:-1] if "ones" not in name])
    assert len(calls_of(new)) == 1
    values = [regions.value_of(node) for node in new.graph.output_node().args[0]]
    for one, other, value in zip(new(*inputs), both(X), values, strict=True):
        assert torch.equal(one, other)
        kept = [n for n, size in enumerate(one.shape) if size != 1 and one.numel()]
        for stride in (one.stride(), value.stride()):
            assert [stride[n] for n in kept] == [other.stride()[n] for n in kept]


def test_a_graph_that_calls_one_op():
    graph = regions.graph_of(torch.ops.aten.add.Tensor, 2, [X])
    assert torch.equal(graph(X, X)[0], X + X)
    like = [torch.empty(3), torch.empty(3)]
    values, places = regions.graph_of(torch.ops.aten.max.dim, 2, like)(X, 1)
    assert torch.equal(values, X.max(1).values) and torch.equal(places, X.max(1).indices)
    (turned,) = regions.graph_of(torch.ops.aten.neg.default, 1, [torch.empty(4, 3).t()])(X)
    assert torch.equal(turned, -X) and turned.stride() == (1, 3)


def masked(x, y):
    mask = torch.ones(4, 4).tril()
    first = torch.exp(x * mask)
    second = torch.sin(y * mask)
    return first.sum(), second.sum()


def test_constants_are_computed_where_they_are_needed():
    """They have no places: another part may take them, too."""
    module, inputs = capture(masked, torch.ones(4, 4), torch.ones(4, 4))
    first = [n.name for n in module.graph.nodes if n.name.startswith(("mul", "first"))]
    found = workload(module, first[0], "first")
    alone, whole = (cut() for cut in regions.cuts(module, found))
    assert [node.name for node in alone.inputs] == ["l_x_", "mask"] and not alone.constants
    assert [node.name for node in whole.inputs] == ["l_x_"]
    assert [node.op for node in whole.constants] == ["call_function", "call_method"]
    part = regions.subgraph(module, whole)
    assert torch.equal(part(X.mm(X.t())[:1, :1].expand(4, 4))[0].triu(1), torch.ones(4, 4).triu(1))
    new = regions.replace_all(module, [(whole, op_of(part))])
    for one, other in zip(new(*inputs), module(*inputs)):
        assert torch.equal(one, other)
    assert "mask" in {node.name for node in new.graph.nodes}


def test_without_constants_there_is_one_cut():
    module, _ = capture(block, X, torch.ones(5, 4))
    assert len(list(regions.cuts(module, workload(module, "up")))) == 1
