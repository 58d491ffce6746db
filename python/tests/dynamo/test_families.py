# ===- test_families.py - Whole graphs by families -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""With FASTK_FAMILIES=1 a graph without winners is one op, where that is right and no
slower. Who is faster is decided by decree: the machine has other work."""

import types

import pytest
import torch
from torch import nn
from worlds import (  # noqa: F401
    LOST,
    WON,
    attention,
    compiled,
    fastk_ops,
    home,
    inductor_cache,
    known,
    mlp,
    warned,
    watch,
)

from fastk.dynamo import backend, compiler, duel, explain, families
from fastk.dynamo.errors import Unsupported


@pytest.fixture
def by_families(home, known, monkeypatch):  # noqa: F811
    """A user who has no winners and wants families. Yields what Inductor is given, and
    .result: what each duel ends with."""
    monkeypatch.setenv("FASTK_FAMILIES", "1")
    seen = types.SimpleNamespace(result=WON, held=[])
    # Duels are kept with the graph: each test has its own cache, but for imports.
    monkeypatch.setattr(backend, "compiled", lambda module, inputs, config: module)

    def measure(ours, theirs, clock):
        seen.held.append((ours(), theirs()))
        return seen.result

    monkeypatch.setattr(duel, "measure", measure)
    return watch(monkeypatch, lambda module, inputs, **_: module.forward, seen)


@pytest.mark.parametrize("make", [mlp, attention])
def test_a_model_is_one_op(by_families, make):
    model, (x,) = make()
    with torch.no_grad():
        run = compiled(model, fullgraph=True)
        result, told = warned(lambda: run(x))
        torch.testing.assert_close(result, model(x), rtol=1e-4, atol=1e-4)
        other = torch.randn_like(x)
        torch.testing.assert_close(run(other), model(other), rtol=1e-4, atol=1e-4)
    (module,) = by_families.modules
    assert len(fastk_ops(module)) == 1 and not told
    assert [node.op for node in module.graph.nodes].count("call_function") == 1
    ((ours, theirs),) = by_families.held
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


class Several(nn.Module):
    """Returns two tensors, one of them transposed, and takes one that it does not read."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 32)

    def forward(self, x, unused):
        y = self.linear(x)
        return y.relu(), y.t().exp()


def test_several_results_keep_their_strides(by_families):
    torch.manual_seed(0)
    model, x = Several().eval(), torch.randn(16, 64)
    with torch.no_grad():
        got, wanted = compiled(model)(x, x + 1), model(x, x + 1)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        assert one.stride() == other.stride()
    assert len(fastk_ops(by_families.modules[0])) == 1


class Deep(nn.Module):
    """Takes more tensors than an op of PyTorch's can have arguments."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(40))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x, x.t().exp()


def check_deep(seen):
    torch.manual_seed(0)
    model, x = Deep().eval(), torch.randn(8, 16)
    with torch.no_grad():
        run = compiled(model)
        for value in (x, 2 * x):
            for one, other in zip(run(value), model(value), strict=True):
                torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
                assert one.stride() == other.stride()
    assert len(fastk_ops(seen.modules[-1])) == 1


def test_more_tensors_than_an_op_has_arguments(by_families):
    check_deep(by_families)


def test_more_tensors_by_inductor(home, known, monkeypatch):  # noqa: F811
    """What Inductor makes of it, in the duel and for the user."""
    monkeypatch.setenv("FASTK_FAMILIES", "1")

    def measure(ours, theirs, clock):
        torch.testing.assert_close(ours(), theirs(), rtol=1e-4, atol=1e-4)
        return WON

    monkeypatch.setattr(duel, "measure", measure)
    check_deep(watch(monkeypatch))


def test_a_graph_that_loses_is_inductors(by_families):
    by_families.result = LOST
    model, (x,) = mlp()
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), model(x))
    assert by_families.held and fastk_ops(by_families.modules[0]) == []


def test_a_graph_that_is_wrong_is_inductors(by_families, monkeypatch, caplog):
    caplog.set_level("INFO", "fastk.dynamo.backend")
    compile_text = compiler.compile_text

    def other(text, *arguments, **options):
        # 0.5 x (1 + erf(x / sqrt 2)) with another half.
        assert "5.000000e-01" in text
        return compile_text(text.replace("5.000000e-01", "4.9e-01"), *arguments, **options)

    monkeypatch.setattr(compiler, "compile_text", other)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x))
    assert by_families.held == [] and fastk_ops(by_families.modules[0]) == []
    assert "differs from PyTorch's by" in caplog.text
    assert ["differs from PyTorch's by" in text for text in told] == [True]


def test_nobody_asked(by_families, monkeypatch):
    monkeypatch.setenv("FASTK_FAMILIES", "0")
    monkeypatch.setattr(families, "compile_graph", None)
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)
    assert by_families.held == [] and fastk_ops(by_families.modules[0]) == []


def test_what_cannot_be_compiled_is_inductors(by_families, monkeypatch):
    def fails(*arguments):
        raise ValueError("planted")

    monkeypatch.setattr(families, "compile_graph", fails)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        torch.testing.assert_close(result, model(x))
    assert ["planted" in text for text in told] == [True]


RETURNED = {
    "what it takes": lambda x: (x, x + 1),
    "the same twice": lambda x: ((y := x + 1), y),
    "a view beside what it is of": lambda x: ((y := x + 1), y.t()),
    "a number": lambda x: (x + 1, 3),
    "a part of what it computes": lambda x: ((x + 1)[:, -1],),
    "the same element everywhere": lambda x: ((x[:1] + 1).expand(4, 8),),
}


@pytest.mark.parametrize("name", RETURNED)
def test_other_results(by_families, name):
    """They are PyTorch's, whoever computes them."""
    x = torch.randn(8, 8)
    with torch.no_grad():
        got, wanted = compiled(RETURNED[name])(x), RETURNED[name](x)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other)
    if "view" in name:
        assert got[0].data_ptr() == got[1].data_ptr()


def test_what_is_known_is_neither_compiled_nor_timed_again(by_families, monkeypatch):
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)
        assert len(by_families.held) == 1
        monkeypatch.setattr(compiler, "compile_text", None)
        compiled(model)(x)
        assert len(by_families.held) == 1
        # Of other strides it is timed anew; of other weights it is compared anew.
        compiled(model)(x.t().contiguous().t())
        assert len(by_families.held) == 2
        monkeypatch.setattr(duel, "differs", lambda *_: "planted")
        _, told = warned(lambda: compiled(model)(x))
    assert ["planted" in text for text in told] == [True]
    assert [len(fastk_ops(each)) for each in by_families.modules] == [1, 1, 1, 0]


UNCOMPARED = {
    "nothing finite": lambda x: x / torch.zeros_like(x) + float("nan"),
    "a number too large": lambda x: (x + 1) * float("inf"),
}


@pytest.mark.parametrize("name", UNCOMPARED)
def test_what_cannot_be_compared_is_inductors(by_families, name):
    x = torch.randn(8, 8)
    with torch.no_grad():
        _, told = warned(lambda: compiled(UNCOMPARED[name])(x))
    assert ["nothing can be compared" in text for text in told] == [True]
    assert by_families.held == []


@pytest.mark.parametrize(
    "low, noise, is_kept", [(1.5, 0.2, True), (1.1, 0.2, False), (1.1, 0.04, True)]
)
def test_a_gain_beyond_the_noise_counts(by_families, low, noise, is_kept):
    """Of calls that wait for a busy host; it is measured again in the next process."""
    by_families.result = duel.Result(1e-6, 2e-6, 1.6, low, 1.7, noise=noise)
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)
        compiled(model)(x)
    assert [bool(fastk_ops(each)) for each in by_families.modules] == 2 * [is_kept]
    assert len(by_families.held) == (1 if noise < duel.NOISE else 2)


def test_tf32_is_for_convolutions(by_families):
    """A class that convolutions alone may have loosens nothing without one."""
    from worlds import capture

    from fastk.dynamo import whole

    off = 1e-3
    model, (x,) = mlp()
    for function, is_wrong in (
        (lambda x: model(x), True),
        (lambda x: torch.nn.functional.conv1d(x[None], torch.eye(16)[..., None]), False),
    ):
        module, inputs = capture(function, x)
        with torch.no_grad():
            got = whole.differs(
                module,
                lambda *args, module=module: [(1 + off) * each for each in module(*args)],
                inputs,
                x.device,
                "ieee,convolution=tf32",
            )
        assert bool(got) == is_wrong, got


def test_other_winners_are_another_program(home, monkeypatch):
    from fastk.dynamo.store import Store

    made = []

    def compile_text(text, settings, store, check, winners):
        made.append(winners)
        found = [{"outcome": "instance"}]
        check(found)
        return found, store.keep("programs/d.so", b"code"), "d"

    monkeypatch.setattr(compiler, "compile_text", compile_text)
    miss = {"outcome": "miss", "key": "k", "reason": "no winner"}
    hit = {"outcome": "hit", "key": "k", "reason": "Packed panels"}
    for found, count in (([miss], 1), ([miss], 1), ([hit], 2), ([hit], 2)):
        families.compile_graph("text", found, compiler.Settings("host"), Store())
        assert made == count * ["any,family"]


def test_no_family_serves_anything(home):
    """Of no workload at all."""
    from fastk.dynamo.store import Store

    text = """
    func.func @forward(%a: tensor<4xi32>) -> tensor<4xi32> {
      return %a : tensor<4xi32>
    }
    """
    with pytest.raises(Unsupported, match="no family serves"):
        families.compile_graph(text, [], compiler.Settings("host"), Store())


def test_explained(by_families):
    model, (x,) = mlp()
    with torch.no_grad():
        told = str(explain(model, x))
    assert "as one op" in told and "in the graph's op" in told
