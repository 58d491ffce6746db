# ===- test_import_module.py - The Python API -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""import_module: what the text and the sidecar say for modules of each kind."""

import sys

import pytest
import torch
from torch import nn
from torch_modules import Wrap

from fastk.importer import import_module


def roles(imported):
    return [(a["name"], a["role"]) for a in imported.sidecar["arguments"]]


def test_weights_are_the_first_arguments(parses):
    imported = import_module(nn.Linear(8, 5), (torch.randn(3, 8),), func_name="lin")
    parses(imported.text)
    assert (
        "func.func @lin(%arg0: tensor<5x8xf32>, %arg1: tensor<5xf32>, "
        "%arg2: tensor<3x8xf32>) -> tensor<3x5xf32>"
    ) in imported.text
    assert imported.sidecar == {
        "format": "fastk.import",
        "version": 1,
        "function": "lin",
        "torch": "2.13.0",
        "torch_mlir": "20261001",
        "arguments": [
            {
                "index": 0,
                "name": "weight",
                "role": "parameter",
                "shape": [5, 8],
                "dtype": "f32",
            },
            {
                "index": 1,
                "name": "bias",
                "role": "parameter",
                "shape": [5],
                "dtype": "f32",
            },
            {
                "index": 2,
                "name": "input",
                "role": "input",
                "shape": [3, 8],
                "dtype": "f32",
            },
        ],
        "results": [
            {
                "index": 0,
                "name": "output0",
                "role": "output",
                "shape": [3, 5],
                "dtype": "f32",
            }
        ],
    }


def test_the_caller_never_loads_torch_mlir():
    import_module(nn.ReLU(), (torch.randn(3),))
    assert "torch_mlir" not in sys.modules


def test_the_module_is_left_as_it_was():
    module = nn.BatchNorm2d(4)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    import_module(module, (torch.randn(2, 4, 3, 3),))
    assert module.training
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


def test_updated_buffers_come_first_among_the_results(parses):
    imported = import_module(nn.BatchNorm2d(4), (torch.randn(2, 4, 3, 3),))
    parses(imported.text)
    results = [(r["name"], r["role"]) for r in imported.sidecar["results"]]
    assert results == [
        ("running_mean", "updated"),
        ("running_var", "updated"),
        ("num_batches_tracked", "updated"),
        ("output0", "output"),
    ]


class State(nn.Module):
    """A state that is no buffer, as many recurrences hold one."""

    def __init__(self):
        super().__init__()
        self.hidden = torch.zeros(2, 5)
        self.linear = nn.Linear(8, 5)

    def forward(self, x, first):
        self.hidden.copy_(first)
        self.hidden = torch.tanh(self.linear(torch.cat((x, self.hidden), dim=1)))
        return self.hidden * 2


def test_a_state_that_is_no_buffer(parses):
    imported = import_module(State(), (torch.randn(2, 3), torch.randn(2, 5)))
    parses(imported.text)
    assert ("hidden", "buffer") in roles(imported)
    results = [(r["name"], r["role"]) for r in imported.sidecar["results"]]
    assert results == [("hidden", "updated"), ("output0", "output")]


def test_nested_inputs_and_outputs(parses):
    module = Wrap(lambda x, d: {"sum": x + d["k"][0], "pair": (x, x * 2)})
    imported = import_module(module, (torch.randn(4, 6), {"k": [torch.randn(6)]}))
    parses(imported.text)
    assert roles(imported) == [("input0", "input"), ("input1['k'][0]", "input")]
    assert len(imported.sidecar["results"]) == 3


def test_inputs_by_name():
    class Sub(nn.Module):
        def forward(self, x, y):
            return x - y

    imported = import_module(Sub(), {"y": torch.randn(3, 2), "x": torch.randn(3, 1)})
    named = {a["name"]: a["shape"] for a in imported.sidecar["arguments"]}
    assert named == {"x": [3, 1], "y": [3, 2]}


@pytest.mark.parametrize("number", [3, 3.0, True])
def test_numbers_are_constants_not_arguments(parses, number):
    imported = import_module(Wrap(lambda x, n: x * n), (torch.randn(4), number))
    parses(imported.text)
    assert roles(imported) == [("input0", "input")]
    assert "@forward(%arg0: tensor<4xf32>) -> tensor<4xf32>" in imported.text


def test_a_shared_weight_is_one_argument():
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    second.weight = first.weight
    imported = import_module(nn.Sequential(first, second), (torch.randn(2, 4),))
    assert [name for name, _ in roles(imported)] == [
        "0.weight",
        "0.bias",
        "1.bias",
        "input",
    ]


def test_half_matmul_accumulates_in_f32():
    module = Wrap(torch.matmul)
    a, b = torch.randn(4, 8).half(), torch.randn(8, 2).half()
    text = import_module(module, (a, b)).text
    assert "linalg.matmul ins(" in text and "outs(%1 : tensor<4x2xf32>)" in text


def test_layouts_and_devices_do_not_show():
    strided = torch.randn(6, 4).t()
    meta = torch.empty(4, 6, device="meta")
    module = Wrap(lambda x, y: x + y)
    plain = import_module(module, (torch.randn(4, 6), torch.randn(4, 6)))
    assert import_module(module, (strided, meta)).text == plain.text


def test_constants_are_values_in_the_text(parses):
    class Scaled(nn.Module):
        def forward(self, x):
            return x * torch.tensor([1.5, 2.5, 3.5])

    text = import_module(Scaled(), (torch.randn(3),)).text
    parses(text)
    assert "dense<[1.500000e+00, 2.500000e+00, 3.500000e+00]>" in text
    assert "dense_resource" not in text


def test_large_constants_are_values_too(parses):
    table = torch.arange(300, dtype=torch.float32)
    text = import_module(Wrap(lambda x: x + table), (torch.randn(300),)).text
    parses(text)
    assert table.numpy().tobytes().hex().upper() in text


def test_eval_batch_norm_asserts_nothing():
    text = import_module(nn.BatchNorm2d(4).eval(), (torch.randn(2, 4, 3, 3),)).text
    assert "cf.assert" not in text


def test_reciprocal_does_not_stop_at_zero():
    text = import_module(Wrap(torch.reciprocal), (torch.randn(4),)).text
    assert "cf.assert" not in text and "arith.cmpf" not in text


def test_embedding_keeps_its_bounds_check(parses):
    ids = torch.zeros(3, dtype=torch.int64)
    text = import_module(nn.Embedding(10, 6), (ids,)).text
    parses(text)
    assert "index must be smaller than dim size" in text


def test_norms_stay_in_their_own_type():
    x = torch.randn(2, 6, 5, 5)
    for module in (nn.LayerNorm((6, 5, 5)), nn.GroupNorm(2, 6)):
        assert "xf64>" not in import_module(module, (x,)).text


def test_plain_attention_has_no_scan_for_masked_rows():
    attention = nn.functional.scaled_dot_product_attention
    q = torch.randn(2, 3, 8, 4)
    plain = import_module(Wrap(attention), (q, q, q)).text
    assert "arith.andi" not in plain and "xi1>" not in plain
    mask = torch.ones(8, 8, dtype=torch.bool)
    masked = import_module(
        Wrap(lambda q, m: attention(q, q, q, attn_mask=m)), (q, mask)
    )
    assert "arith.andi" in masked.text


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_types(dtype, parses):
    module = nn.LayerNorm(6, dtype=dtype)
    parses(import_module(module, (torch.randn(3, 6, dtype=dtype),)).text)


def test_the_same_module_gives_the_same_bytes():
    make = lambda: import_module(nn.Linear(8, 5), (torch.randn(3, 8),))  # noqa: E731
    assert make() == make()


def test_write_is_both_files_or_none(tmp_path):
    imported = import_module(nn.ReLU(), (torch.randn(3),))
    imported.write(str(tmp_path / "m.mlir"))
    assert (tmp_path / "m.mlir").read_text() == imported.text
    assert (tmp_path / "m.mlir.json").read_text() == imported.sidecar_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.mlir", "m.mlir.json"]
