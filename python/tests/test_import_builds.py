# ===- test_import_builds.py - How a module is built -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Functions that read values, train or leave weights open while they build."""

import json

import pytest
import torch
from torch import nn

from fastk.importer import ImporterError, import_module

#: name: (file body, whether fake tensors serve)
BUILDS = {
    "item": (
        """
def build():
    rates = [rate.item() for rate in torch.linspace(0.1, 0.4, 2)]
    return nn.Sequential(nn.Linear(6, 4), nn.Hardtanh(-rates[1], rates[1])), (torch.randn(3, 6),)
""",
        False,
    ),
    "numpy": (
        """
def build():
    module = nn.Linear(6, 4)
    module.weight.data = torch.from_numpy(module.weight.detach().numpy() * 2)
    return module, (torch.randn(3, 6),)
""",
        False,
    ),
    "saved": (
        """
import io
def build():
    module, file = nn.Linear(6, 4), io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    module.load_state_dict(torch.load(file))
    return module, (torch.randn(3, 6),)
""",
        False,
    ),
    "trained": (
        """
def build():
    module = nn.Linear(6, 4)
    step = torch.optim.SGD(module.parameters(), 0.1)
    module(torch.randn(2, 6)).sum().backward()
    step.step()
    return module, (torch.randn(3, 6),)
""",
        True,
    ),
    "lazy": (
        """
def build():
    return nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).eval(), (torch.randn(3, 6),)
""",
        False,
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_build(name, importer, model, tmp_path, parses):
    body, fake = BUILDS[name]
    out = tmp_path / "out.mlir"
    result = importer(model(body), "-o", out)
    assert result.returncode == 0, result.stderr
    parses(out.read_text())
    arguments = json.loads((tmp_path / "out.mlir.json").read_text())["arguments"]
    assert [4, 6] in [
        each["shape"] for each in arguments if each["role"] == "parameter"
    ]
    said = [line for line in result.stderr.splitlines() if "real tensors" in line]
    # Once, and with the reason.
    if fake is not None:
        assert len(said) == (0 if fake else 1), result.stderr
    assert all("real tensors (" in line for line in said)


def test_an_error_of_both_attempts_is_that_of_torch_itself(importer, model, tmp_path):
    body = """
def build():
    weight = nn.Linear(6, 4).weight.detach().numpy()
    return weight.no_such_name
"""
    result = importer(model(body), "-o", tmp_path / "out.mlir")
    assert result.returncode == 1
    assert "model_file.py:7: error: 'build' raises AttributeError" in result.stderr
    assert "no_such_name" in result.stderr


@pytest.mark.parametrize(
    ("line", "kind", "calls"),
    [
        ("width + 1", "NameError", 1),
        ("import no_such_package", "ModuleNotFoundError", 1),
        ("from torch import no_such_name", "ImportError", 1),
        ("eval('1 +')", "SyntaxError", 1),
        # Of fake tensors, for all that is known.
        ("raise ValueError('no number')", "ValueError", 2),
    ],
)
def test_no_second_call_where_real_tensors_change_nothing(
    importer, model, tmp_path, line, kind, calls
):
    body = f"""
def build():
    with open({str(tmp_path / "calls")!r}, "a") as file:
        file.write("called\\n")
    {line}
"""
    result = importer(model(body), "-o", tmp_path / "out.mlir")
    assert result.returncode == 1
    assert f"model_file.py:8: error: 'build' raises {kind}" in result.stderr
    assert ("real tensors" in result.stderr) == (calls == 2)
    assert (tmp_path / "calls").read_text() == "called\n" * calls


def test_a_model_that_only_fake_tensors_hold_keeps_its_own_error(
    importer, model, tmp_path
):
    body = """
def build():
    module = nn.Linear(1 << 22, 1 << 22)
    return module.no_such_name
"""
    result = importer(model(body), "-o", tmp_path / "out.mlir")
    assert result.returncode == 1
    assert "model_file.py:7: error: 'build' raises AttributeError" in result.stderr


def test_quiet_says_nothing(importer, model, tmp_path):
    body, _ = BUILDS["item"]
    result = importer(model(body), "-o", tmp_path / "out.mlir", "--quiet")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_lazy_module_of_the_caller_stays_lazy():
    module = nn.LazyLinear(4)
    imported = import_module(module, (torch.randn(3, 6),))
    assert "tensor<4x6xf32>" in imported.text
    assert module.has_uninitialized_params()


def test_a_lazy_module_that_fails():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.LazyLinear(4)

        def forward(self, x):
            return self.linear(x) + x

    with pytest.raises(
        ImporterError, match="its first call, which makes its weights"
    ) as e:
        import_module(Wrong(), (torch.randn(3, 6),))
    assert "runs in PyTorch itself" in e.value.remedy
