# ===- test_backend.py - Models by torch.compile(backend="fastk") -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What torch.compile(backend="fastk") computes is what PyTorch does, by winners.

Their times are made up (spooled.py) and their duels won by decree, but for one test.
"""

import copy

import pytest
import torch
from torch import nn
from worlds import (  # noqa: F401
    LOST,
    attention,
    compiled,
    fastk_ops,
    home,
    inductor_cache,
    known,
    mlp,
    rewritten,
    run_script,
    warned,
    winners,
    with_winners,
)

from fastk.dynamo import backend, duel

#: And of what their programs are.
MODELS = [
    (mlp, ["matmul_bias_gelu", "matmul_bias_add"]),
    (attention, ["attention_causal"]),
]


def close(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def ops_of(seen):
    """fastk's ops in what Inductor was given, which is one graph."""
    (module,) = seen.modules
    return fastk_ops(module)


@pytest.mark.parametrize("make, programs", MODELS, ids=["mlp", "attention"])
def test_a_model(with_winners, make, programs):  # noqa: F811
    model, (x,) = make()
    state = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        run = compiled(model, fullgraph=True)
        result, told = warned(lambda: run(x))
        close(result, model(x))
        names = [name.rsplit("_", 2)[0] for name in ops_of(with_winners)]
        assert names == programs and not told
        # Other values are no reason to compile.
        for value in (torch.randn_like(x), torch.zeros_like(x), 100 * x):
            close(run(value), model(value))
        # Weights are operands.
        model.load_state_dict({name: 0.5 * each for name, each in state.items()})
        close(run(x), model(x))
    assert len(with_winners.modules) == 1


MEMORY = torch.linspace(-1, 1, 5000)

INPUTS = {
    "a row later": lambda: torch.randn(17, 64)[1:],
    "transposed": lambda: torch.randn(64, 16).t(),
    "expanded": lambda: torch.randn(1, 64).expand(16, 64),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_of_any_strides(with_winners, name):  # noqa: F811
    model, _ = mlp()
    with torch.no_grad():
        run = compiled(model)
        for _ in range(2):
            x = INPUTS[name]()
            close(run(x), model(x))
    assert ops_of(with_winners)


def test_a_graph_for_one_alignment_is_given_another(with_winners):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad():
        run = compiled(model)
        close(run(x), model(x))
        shifted = MEMORY[3:1027].view(16, 64)
        close(run(shifted), model(shifted))


def test_in_inference_mode(with_winners):  # noqa: F811
    model, (x,) = mlp()
    with torch.inference_mode():
        close(compiled(model)(x), model(x))
    assert ops_of(with_winners)


def test_deterministic_algorithms(with_winners):  # noqa: F811
    model, (x,) = mlp()
    torch.use_deterministic_algorithms(True)
    try:
        with torch.no_grad():
            run = compiled(model)
            close(run(x), model(x))
            assert torch.equal(run(x), run(x))
    finally:
        torch.use_deterministic_algorithms(False)


class Twice(nn.Module):
    """Returns an input, takes aliases, and has a break in it."""

    def __init__(self):
        super().__init__()
        self.first, _ = mlp()
        self.second = copy.deepcopy(self.first)

    def forward(self, x, same):
        y = self.first(x)
        torch._dynamo.graph_break()
        z = self.second(y)
        return x, z + same, same


def test_breaks_aliases_and_inputs_that_are_returned(rewritten):  # noqa: F811
    model, (x,) = Twice().eval(), mlp()[1]
    with torch.no_grad():
        run = compiled(model)
        for inputs in ((x, x), (x, x.view(16, 64)), (x, x.clone())):
            for one, other in zip(run(*inputs), model(*inputs)):
                close(one, other)
    assert len([names for names in map(fastk_ops, rewritten.modules) if names]) >= 2


def test_layers_are_compiled_once(rewritten, monkeypatch):  # noqa: F811
    from fastk.dynamo import compiler

    made = []
    compile_region = compiler.compile_region

    def record(text, *arguments):
        made.append(text)
        return compile_region(text, *arguments)

    monkeypatch.setattr(compiler, "compile_region", record)
    model = nn.Sequential(*(mlp()[0] for _ in range(4)))
    with torch.no_grad():
        x = torch.randn(16, 64)
        close(compiled(model)(x), model(x))
    names = ops_of(rewritten)
    assert len(names) == 4 * len(set(names)) and len(made) == len(set(names))


def test_a_duel_that_is_held(home, winners, known, monkeypatch):  # noqa: F811
    """Both are compiled and timed. Who wins is not said: the machine has other work."""
    monkeypatch.setenv("FASTK_BANK", str(winners))
    # Nor whether it is too much for a result to be kept.
    monkeypatch.setattr(duel, "NOISE", float("inf"))
    held = []
    measure = duel.measure

    def shorter(ours, theirs, clock):
        for one, other in zip(ours(), theirs()):
            close(one, other)
        held.append(measure(ours, theirs, clock, pairs=3))
        return held[-1]

    monkeypatch.setattr(duel, "measure", shorter)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        close(result, model(x))
    assert len(held) >= 2 and not told
    assert all(each.ours > 0 and each.inductors > 0 for each in held)
    # And is not held again.
    count = len(held)
    with torch.no_grad():
        close(compiled(model)(x), model(x))
    assert len(held) == count


def test_winners_that_lose_are_not_used(rewritten, monkeypatch):  # noqa: F811
    monkeypatch.setenv("FASTK_TORCH_CACHE", str(rewritten.folder / "lost"))
    monkeypatch.setattr(duel, "measure", lambda *arguments: LOST)
    model, (x,) = mlp()
    with torch.no_grad():
        result, told = warned(lambda: compiled(model)(x))
        close(result, model(x))
    assert ops_of(rewritten) == [] and not told


def test_what_the_bank_has_now_counts(rewritten, monkeypatch, tmp_path):  # noqa: F811
    """A winner that comes or goes is seen by the next compilation, caches or not."""
    model, (x,) = mlp()
    names = []
    for bank in (tmp_path / "none", rewritten.bank, tmp_path / "none"):
        monkeypatch.setenv("FASTK_BANK", str(bank))
        rewritten.modules.clear()
        with torch.no_grad():
            close(compiled(model)(x), model(x))
        names.append(ops_of(rewritten))
    assert names[0] == names[2] == [] and len(names[1]) >= 2


SECOND = """
import torch, worlds
from fastk.dynamo import backend, duel
duel.measure = None
backend._importer.text_of = None
from torch._inductor import compile_fx
inductor, seen = compile_fx.compile_fx, []
def record(module, inputs, **options):
    seen.append(module)
    return inductor(module, inputs, **options)
compile_fx.compile_fx = record
model, (x,) = worlds.mlp()
with torch.no_grad():
    result = worlds.compiled(model)(x)
    assert torch.allclose(result, model(x), atol=1e-4)
from torch._dynamo.utils import counters
print(*worlds.fastk_ops(seen[0]))
print(len(seen), counters["inductor"]["fxgraph_cache_hit"])
"""


def test_the_second_process(with_winners):  # noqa: F811
    """It imports and measures nothing, has ops of the same names, and so the graphs that
    Inductor has compiled for the first."""
    model, (x,) = mlp()
    with torch.no_grad():
        compiled(model)(x)
    names, counts = run_script(SECOND).splitlines()
    assert names.split() == ops_of(with_winners)
    assert counts == "1 1"


MODES = [
    ({"mode": "reduce-overhead"}, {"triton.cudagraphs": True}),
    ({"mode": "max-autotune-no-cudagraphs"}, {"max_autotune": True}),
    ({"options": {"epilogue_fusion": False}}, {"epilogue_fusion": False}),
    ({"options": {"epilogue-fusion": False}}, {"epilogue_fusion": False}),
]


@pytest.mark.parametrize("given, patches", MODES, ids=range(len(MODES)))
def test_modes_and_options_are_inductors(rewritten, monkeypatch, given, patches):  # noqa: F811
    """Of what is compiled, and of the duel, which is with Inductor as the user has it."""
    rivals = []

    def record(module, inputs, config):
        rivals.append(config)
        return module

    monkeypatch.setattr(backend, "compiled", record)
    monkeypatch.setattr(duel.Result, "read", lambda store, name: None)
    model, (x,) = mlp()
    with torch.no_grad():
        close(compiled(model, fullgraph=True, **given)(x), model(x))
    (seen,) = rewritten.patches
    assert patches.items() <= seen.items()
    assert ops_of(rewritten)
    assert rivals and all(patches.items() <= each.items() for each in rivals)


def test_options_that_inductor_does_not_have(rewritten):  # noqa: F811
    model, (x,) = mlp()
    with torch.no_grad(), pytest.raises(Exception, match="Unexpected optimization option"):
        compiled(model, options={"no_such": 1})(x)


def test_the_backend_is_registered():
    assert "fastk" in torch._dynamo.list_backends()
