# ===- test_import_recurrences.py - LSTM, GRU and RNN as loops -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Recurrences import as loops, and compute what torch computes."""

import pytest
import torch
from compiled import fastk
from torch import nn

from fastk.importer import import_module
from fastk.library import Library

STEPS = 7
MODULES = {
    "lstm": lambda: nn.LSTM(4, 5),
    "lstm_both_ways": lambda: nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True),
    "lstm_without_bias": lambda: nn.LSTM(4, 5, 3, bias=False),
    "gru": lambda: nn.GRU(4, 5, 2),
    "gru_both_ways": lambda: nn.GRU(4, 5, 2, bidirectional=True),
    "gru_without_bias": lambda: nn.GRU(4, 5, bias=False),
    "rnn": lambda: nn.RNN(4, 5, 2, bidirectional=True),
    "rnn_relu": lambda: nn.RNN(4, 5, 2, nonlinearity="relu"),
}


class Flat(nn.Module):
    """Its results in a row; with states of the caller's own, or without."""

    def __init__(self, recurrence):
        super().__init__()
        self.recurrence = recurrence

    def forward(self, x, *states):
        given = states if len(states) == 2 else states[0] if states else None
        y, last = self.recurrence(x, given)
        return (y, *last) if isinstance(last, tuple) else (y, last)


def states(module, batch):
    count = module.num_layers * (2 if module.bidirectional else 1)
    shape = (count, batch, module.hidden_size)
    return [torch.randn(shape) for _ in range(2 if module.mode == "LSTM" else 1)]


def compile_host(module, inputs, folder):
    imported = import_module(module, inputs)
    imported.write(str(folder / "model.mlir"))
    fastk("fastk-opt", folder / "model.mlir", "--emit=so", "-o", folder / "model.so")
    return imported.text, Library(folder / "model.so").bind(module)


@pytest.mark.parametrize("name", MODULES)
def test_a_recurrence_is_a_loop(name, tmp_path):
    torch.manual_seed(5)
    module = MODULES[name]()
    x = torch.randn((3, STEPS, 4) if module.batch_first else (STEPS, 3, 4))
    inputs = (x, *states(module, 3))
    module = Flat(module)
    text, compiled = compile_host(module, inputs, tmp_path)
    layers = module.recurrence.num_layers * (2 if "both" in name or name == "rnn" else 1)
    assert text.count("scf.for") == layers
    with torch.no_grad():
        for got, want in zip(compiled(*inputs), module(*inputs), strict=True):
            torch.testing.assert_close(got, want)


def test_states_that_are_not_given_are_zero(tmp_path):
    torch.manual_seed(6)
    module = Flat(nn.LSTM(4, 5))
    x = torch.randn(STEPS, 3, 4)
    _, compiled = compile_host(module, (x,), tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_types(dtype, tmp_path):
    torch.manual_seed(7)
    module = Flat(nn.GRU(4, 5, 2)).to(dtype)
    x, state = torch.randn(STEPS, 3, 4, dtype=dtype), torch.randn(2, 3, 5, dtype=dtype)
    _, compiled = compile_host(module, (x, state), tmp_path)
    with torch.no_grad():
        for got, want in zip(compiled(x, state), module.double()(x.double(), state.double())):
            share = {torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
            torch.testing.assert_close(got.double(), want, rtol=share, atol=share)


def test_the_text_does_not_grow_with_the_steps():
    def text(steps):
        return import_module(Flat(nn.LSTM(4, 5, 2)), (torch.randn(steps, 3, 4),)).text

    # torch computes each step's shapes: more steps take time, and show no more.
    assert len(text(64)) < 1.1 * len(text(8))


def test_projections_are_written_out():
    """An LSTM with proj_size is left to torch's own decomposition."""
    module = Flat(nn.LSTM(4, 5, proj_size=2))
    assert "scf.for" not in import_module(module, (torch.randn(STEPS, 3, 4),)).text


def plan_for_a_gpu(module, steps, folder):
    """The plan of a model's library, without its numbers."""
    import_module(module, (torch.randn(steps, 3, 4),)).write(str(folder / "m.mlir"))
    fastk("fastk-opt", folder / "m.mlir", "--target=cuda:sm_90a", "--emit=so",
          "-o", folder / "m.so")  # fmt: skip
    library = (folder / "m.so").read_bytes()
    start = library.index(b'{"format": 1')
    return library[start : library.index(b"\0", start)].decode()


@pytest.mark.parametrize("name", ["lstm", "gru_both_ways", "rnn_relu"])
def test_a_gpu_repeats_the_steps(name, tmp_path):
    module = MODULES[name]()
    layers = module.num_layers * (2 if module.bidirectional else 1)
    plans = [plan_for_a_gpu(Flat(module), steps, tmp_path) for steps in (8, 40)]
    assert [plan.count('"repeat"') for plan in plans] == [layers, layers]
    assert plans[0].count('"launch"') == plans[1].count('"launch"')
    assert '"repeat":40' in plans[1]
