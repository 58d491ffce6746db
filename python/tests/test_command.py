# ===- test_command.py - python -m fastk.importer -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command on good input."""

import json
import signal
import subprocess
import sys
import time

from conftest import GOLDEN, GOLDEN_PY, PYTHON

MLP = """
def build():
    return nn.Sequential(nn.Linear(6, 9), nn.GELU()), (torch.randn(4, 6),)
"""


def test_writes_model_and_sidecar(importer, model, tmp_path, parses):
    out = tmp_path / "out.mlir"
    result = importer(model(MLP), "-o", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    parses(out.read_text())
    sidecar = json.loads((tmp_path / "out.mlir.json").read_text())
    assert [a["name"] for a in sidecar["arguments"]] == ["0.weight", "0.bias", "input"]
    written = {p.name for p in tmp_path.iterdir()} - {"model_file.py", "__pycache__"}
    assert written == {"out.mlir", "out.mlir.json"}


def test_stdout_is_the_default(importer, model, parses):
    result = importer(model(MLP), "--quiet")
    assert result.returncode == 0
    assert result.stderr == ""
    parses(result.stdout)


def test_no_sidecar_and_function_name(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    result = importer(model(MLP), "-o", out, "--no-sidecar", "--func-name", "mlp_1")
    assert result.returncode == 0
    assert "func.func @mlp_1(" in out.read_text()
    assert not (tmp_path / "out.mlir.json").exists()


def test_the_command_gives_the_golden_bytes(importer):
    result = importer(f"{GOLDEN_PY}:mlp_small", "--quiet")
    golden = (GOLDEN / "mlp_small.mlir").read_text()
    body = [line for line in golden.splitlines() if not line.startswith("//")]
    assert result.stdout.splitlines() == body


def test_a_model_larger_than_memory(importer, model, parses):
    # 4 TB of weights: only fake tensors can hold them.
    spec = model(
        "def build():\n"
        "    return nn.Linear(1 << 20, 1 << 20), (torch.randn(4, 1 << 20),)\n"
    )
    result = importer(spec, "--quiet")
    assert result.returncode == 0, result.stderr
    parses(result.stdout)


def test_a_model_that_reads_values_falls_back_to_real_tensors(importer, model, parses):
    spec = model(
        "class Rates(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.rates = [r.item() for r in torch.linspace(0, 1, 5)]\n"
        "    def forward(self, x):\n"
        "        return x * self.rates[1]\n"
        "def build():\n"
        "    return Rates(), (torch.randn(3),)\n"
    )
    result = importer(spec, "--quiet")
    assert result.returncode == 0, result.stderr
    parses(result.stdout)
    assert "arith.constant 2.500000e-01 : f32" in result.stdout


def test_a_tensor_attribute_keeps_its_values(importer, model, parses):
    spec = model(
        "class Table(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.table = torch.tensor([2.0, 4.0, 8.0])\n"
        "    def forward(self, x):\n"
        "        return x * self.table\n"
        "def build():\n"
        "    return Table(), (torch.randn(3),)\n"
    )
    result = importer(spec, "--quiet")
    assert result.returncode == 0, result.stderr
    parses(result.stdout)
    assert "dense<[2.000000e+00, 4.000000e+00, 8.000000e+00]>" in result.stdout


def test_neighbours_can_be_imported(importer, model, tmp_path):
    (tmp_path / "neighbour.py").write_text("WIDTH = 7\n")
    spec = model(
        "from neighbour import WIDTH\n"
        "def build():\n"
        "    return nn.ReLU(), (torch.randn(WIDTH),)\n"
    )
    assert "tensor<7xf32>" in importer(spec, "--quiet").stdout


def test_progress_names_the_phase(importer, model):
    spec = model(
        "import time\n"
        "def build():\n"
        "    time.sleep(5)\n"
        "    return nn.ReLU(), (torch.randn(3),)\n"
    )
    result = importer(spec)
    assert f"fastk.importer: {spec}: exporting with torch.export, " in result.stderr
    assert result.stdout.startswith("module {") or "func.func" in result.stdout


def test_interrupt_leaves_130_and_nothing_behind(model, tmp_path):
    spec = model("import time\ndef build():\n    time.sleep(60)\n")
    out = tmp_path / "out.mlir"
    out.write_text("as it was")
    process = subprocess.Popen(
        [sys.executable, "-m", "fastk.importer", spec, "-o", str(out)],
        cwd=PYTHON,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores it, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # The first progress line says that the import is under way.
    assert "fastk.importer" in process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted, nothing was written" in errors
    assert out.read_text() == "as it was"
