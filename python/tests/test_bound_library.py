# ===- test_bound_library.py - A library called as its module -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Library.bind: weights by name, nothing converted, buffers updated."""

import copy
import json

import pytest
import torch
from compiled import fastk
from torch import nn

from fastk.importer import import_module
from fastk.library import Error, Library


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(6, 5), nn.BatchNorm1d(5)

    def forward(self, x, shift=None, *, pair):
        y = self.norm(self.linear(x))
        return y * pair[0], y + pair[1] if shift is None else y + shift


def inputs():
    torch.manual_seed(3)
    return torch.randn(4, 6), (torch.randn(4, 5), torch.randn(5))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(folder with net.so and its sidecar, a module in training mode)"""
    folder = tmp_path_factory.mktemp("net")
    (folder / "bank").mkdir()
    x, pair = inputs()
    module = Net()
    imported = import_module(module, {"x": x, "pair": pair})
    imported.write(str(folder / "net.mlir"))
    fastk("fastk-opt", folder / "net.mlir", f"--bank={folder / 'bank'}", "--emit=so",
          "-o", folder / "net.so")  # fmt: skip
    return folder, module


def test_it_computes_and_updates_what_the_module_does(built):
    folder, module = built
    x, pair = inputs()
    mine, theirs = copy.deepcopy(module), copy.deepcopy(module)
    bound = Library(folder / "net.so").bind(mine)
    with torch.no_grad():
        for _ in range(2):
            got, want = bound(x=x, pair=pair), theirs(x, pair=pair)
            torch.testing.assert_close(got, want)
        for name, buffer in theirs.named_buffers():
            torch.testing.assert_close(mine.get_buffer(name), buffer)
        # What is loaded later counts.
        theirs.linear.weight.mul_(2)
        mine.load_state_dict(theirs.state_dict())
        torch.testing.assert_close(bound(x, pair=pair), theirs(x, pair=pair))


def test_a_sidecar_without_the_arguments_that_are_updated(built, tmp_path):
    folder, module = built
    described = json.loads((folder / "net.mlir.json").read_text())
    for each in described["results"]:
        each.pop("argument", None)
    (tmp_path / "old.json").write_text(json.dumps(described))
    x, pair = inputs()
    mine, theirs = copy.deepcopy(module), copy.deepcopy(module)
    bound = Library(folder / "net.so").bind(mine, sidecar=tmp_path / "old.json")
    with torch.no_grad():
        torch.testing.assert_close(bound(x=x, pair=pair), theirs(x, pair=pair))
    torch.testing.assert_close(mine.norm.running_mean, theirs.norm.running_mean)
    described["results"][0].update(name="nothing", argument=99)
    (tmp_path / "old.json").write_text(json.dumps(described))
    with pytest.raises(Error, match="which of the .* arguments 'nothing' is that"):
        Library(folder / "net.so").bind(mine, sidecar=tmp_path / "old.json")


def test_a_gradient_is_refused(built):
    folder, module = built
    x, pair = inputs()
    bound = Library(folder / "net.so").bind(copy.deepcopy(module))
    with pytest.raises(Error, match="requires a gradient.*torch.no_grad"):
        bound(x, pair=pair)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bound, x, pair: bound(x), r"takes x, pair\[0\], pair\[1\], not x:"),
        (lambda bound, x, pair: bound(x.double(), pair=pair), "not .4, 6. of torch.float64"),
        (lambda bound, x, pair: bound(x[:2], pair=pair), r"is \(4, 6\) of f32, not \(2, 6\)"),
        (lambda bound, x, pair: bound(x, x, pair=pair), "takes x, pair.*not x, shift"),
    ],
)  # fmt: skip
def test_nothing_is_converted(built, call, message):
    folder, module = built
    bound = Library(folder / "net.so").bind(copy.deepcopy(module))
    with torch.no_grad(), pytest.raises(Error, match=message):
        call(bound, *inputs())


def test_another_module(built):
    with pytest.raises(Error, match="the module has no parameter 'linear.weight'"):
        Library(built[0] / "net.so").bind(nn.Linear(6, 5))


def test_sidecars(built, tmp_path):
    folder, module = built
    library = Library(folder / "net.so")
    library.bind(module, sidecar=folder / "net.mlir.json")
    with pytest.raises(Error, match="No such file.*name it by sidecar="):
        library.bind(module, sidecar=tmp_path / "none.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(Error, match="is none of the importer's files"):
        library.bind(module, sidecar=tmp_path / "list.json")
    (tmp_path / "other.json").write_text('{"arguments": [], "results": []}')
    with pytest.raises(Error, match="is of another model: it has 0 inputs"):
        library.bind(module, sidecar=tmp_path / "other.json")


@pytest.mark.parametrize("form", ['{"tuple": 3}', "9", '{"list":[' * 20000])
def test_a_sidecar_with_a_form_that_is_none(built, tmp_path, form):
    folder, module = built
    text = (folder / "net.mlir.json").read_text().rstrip().removesuffix("}")
    closed = form + "]}" * form.count("[")
    (tmp_path / "form.json").write_text(f'{text}, "returned": {closed}}}')
    with pytest.raises(Error, match="is none of the importer's files"):
        Library(folder / "net.so").bind(module, sidecar=tmp_path / "form.json")


def test_files_that_are_no_library(tmp_path):
    with pytest.raises(Error, match="no such file; fastk-opt --emit=so"):
        Library(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(Error, match="cannot be loaded"):
        Library(tmp_path / "text.so")


def test_a_runtime_that_is_none(built, tmp_path, monkeypatch):
    folder, _ = built
    monkeypatch.setenv("FASTK_RUNTIME", str(tmp_path / "none.so"))
    with pytest.raises(Error, match="FASTK_RUNTIME cannot be loaded: .*none.so"):
        Library(folder / "net.so")
