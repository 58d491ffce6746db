# ===- test_import_errors.py - What bad input gets -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Every error path: the cause, the place and the remedy; nothing half-written."""

import os

import pytest
import torch
from conftest import python
from torch import nn

from fastk.importer import ImporterError, import_module, lower

# name: (file body, what stderr must hold, line of the file named or None)
BAD_FILES = {
    "syntax": ("def build(:\n", ["cannot read the file", "model_file.py:4"]),
    "raises_on_load": (
        "1 / 0\n",
        ["fails when it is loaded: ZeroDivisionError", "model_file.py:4"],
    ),
    "no_function": (
        "def biuld():\n    pass\n",
        ["has no function 'build'", "did you mean 'biuld'?"],
    ),
    "not_callable": ("build = 3\n", ["'build'", "is not a function but int"]),
    "wants_arguments": (
        "def build(size):\n    pass\n",
        ["'build' raises TypeError", "called without arguments"],
    ),
    "raises": (
        "def build():\n    raise ValueError('no such size')\n",
        ["'build' raises ValueError: no such size", "model_file.py:5"],
    ),
    "returns_nothing": (
        "def build():\n    nn.ReLU()\n",
        ["returns None (is a return missing?)", "(module, example_inputs)"],
    ),
    "returns_one": (
        "def build():\n    return nn.ReLU()\n",
        ["returns an object of type ReLU", "(module, example_inputs)"],
    ),
    "returns_three": (
        "def build():\n    return nn.ReLU(), 1, 2\n",
        ["returns a tuple of 3: (ReLU, int, int)"],
    ),
    "no_module": (
        "def build():\n    return F.relu, (torch.randn(3),)\n",
        ["as module an object of type function", "wrap a function in one"],
    ),
    "a_class": (
        "def build():\n    return nn.ReLU, (torch.randn(3),)\n",
        ["as module the class ReLU, not an instance"],
    ),
    "no_inputs": (
        "def build():\n    return nn.ReLU(), 3\n",
        ["as example inputs an object of type int", "give a tuple of tensors"],
    ),
    "numpy_input": (
        "import numpy\ndef build():\n    return nn.ReLU(), (numpy.ones(3),)\n",
        ["an object of type ndarray", "torch.from_numpy"],
    ),
    "complex": (
        "def build():\n    return nn.Tanh(), (torch.randn(3, dtype=torch.cfloat),)\n",
        ["the input 'input' has type torch.complex64", "fastk takes float64"],
    ),
    "jit": (
        "def build():\n    module = torch.jit.script(nn.ReLU())\n"
        "    return module, (torch.randn(3),)\n",
        ["the module was made by torch.jit", "give the module that torch.jit.script"],
    ),
    "parallel": (
        "def build():\n    return nn.DataParallel(nn.ReLU()), (torch.randn(3),)\n",
        ["is in a DataParallel", "give what is in it: the .module"],
    ),
    "quantised": (
        "def build():\n    module = nn.Sequential(nn.Linear(3, 4))\n"
        "    return torch.ao.quantization.quantize_dynamic(module), (torch.randn(2, 3),)\n",
        ["the module is quantised", "before torch.ao.quantization"],
    ),
    "parametrised": (
        "def build():\n    module = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))\n"
        "    return module, (torch.randn(3, 4),)\n",
        ["cannot lower aten.linalg_matrix_exp", "remove_parametrizations(layer, name)"],
    ),
    "shapes": (
        "def build():\n    return nn.Linear(3, 4), (torch.randn(2, 5),)\n",
        ["torch.export fails: RuntimeError", "runs in PyTorch itself"],
    ),
}

MODULE = """
class Module(nn.Module):
    def forward(self, x):
        return {expression}

def build():
    return Module(), (torch.randn(4, 6),)
"""

# name: (what forward returns, what stderr must hold); the place is line 7.
BAD_MODULES = {
    "reads_a_value": (
        "x if x.sum() > 0 else -x",
        ["torch.export fails", "reads a tensor's value", "torch.where"],
    ),
    "no_lowering": (
        "torch.histc(x, 10)",
        ["cannot lower aten.histc", "write aten.histc with simpler ops", "reproducer"],
    ),
    "random": (
        "F.dropout(x, 0.5, True)",
        ["draws random numbers by aten.dropout", "call module.eval()"],
    ),
    "random_attention": (
        "F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)",
        ["draws random numbers by aten.scaled_dot_product_attention"],
    ),
    "random_numbers": (
        "x + torch.randn_like(x)",
        ["draws random numbers by aten.randn_like", "pass them as an input"],
    ),
    "python_error": ("x.no_such_method()", ["AttributeError", "no_such_method"]),
}


def refused(result, texts, out):
    assert result.returncode == 1, (result.stdout, result.stderr)
    for text in texts:
        assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not out.exists() and not out.with_name(out.name + ".json").exists()


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(name, importer, model, tmp_path):
    body, texts = BAD_FILES[name]
    out = tmp_path / "out.mlir"
    refused(importer(model(body), "-o", out), [*texts, "error: "], out)


@pytest.mark.parametrize("name", BAD_MODULES)
def test_bad_module(name, importer, model, tmp_path):
    expression, texts = BAD_MODULES[name]
    out = tmp_path / "out.mlir"
    result = importer(model(MODULE.format(expression=expression)), "-o", out)
    refused(result, [*texts, "model_file.py:7: error: "], out)


@pytest.mark.parametrize(
    "expression",
    [
        "F.dropout(x, 0.0, True)",
        "F.dropout(x, 0.5, False)",
        "F.rrelu(x, 0.1, 0.3, False)",
        "F.scaled_dot_product_attention(x, x, x)",
    ],
)
def test_what_could_draw_and_does_not(expression, importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    result = importer(model(MODULE.format(expression=expression)), "-o", out)
    assert result.returncode == 0, result.stderr


def test_one_layer_drops_nothing(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    body = "def build():\n    return nn.LSTM(6, 5, 1, dropout=0.5), (torch.randn(3, 2, 6),)\n"
    result = importer(model(body), "-o", out)
    assert result.returncode == 0, result.stderr
    body = body.replace("5, 1", "5, 2")
    out.unlink()
    result = importer(model(body), "-o", out, "--no-sidecar")
    assert "draws random numbers by aten.lstm" in result.stderr


def test_result_that_holds_no_tensor(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    result = importer(model(MODULE.format(expression="x, {3}")), "-o", out)
    refused(result, ["returns an object of type set", "return tensors, or tuples"], out)


def test_no_such_file(importer, tmp_path):
    out = tmp_path / "out.mlir"
    refused(
        importer(tmp_path / "none.py:build", "-o", out),
        ["no file '", "none.py'", "remedy: check the path before the colon"],
        out,
    )


@pytest.mark.parametrize("spec", ["model.py", "model.py:", ":build", "model.py:1x"])
def test_not_a_spec(spec, importer, tmp_path):
    out = tmp_path / "out.mlir"
    refused(importer(spec, "-o", out), ["is not FILE.py:NAME", "models.py:mlp"], out)


def test_not_a_python_file(importer, tmp_path):
    (tmp_path / "model.txt").write_text("")
    out = tmp_path / "out.mlir"
    result = importer(f"{tmp_path}/model.txt:build", "-o", out)
    refused(result, ["is not a Python file", "ending in .py"], out)


def test_wrong_option(importer, tmp_path):
    result = importer("--no-such-option")
    assert result.returncode == 1
    assert "error: " in result.stderr and "--help" in result.stderr


def test_wrong_function_name(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    refused(
        importer(model("def build(): pass\n"), "-o", out, "--func-name", "a b"),
        ["'a b' cannot name a function"],
        out,
    )


GOOD = "def build():\n    return nn.ReLU(), (torch.randn(3),)\n"


def test_output_folder_is_missing(importer, model, tmp_path):
    out = tmp_path / "none" / "out.mlir"
    refused(importer(model(GOOD), "-o", out), ["cannot write", "No such file"], out)


def test_a_full_disk_under_stdout(model):
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = python("-m", "fastk.importer", model(GOOD), "--quiet", stdout=full)
    assert result.returncode == 1
    assert result.stderr == (
        "error: cannot write standard output: No space left on device\n"
        "remedy: free some space, or name a file with -o\n"
    )


def test_an_output_that_is_a_link_stays_one(importer, model, tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "out.mlir"
    link.symlink_to("there/model.mlir")
    for _ in range(2):  # It makes the file, and replaces it.
        result = importer(model(GOOD), "-o", link)
        assert result.returncode == 0, result.stderr
        assert link.is_symlink()
        assert "func.func" in (tmp_path / "there" / "model.mlir").read_text()
    names = sorted(path.name for path in (tmp_path / "there").iterdir())
    assert names == ["model.mlir"]


def test_an_output_that_is_no_file_is_not_replaced(importer, model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = importer(model(GOOD), "-o", pipe)
    assert result.returncode == 1
    assert f"'{pipe}' is no file" in result.stderr
    assert pipe.is_fifo()


def test_output_is_a_folder(importer, model, tmp_path):
    result = importer(model(GOOD), "-o", tmp_path)
    assert result.returncode == 1
    assert "is a folder" in result.stderr


@pytest.mark.parametrize("messages", ["", "import sys; print('x' * 99, file=sys.stderr)\n"])
def test_full_disk_leaves_the_old_file(model, tmp_path, messages):
    import resource

    out = tmp_path / "out.mlir"
    out.write_text("as it was")

    def no_space():
        # Writing past the limit fails as on a full disk (SIGXFSZ is ignored by
        # Python). 64 bytes, less than any model has.
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    result = python(
        "-m",
        "fastk.importer",
        # What the model and Torch say on the way does not fit the disk either.
        model(messages + GOOD),
        "-o",
        out,
        "--no-sidecar",
        flags=["-B"],
        preexec_fn=no_space,
    )
    assert result.returncode == 1
    assert f"cannot write '{out}': File too large" in result.stderr
    assert out.read_text() == "as it was"
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".out")]


def test_a_crash_costs_one_import(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    spec = model(
        "import os, signal\ndef build():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    refused(importer(spec, "-o", out), ["crashed with SIGSEGV", "last output"], out)


def test_a_killed_child_is_named(importer, model, tmp_path):
    out = tmp_path / "out.mlir"
    spec = model(
        "import os, signal\ndef build():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    refused(importer(spec, "-o", out), ["was killed (out of memory?)"], out)


def test_the_api_raises_with_place_and_remedy():
    class Random(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x, 0.5, True)

    with pytest.raises(ImporterError) as caught:
        import_module(Random(), (torch.randn(3),))
    assert os.path.basename(caught.value.where[0]) == "test_import_errors.py"
    assert "aten.dropout" in caught.value.message
    assert "module.eval()" in caught.value.remedy


def test_packed_sequences():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 5)

        def forward(self, x, lengths):
            return self.lstm(nn.utils.rnn.pack_padded_sequence(x, lengths))[0].data

    with pytest.raises(ImporterError, match="torch.export fails") as caught:
        import_module(Packed(), (torch.randn(7, 2, 4), torch.tensor([7, 3])))
    assert "needs a tensor's value to know a size, as packed" in caught.value.remedy


def test_the_api_checks_its_arguments():
    with pytest.raises(ImporterError, match="import_module is given as module"):
        import_module(torch.relu, (torch.randn(3),))
    with pytest.raises(ImporterError, match="cannot name a function"):
        import_module(nn.ReLU(), (torch.randn(3),), func_name="1")


def test_hex_i1_constants_are_refused():
    hexed = 'arith.constant dense<"0x0100"> : tensor<2xi1>'
    with pytest.raises(ImporterError, match="tensor<2xi1>"):
        lower.check_text(hexed)
    lower.check_text('arith.constant dense<"0x0100"> : tensor<2xi8>')
    lower.check_text("arith.constant dense<[true, false]> : tensor<2xi1>")


def test_loops_that_would_not_end_are_refused():
    class Loop(nn.Module):
        def forward(self, x):
            return torch._higher_order_ops.while_loop(
                lambda i, x: i < 5,
                lambda i, x: (i + 1, x * 2),
                (torch.zeros((), dtype=torch.int64), x),
            )

    with pytest.raises(ImporterError, match="a while_loop, whose condition") as caught:
        import_module(Loop(), (torch.randn(3),))
    assert "in Python" in caught.value.remedy
    lower.check_text("scf.for %i = %c0 to %c9 step %c1 {")
