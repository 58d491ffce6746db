# ===- test_layout.py - Models with channels last -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""--layout=channels-last changes where elements lie, and nothing that is computed."""

import pytest
import torch
from compiled import fastk
from torch import nn
from torch.nn import functional

from fastk import importer
from fastk.library import Library


class Branches(nn.Module):
    """Pads, a pooling, a concatenation, a slice, a squeeze and a residual between
    convolutions."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.left, self.right = nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 3, padding=1)
        self.squeeze = nn.Conv2d(16, 16, 1)
        self.last = nn.Conv2d(12, 5, 3, stride=2, padding=1)

    def forward(self, x):
        x = functional.max_pool2d(self.norm(self.first(x)).relu(), 3, 2, 1)
        both = torch.cat([self.left(x), self.right(x) + x], 1)
        both = both * self.squeeze(both.mean((2, 3), keepdim=True)).sigmoid()
        return self.last(functional.pad(both[:, 2:14], (0, 1, 2, 0))).flatten(1)


class Volumes(nn.Module):
    """Convolutions of three dimensions."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv3d(2, 4, 3, padding=1), nn.Conv3d(4, 3, 2)

    def forward(self, x):
        return self.last(self.first(x).tanh())


MODELS = {"branches": (Branches, (2, 3, 17, 14)), "volumes": (Volumes, (2, 2, 5, 6, 7))}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_the_model(tmp_path, name):
    torch.manual_seed(0)
    make, shape = MODELS[name]
    module, x = make().eval(), torch.randn(shape)
    source = tmp_path / "model.mlir"
    importer.import_module(module, (x,)).write(str(source))
    (tmp_path / "bank").mkdir()
    listed = {}
    for layout in ("as-is", "channels-last"):
        library = tmp_path / f"{layout}.so"
        options = [f"--bank={tmp_path / 'bank'}", f"--layout={layout}", "--emit=so"]
        options += ["--precision=ieee,convolution=tf32", "-o", library]
        options += [f"--list-workloads={tmp_path / layout}.json"]
        fastk("fastk-opt", source, *options)
        with torch.no_grad():
            got = Library(library).bind(module, sidecar=f"{source}.json")(x)
            torch.testing.assert_close(got, module(x), rtol=1e-4, atol=1e-4)
        listed[layout] = (tmp_path / f"{layout}.json").read_text()
    # It was not the same program twice.
    assert listed["as-is"] != listed["channels-last"]
