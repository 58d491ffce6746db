# ===- test_import_dynamic.py - Sizes that a call decides -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""--dynamic and dynamic_shapes: from the module to a call of what was compiled."""

import pytest
import torch
from compiled import fastk
from torch import nn

from fastk.importer import ImporterError, import_module, lower
from fastk.library import Error, Library


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 5)

    def forward(self, x, more):
        return torch.softmax(self.linear(x) + more[0], 1), more[1] * 2


def test_a_batch_of_any_size(tmp_path, parses):
    module = Pair().eval()
    x, more = torch.randn(4, 6), (torch.randn(4, 5), torch.randn(3))
    imported = import_module(
        module,
        (x, more),
        dynamic_shapes={"x": {0: "batch"}, "more[0]": {0: "batch"}, "more[1]": {0: "n"}},
    )
    parses(imported.text)
    assert "tensor<?x6xf32>, %arg3: tensor<?x5xf32>, %arg4: tensor<?xf32>" in imported.text
    arguments = imported.sidecar["arguments"]
    assert [each["shape"] for each in arguments[2:]] == [[-1, 6], [-1, 5], [-1]]
    assert [each["shape"] for each in imported.sidecar["results"]] == [[-1, 5], [-1]]
    imported.write(str(tmp_path / "pair.mlir"))
    (tmp_path / "bank").mkdir()
    fastk("fastk-opt", tmp_path / "pair.mlir", f"--bank={tmp_path / 'bank'}",
          "--emit=so", "-o", tmp_path / "pair.so")  # fmt: skip
    bound = Library(tmp_path / "pair.so").bind(module)
    for size in (1, 4, 17):
        x, more = torch.randn(size, 6), (torch.randn(size, 5), torch.randn(size + 2))
        with torch.no_grad():
            torch.testing.assert_close(bound(x, more), module(x, more))


class Attention(nn.Module):
    """Linear layers on a batch and a length that are both open."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 4), nn.Linear(4, 4)

    def forward(self, x, y):
        scores = self.left(x) @ self.right(y).transpose(1, 2)
        return torch.softmax(scores, -1)


def test_two_open_sizes_of_one_input(tmp_path):
    module = Attention().eval()
    imported = import_module(
        module,
        (torch.randn(3, 5, 6), torch.randn(3, 7, 4)),
        dynamic_shapes={"x": {0: "b", 1: "n"}, "y": {0: "b", 1: "m"}},
    )
    imported.write(str(tmp_path / "model.mlir"))
    (tmp_path / "bank").mkdir()
    fastk("fastk-opt", tmp_path / "model.mlir", f"--bank={tmp_path / 'bank'}",
          "--emit=so", "-o", tmp_path / "model.so")  # fmt: skip
    bound = Library(tmp_path / "model.so").bind(module)
    with torch.no_grad():
        for b, n, m in ((2, 3, 9), (4, 5, 1), (1, 2, 2)):
            x, y = torch.randn(b, n, 6), torch.randn(b, m, 4)
            torch.testing.assert_close(bound(x, y), module(x, y))
        with pytest.raises(Error, match="size 'b' is 2 in 'x' and 3 in 'y'"):
            bound(torch.randn(2, 5, 6), torch.randn(3, 5, 4))


def test_heads_of_an_open_batch_and_length(tmp_path):
    module = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    imported = import_module(
        module, (torch.randn(3, 5, 8),), dynamic_shapes={"src": {0: "b", 1: "n"}}
    )
    imported.write(str(tmp_path / "model.mlir"))
    (tmp_path / "bank").mkdir()
    fastk("fastk-opt", tmp_path / "model.mlir", f"--bank={tmp_path / 'bank'}",
          "--emit=so", "-o", tmp_path / "model.so")  # fmt: skip
    bound = Library(tmp_path / "model.so").bind(module)
    with torch.no_grad():
        for b, n in ((2, 9), (4, 3)):
            x = torch.randn(b, n, 8)
            torch.testing.assert_close(bound(x), module(x))


def test_sizes_that_torch_mlir_takes_for_one_are_refused():
    text = "%1 = tensor.cast %arg2 : tensor<?x?x6xf32> to tensor<?x1x6xf32>"
    with pytest.raises(ImporterError, match="lowers wrongly: tensor.cast %arg2") as error:
        lower.check_text(text)
    assert "leave fewer sizes" in error.value.remedy
    lower.check_text("%1 = tensor.cast %0 : tensor<?x?x6xf32> to tensor<?x4x6xf32>")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": {0: "batch"}}, "no input 'y'.*the inputs are x, more.0., more.1."),
        ({"x": {2: "batch"}}, "input 'x' has no dimension 2"),
        # The module's weights say how long a row is.
        ({"x": {1: "row"}}, "torch.export fails: .*row"),
    ],
)
def test_what_cannot_be_dynamic(shapes, message):
    inputs = (torch.randn(4, 6), (torch.randn(4, 5), torch.randn(3)))
    with pytest.raises(ImporterError) as error:
        import_module(Pair(), inputs, dynamic_shapes=shapes)
    import re

    assert re.search(message, str(error.value), re.DOTALL), str(error.value)


@pytest.mark.parametrize(
    ("sizes", "shapes", "remedy"),
    [
        ((1, 5), {"input0": {0: "b"}}, "an example of size 2 or more"),
        ((3, 3), {"input0": {0: "a"}, "input1": {0: "b"}}, "give these sizes one name"),
        ((3, 3), {"input0": {0: "a"}}, "leave that size as it is"),
    ],
)
def test_remedies(sizes, shapes, remedy):
    class Sum(nn.Module):
        def forward(self, *both):
            return both[0] + both[1]

    inputs = tuple(torch.randn(size, 5) for size in sizes)
    with pytest.raises(ImporterError) as error:
        import_module(Sum(), inputs, dynamic_shapes=shapes)
    assert remedy in error.value.remedy, error.value


def test_a_size_that_the_module_limits():
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.places = nn.Parameter(torch.randn(16, 4))

        def forward(self, x):
            return x + self.places[: x.shape[0]]

    with pytest.raises(ImporterError, match="<= 16") as error:
        import_module(Positions(), (torch.randn(5, 4),), dynamic_shapes={"x": {0: "n"}})
    assert "the module itself limits that size" in error.value.remedy


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrences_of_any_batch(kind, tmp_path):
    module = kind(4, 5, batch_first=True).eval()
    imported = import_module(
        module, (torch.randn(3, 4, 4),), dynamic_shapes={"input": {0: "b"}}
    )
    imported.write(str(tmp_path / "model.mlir"))
    (tmp_path / "bank").mkdir()
    fastk("fastk-opt", tmp_path / "model.mlir", f"--bank={tmp_path / 'bank'}",
          "--emit=so", "-o", tmp_path / "model.so")  # fmt: skip
    bound = Library(tmp_path / "model.so").bind(module)
    x = torch.randn(6, 4, 4)
    with torch.no_grad():
        torch.testing.assert_close(bound(x), module(x))


MODEL = """
def build():
    return nn.Linear(6, 5), (torch.randn(4, 6),)
"""


def test_the_command(importer, model, parses):
    result = importer(model(MODEL), "--quiet", "--dynamic=input:0=batch")
    assert result.returncode == 0, result.stderr
    parses(result.stdout)
    assert "tensor<?x6xf32>) -> tensor<?x5xf32>" in result.stdout


@pytest.mark.parametrize("text", ["input", "input:x", "input:0=1a", ":0"])
def test_wrong_options(importer, model, text):
    result = importer(model(MODEL), "--quiet", f"--dynamic={text}")
    assert result.returncode == 1
    assert f"--dynamic={text} is not INPUT:DIM[=SIZE]" in result.stderr


class Head(nn.Module):
    """As many rows, or columns, as a tensor says."""

    def forward(self, x, n):
        return x[:n], x[:, :n] * 2


def test_a_slice_whose_size_is_in_a_tensor(tmp_path):
    module, x = Head().eval(), torch.randn(5, 7)
    import_module(module, (x, torch.tensor(2))).write(str(tmp_path / "head.mlir"))
    (tmp_path / "bank").mkdir()
    fastk("fastk-opt", tmp_path / "head.mlir", f"--bank={tmp_path / 'bank'}",
          "--emit=so", "-o", tmp_path / "head.so")  # fmt: skip
    bound = Library(tmp_path / "head.so").bind(module)
    for size in (1, 2, 5):
        n = torch.tensor(size)
        torch.testing.assert_close(bound(x, n), module(x, n))
