# ===- test_backend_passes.py - What fastk leaves to Inductor -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What fastk does not take goes to Inductor as it is, and is said once."""

import pytest
import torch
from torch import nn
from worlds import (  # noqa: F401
    compiled,
    fastk_ops,
    home,
    inductor_cache,
    known,
    mlp,
    rewritten,
    warned,
    winners,
    with_winners,
)


def left(seen, call, reason):
    """The result of a call whose graphs all go to Inductor for this reason."""
    result, told = warned(call)
    assert told == [f"fastk leaves a graph to Inductor: {reason}"]
    assert seen.modules and not any(map(fastk_ops, seen.modules))
    return result


def test_training(with_winners):  # noqa: F811
    model, (x,) = mlp()
    x.requires_grad_()
    run = compiled(model)
    result = left(
        with_winners,
        lambda: run(x),
        "it is trained, or run without torch.no_grad(); fastk's programs have no gradients",
    )
    result.square().sum().backward()
    got = [each.grad.clone() for each in (x, *model.parameters())]
    model.zero_grad()
    x.grad = None
    model(x).square().sum().backward()
    for one, other in zip(got, (x, *model.parameters())):
        torch.testing.assert_close(one, other.grad, rtol=1e-4, atol=1e-4)


def test_training_and_then_inference(rewritten):  # noqa: F811
    model, (x,) = mlp()
    run = compiled(model)
    warned(lambda: run(x))
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x), rtol=1e-4, atol=1e-4)
    assert [bool(fastk_ops(each)) for each in rewritten.modules] == [False, True]
    # And what was compiled for inference is not called in training.
    assert run(x).requires_grad


def test_frozen_weights_need_no_context(rewritten):  # noqa: F811
    model, (x,) = mlp()
    model.requires_grad_(False)
    torch.testing.assert_close(compiled(model)(x), model(x), rtol=1e-4, atol=1e-4)
    assert fastk_ops(rewritten.modules[0])


def test_dynamic_sizes(rewritten):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad():
        run = compiled(model, dynamic=True)
        reason = "it has sizes that a call decides"
        torch.testing.assert_close(left(rewritten, lambda: run(x), reason), model(x))


def test_another_batch_is_dynamic(rewritten):  # noqa: F811
    """What Dynamo makes of a second size; the first stays as it is."""
    model, (x,) = mlp()
    with torch.no_grad():
        run = compiled(model)
        run(x)
        assert fastk_ops(rewritten.modules.pop())
        more = torch.randn(24, 64)
        reason = "it has sizes that a call decides"
        result = left(rewritten, lambda: run(more), reason)
        torch.testing.assert_close(result, model(more))
        again = torch.randn(32, 64)
        torch.testing.assert_close(run(again), model(again))
        torch.testing.assert_close(run(x), model(x), rtol=1e-4, atol=1e-4)


class Odd(torch.Tensor):
    pass


def test_subclasses(rewritten):  # noqa: F811
    with torch.no_grad():
        x = torch.ones(4).as_subclass(Odd)
        run = compiled(lambda x: x * 2 + 1)
        result = left(rewritten, lambda: run(x), "it takes a Odd")
    assert torch.equal(result.as_subclass(torch.Tensor), torch.full((4,), 3.0))


def test_autocast_around(rewritten):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        run = compiled(model)
        reason = "autocast is on, which decides types by itself"
        result, wanted = left(rewritten, lambda: run(x), reason), model(x)
    torch.testing.assert_close(result, wanted, rtol=0.1, atol=0.1)
    assert result.dtype == wanted.dtype


def inside(context):
    def function(x):
        with context():
            y = x @ x.t()
        return y + 1

    return function


CONTEXTS = [
    lambda: torch.autocast("cpu", torch.bfloat16),
    lambda: torch.set_grad_enabled(True),
    torch.enable_grad,
]


@pytest.mark.parametrize("context", CONTEXTS, ids=range(len(CONTEXTS)))
def test_contexts_inside(rewritten, context):  # noqa: F811
    function, x = inside(context), torch.randn(8, 8)
    reason = "it changes torch's state: autocast, or whether it has gradients"
    with torch.no_grad():
        run = compiled(function)
        result = left(rewritten, lambda: run(x), reason)
        torch.testing.assert_close(result, function(x))


def test_autocast_that_is_disabled_is_no_context(rewritten):  # noqa: F811
    """As in rotary embeddings, between the nodes of a region, too."""
    model, (x,) = mlp()

    @torch.no_grad()
    def embed(x):
        with torch.autocast("cpu", enabled=False):
            return x.float().cos()

    def function(x):
        up = model.up(x)
        angles = embed(x)
        return torch.nn.functional.gelu(up), angles

    with torch.no_grad():
        result, told = warned(lambda: compiled(function)(x))
        for one, other in zip(result, function(x)):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        assert not torch.is_autocast_enabled("cpu")
    (module,) = rewritten.modules
    assert not told and len(fastk_ops(module)) == 1
    assert any("_exit_autocast" in node.name for node in module.graph.nodes)


def test_vmap(rewritten):  # noqa: F811
    def function(x):
        return torch.vmap(lambda row: (row @ x).exp())(x)

    x = torch.randn(4, 4)
    with torch.no_grad():
        run = compiled(function)
        result, told = warned(lambda: run(x))
        torch.testing.assert_close(result, function(x))
    assert len(told) == 1 and not any(map(fastk_ops, rewritten.modules))


def test_another_default_type(rewritten):  # noqa: F811
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            x = torch.ones(3)
            run = compiled(lambda x: x + torch.full((3,), 0.1))
            reason = "the default type is not float32"
            result = left(rewritten, lambda: run(x), reason)
        assert result.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_no_tensors(rewritten):  # noqa: F811
    with torch.no_grad():
        run = compiled(lambda: torch.arange(4) * 2)
        result = left(rewritten, run, "its inputs are not all tensors")
    assert result.tolist() == [0, 2, 4, 6]


def test_what_cannot_be_imported(rewritten):  # noqa: F811
    x = torch.eye(3) + 1
    with torch.no_grad():
        run = compiled(lambda x: torch.linalg.eigvals(x).real.sum())
        result, told = warned(lambda: run(x))
    torch.testing.assert_close(result, torch.tensor(6.0))
    assert len(told) == 1 and "it cannot be imported: " in told[0]


def test_inputs_that_are_changed(rewritten):  # noqa: F811
    def function(x):
        x.add_(1)
        return x * 2

    x = torch.ones(3)
    with torch.no_grad():
        run = compiled(function)
        result = left(
            rewritten, lambda: run(x), "it cannot be imported: it writes into its inputs"
        )
    assert torch.equal(x, torch.full((3,), 2.0)) and torch.equal(result, 2 * x)


class Broken(nn.Module):
    """Several graphs, none of which can be imported."""

    def forward(self, x):
        x = torch.linalg.eigvals(x).real.diag() + 1
        torch._dynamo.graph_break()
        return torch.linalg.eigvals(x).real.sum()


def test_it_is_said_once(rewritten):  # noqa: F811
    with torch.no_grad():
        run = compiled(Broken())
        _, told = warned(lambda: run(torch.eye(3)))
        assert len(rewritten.modules) >= 2 and len(told) == 1
        # Another reason is said, too.
        run = compiled(lambda x: x + 1, dynamic=True)
        _, told = warned(lambda: run(torch.ones(3)))
        assert len(told) == 1


def test_results_are_as_they_were(rewritten):  # noqa: F811
    """Their strides, and that they are inputs or views of them."""

    def function(x):
        y = torch.exp(x).t()
        return y, x, x[1:], y[0]

    x = torch.randn(3, 4)
    with torch.no_grad():
        for one, other in zip(compiled(function)(x), function(x)):
            assert torch.equal(one, other) and one.stride() == other.stride()
