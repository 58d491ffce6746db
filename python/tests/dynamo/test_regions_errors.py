# ===- test_regions_errors.py - Parts of a graph that must stay -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What cannot be computed at one moment into new memory is no region."""

import operator

import pytest
import torch
from torch.nn import functional
from worlds import capture, nodes_named, workload

from fastk.dynamo import regions
from fastk.dynamo.errors import Unsupported

X = torch.linspace(-1, 1, 12).reshape(3, 4)


def refused(function, *names, inputs=(X,)):
    module, _ = capture(function, *(each.clone() for each in inputs))
    with pytest.raises(Unsupported) as error:
        regions.cut(module, workload(module, *names))
    return str(error.value)


def test_another_takes_what_it_computes_in_between():
    def zigzag(x):
        a = x + 1
        b = a.sin()
        return a * b

    assert refused(zigzag, "a", "mul") == "'b' in between takes what it computes"


def test_no_op():
    module, _ = capture(lambda x: x + 1, X)
    for places in ([], [["elsewhere.py", 1, 0]], [["fastk.node", 1, 0]]):
        with pytest.raises(Unsupported, match="no op of the graph is known to be in it"):
            regions.cut(module, {"places": places, "key": "", "name": "", "reason": ""})


def test_it_takes_nothing():
    def constant(x):
        a = torch.arange(4.0)
        return x + a

    assert refused(constant, "a").startswith("it takes nothing, or nobody")


def test_nobody_takes_it():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.neg, (x,))
    graph.output((x,))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    with pytest.raises(Unsupported, match="or nobody takes what it computes"):
        regions.cut(module, workload(module, "neg"))


def test_values_that_are_no_tensors():
    def split(x):
        a, b = x.split(2, dim=1)
        return a + b

    assert refused(split, "split") == "'split' at its border is no tensor"


def test_sparse_values():
    module, _ = capture(lambda x: (x + 1).exp(), X)
    (node,) = nodes_named(module, "add")
    node.meta["example_value"] = X.to_sparse()
    with pytest.raises(Unsupported, match="'add' at its border is torch.sparse_coo"):
        regions.cut(module, workload(module, "add"))


@pytest.mark.parametrize(
    "function, name",
    [
        (lambda x: x.expand(2, 3, 4) + 1, "expand"),
        (lambda x: x[:, 1:] + 1, "getitem"),
        (lambda x: x.as_strided((3, 2), (4, 3)) + 1, "as_strided"),
        (lambda x: x.diagonal() + 1, "diagonal"),
    ],
)
def test_results_with_gaps_or_overlaps(function, name):
    module, _ = capture(function, X)
    (node,) = (n for n in module.graph.nodes if n.name.startswith(name) and n.users)
    with pytest.raises(Unsupported, match="has gaps or overlaps"):
        regions.cut(module, workload(module, node.name))


def set_item(a, b):
    b[0] = 1.0


CHANGES = [
    lambda a, b: b.add_(1),
    lambda a, b: operator.iadd(b, 1),
    set_item,
    lambda a, b: functional.relu(b, inplace=True),
    lambda a, b: functional.relu(b, True),
    lambda a, b: torch.neg(b, out=b),
    lambda a, b: b[0].zero_(),
    lambda a, b: b.view(-1)[1:].mul_(2),
    lambda a, b: torch.ops.aten.add_.Tensor(b, 1),
    lambda a, b: functional.batch_norm(b, b[0], b[1], training=True),
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_changes_in_between(change):
    def function(x):
        b = x * 3
        first = b.exp()
        change(first, b)
        return first + b.exp()

    module, _ = capture(function, X)
    exps = [node.name for node in module.graph.nodes if node.name.startswith("first")]
    exps += [node.name for node in module.graph.nodes if node.name.startswith("exp")]
    assert len(exps) == 2
    with pytest.raises(Unsupported, match=", which changes a tensor, is in between"):
        regions.cut(module, workload(module, *exps))


HARMLESS = [
    lambda b: torch.flatten(b, 1),
    lambda b: functional.softmax(b, 1),
    lambda b: b.sum(1, True),
    lambda b: functional.scaled_dot_product_attention(b, b, b, is_causal=True),
    lambda b: b.clone().add_(1),
    lambda b: b.split(1, dim=1)[1] * 2,
]


@pytest.mark.parametrize("between", HARMLESS, ids=range(len(HARMLESS)))
def test_no_changes_in_between(between):
    def function(x):
        b = x * 3
        first = b.exp()
        other = between(b)
        return first + b.exp(), other

    module, _ = capture(function, X)
    exps = [
        node.name for node in module.graph.nodes if node.name.startswith(("first", "exp"))
    ]
    # The clone is changed, which nobody of the region sees: still refused, to be safe.
    if any(node.target == "add_" for node in module.graph.nodes):
        with pytest.raises(Unsupported):
            regions.cut(module, workload(module, *exps))
    else:
        assert regions.cut(module, workload(module, *exps)).nodes


def shares(function, *names, inputs=(X,)):
    module, _ = capture(function, *inputs)
    cut = regions.cut(module, workload(module, *names))
    part = regions.subgraph(module, cut)
    return regions.share_memory(part, [regions.value_of(each) for each in cut.inputs])


def test_results_that_share_memory():
    def views(x):
        a = x * 2
        b = a.view(-1)
        return a, b

    assert shares(views, "a", "b")
    assert not shares(views, "a")

    def of_operands(x):
        b = x.view(-1)
        return b + 1

    assert shares(of_operands, "b")

    def unchanged(x):
        a = x.contiguous()
        return a + 1

    assert shares(unchanged, "a")

    def in_place(x):
        a = x * 2
        b = a.add_(1)
        return a.exp(), b.sin()

    assert shares(in_place, "a", "b")


def test_strides_decide_whether_memory_is_shared():
    def contiguous(x):
        a = x.contiguous()
        return a + 1

    assert not shares(contiguous, "a", inputs=(torch.ones(4, 3).t(),))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.vmap(lambda row: row.exp())(x),
        lambda x: torch.func.vmap(torch.func.vmap(torch.sin))(x),
    ],
)
def test_what_has_levels_changes_state(function):
    module, _ = capture(function, X)
    assert any(regions.is_stateful(node) for node in module.graph.nodes)


def test_what_sets_modes_changes_state():
    def modes(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x.t()
        with torch.enable_grad():
            return y + 1

    module, _ = capture(modes, X)
    stateful = [node.name for node in module.graph.nodes if regions.is_stateful(node)]
    assert len(stateful) >= 3, module.graph


def test_ordinary_ops_do_not():
    module, _ = capture(lambda x: functional.softmax(x.exp(), -1)[0].t(), X)
    assert not any(regions.is_stateful(node) for node in module.graph.nodes)
    assert nodes_named(module, "exp")
