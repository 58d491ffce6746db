# ===- test_kernelbench.py - python -m fastk.kernelbench -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The runner of KernelBench's problems, on a checkout of the tests' own problems."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from compiled import BIN
from conftest import PYTHON

from fastk.importer.pins import TORCH
from fastk.kernelbench import measure, page, rounded, rows
from fastk.kernelbench.problems import Problem, draw_inputs, load, make_module

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
TAIL = """

def get_inputs():
    return [torch.rand(8, 6)]


def get_init_inputs():
    return [6, 5]
"""
MODEL = """class Model(nn.Module):
    def __init__(self, taken, given):
        super().__init__()
        self.linear = nn.Linear(taken, given)
        self.norm = nn.BatchNorm1d(given)

    def forward(self, x):
        return {}
"""
#: Batch normalisation of a model in training mode, which updates its buffers.
RIGHT = MODEL.format("torch.relu(self.norm(self.linear(x)))")
#: Other values where it is imported than where it is called.
DIFFERENT = MODEL.format("self.linear(x) * (2 if torch.compiler.is_exporting() else 1)")
#: Its own results are NaN, and so are ours.
NAN = MODEL.format("torch.log(self.linear(x) - 1000)")
UNSUPPORTED = MODEL.format("self.linear(x)[: int(x.sum())]")
DRAWING = MODEL.format("self.linear(x) + torch.randn(5)")
BROKEN = "class Model(nn.Module:\n"


def write(folder, problems):
    """A checkout with {level: {file: text}}."""
    for level, files in problems.items():
        where = folder / "KernelBench" / f"level{level}"
        where.mkdir(parents=True)
        for name, text in files.items():
            (where / name).write_text(HEAD + text + TAIL)
    return folder


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    problems = {
        1: {"2_Right.py": RIGHT, "10_Different.py": DIFFERENT, "3_Nan.py": NAN},
        2: {"1_Unsupported.py": UNSUPPORTED, "2_Broken.py": BROKEN, "3_Drawing.py": DRAWING},
    }
    return write(tmp_path_factory.mktemp("checkout"), problems)


def command(checkout, out, *options):
    return [
        sys.executable, "-m", "fastk.kernelbench", checkout, "-o", out, *options,
        f"--fastk-opt={BIN / 'fastk-opt'}",
    ]  # fmt: skip


def run(checkout, out, *options):
    return subprocess.run(
        command(checkout, out, *options),
        text=True,
        capture_output=True,
        check=False,
        env=environment(),
    )


def environment():
    # What torch.compile makes of a model is not ours to test.
    return dict(
        os.environ, PYTHONPATH=str(PYTHON), FASTK_BANK="", TORCHDYNAMO_DISABLE="1",
        XDG_CACHE_HOME=os.devnull,
    )  # fmt: skip


@pytest.fixture(scope="module")
def ran(checkout, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    done = run(checkout, out, "--jobs=2")
    return done, out, json.loads((out / "rows.json").read_text())


def step_of(data, problem, step):
    for row in data["rows"]:
        if row["problem"] == problem:
            return row["steps"].get(step)
    return None


def test_right_ones_are_timed(ran):
    done, _, data = ran
    assert done.returncode == 2, done.stderr
    said = step_of(data, "1/2_Right", "measure")
    assert said["status"] == "ok", done.stderr
    assert said["error"] < 1e-6
    assert said["harness"] and said["exact"]
    for contender in ("fastk", "eager", "compile"):
        assert said["ms"][contender]["median"] > 0
    # Two of them are the updated buffers, and the count of batches.
    assert step_of(data, "1/2_Right", "import")["results"] == 4


def test_nan_where_torch_has_it_is_right(ran):
    said = step_of(ran[2], "1/3_Nan", "measure")
    assert said["status"] == "ok", said


def test_what_differs_from_torch_is_wrong_and_has_no_ratio(ran):
    done, out, data = ran
    said = step_of(data, "1/10_Different", "measure")
    assert said["status"] == "wrong", said
    assert "off by" in said["reason"]
    times = (out / "page.md").read_text().split("## Times")[1]
    assert "1/2_Right" in times
    assert "1/10_Different" not in times


def test_failures_have_reasons_without_paths(ran, checkout):
    _, out, data = ran
    assert step_of(data, "2/1_Unsupported", "import")["status"] == "fail"
    assert "error: " in step_of(data, "2/1_Unsupported", "import")["reason"]
    drawing = step_of(data, "2/3_Drawing", "import")["reason"]
    assert "random numbers by aten.randn.default, in line 12: return self.lin" in drawing
    broken = step_of(data, "2/2_Broken", "import")
    assert broken["status"] == "fail"
    assert step_of(data, "2/2_Broken", "compile") is None
    for name in ("rows.json", "page.md"):
        assert str(checkout) not in (out / name).read_text()


def test_the_page_counts(ran):
    text = (ran[1] / "page.md").read_text()
    rows_of = [line.split("|")[1:5] for line in text.splitlines() if line.startswith("| 1 ")]
    assert [cell.strip() for cell in rows_of[0]] == ["1", "3", "3", "3"]
    # In the order of their numbers.
    order = [text.index(name) for name in ("1/10_Different", "2/1_Unsupported", "2/2_Broken")]
    assert order == sorted(order)


def test_a_second_run_does_nothing_again(ran, checkout):
    _, out, before = ran
    done = run(checkout, out, "--only=1/2_*")
    assert done.returncode == 0, done.stderr
    assert "measure ok" not in done.stderr
    after = json.loads((out / "rows.json").read_text())
    assert after["rows"] == before["rows"]


def test_an_interrupted_run_goes_on(tmp_path):
    # Its import takes until there is a file.
    begun, go = tmp_path / "begun", tmp_path / "go"
    waits = (
        f"\n\nimport pathlib\nimport time\n\npathlib.Path({str(begun)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.02)\n"
    )
    checkout = write(tmp_path / "checkout", {1: {"2_Right.py": RIGHT + waits}})
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(checkout, out, "--only=1/2_*", "--steps=import"),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A test run in the background ignores it, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline() == "1 problems: import\n"
    while not begun.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "interrupted; the same command goes on" in said
    go.touch()
    done = run(checkout, out, "--only=1/2_*", "--steps=import")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps=guess"], "--steps: no step 'guess'; there are import, compile, measure"),
        (["--level=9"], "no problem is of these levels and names"),
        (["--jobs=0"], "--jobs is 1 or more"),
        (["--timeout=0"], "--timeout is more than 0"),
        (["--budget=0"], "--budget is more than 0"),
        (["--bank=nowhere"], "--bank=nowhere: no such folder"),
    ],
)
def test_wrong_options(checkout, tmp_path, options, message):
    done = run(checkout, tmp_path / "out", *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_no_checkout(tmp_path):
    done = run(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    assert "name a checkout of https://github.com/ScalingIntelligence/" in done.stderr


def test_a_limit_ends_a_step(tmp_path):
    slow = write(tmp_path, {1: {"1_Slow.py": RIGHT + "\n\nwhile True:\n    pass\n"}})
    done = run(slow, tmp_path / "out", "--timeout=5")
    assert done.returncode == 2
    assert "1/1_Slow: import timeout" in done.stderr


#: What its neighbours leave it is not enough, the first time.
SHORT = """import os
import sys


class Model(nn.Module):
    def __init__(self, taken, given):
        super().__init__()
        self.linear = nn.Linear(taken, given)

    def forward(self, x):
        if "fastk.library" in sys.modules and not os.path.exists("MARKER"):
            open("MARKER", "w").close()
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.linear(x)
"""


def test_who_is_short_of_memory_beside_others_is_measured_alone(tmp_path):
    text = SHORT.replace("MARKER", str(tmp_path / "marker"))
    checkout = write(tmp_path, {1: {"1_Short.py": text, "2_Right.py": RIGHT}})
    done = run(checkout, tmp_path / "out", "--jobs=2")
    assert done.returncode == 0, done.stderr
    assert "1/1_Short: measure ends beside others, and comes again alone" in done.stderr
    data = json.loads((tmp_path / "out" / "rows.json").read_text())
    assert "short_of_memory" not in step_of(data, "1/1_Short", "measure")


def test_a_library_that_was_not_brought_is_named_at_once(ran, checkout, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(ran[1], out)
    (out / "rows.json.lock").unlink()
    (out / "1/2_Right/model.so").unlink()
    options = ("--only=1/2_*", "--steps=measure", "--again=all", "--jobs=2")
    done = run(checkout, out, *options)
    assert done.returncode == 2
    assert "1/2_Right/model.so is not in the results: bring it, or compile" in done.stderr
    assert "comes again alone" not in done.stderr
    said = step_of(json.loads((out / "rows.json").read_text()), "1/2_Right", "measure")
    assert said["status"] == "fail" and "not_for_neighbours" not in said


def test_inputs_are_drawn_on_the_device_and_weights_on_the_host(checkout):
    path = checkout / "KernelBench/level1/2_Right.py"
    file = load(Problem("1/2_Right", 1, str(path)))
    (drawn,) = draw_inputs(file, "meta")
    assert drawn.device.type == "meta" and drawn.shape == (8, 6)
    assert make_module(file).linear.weight.device.type == "cpu"


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_results_are_compared_whatever_the_pieces(monkeypatch, piece):
    monkeypatch.setattr(measure, "PIECE", piece)
    right = torch.tensor([[1.0, -8.0, torch.nan], [torch.inf, 0.5, 2.0]], dtype=torch.double)
    assert measure._largest(right.float(), right) == 0.0
    off = right.float()
    off[1, 1] = 1.5
    assert measure._largest(off, right) == 1.0 / 8
    assert not measure._all_close(off, right.float())
    off[0, 2] = 0.0
    assert measure._largest(off, right) == float("inf")
    close = right.float().nan_to_num(nan=1.0)
    assert measure._all_close(close, close + 1e-5)


@pytest.mark.parametrize(
    ("mine", "eager", "status"),
    [
        (5e-5, 0.0, "ok"), (2e-4, 0.0, "wrong"), (2e-4, 1.5e-4, "ok"), (9e-3, 1.0, "ok"),
        (0.015, 8e-3, "open"), (0.4, 0.8, "open"), (0.4, 0.1, "wrong"), (torch.nan, 1.0, "wrong"),
    ],
)  # fmt: skip
def test_where_torch_itself_is_off_nothing_is_called_right(mine, eager, status):
    exact = torch.tensor([1.0, -1.0], dtype=torch.double)
    off = torch.tensor([0.0, 1.0])
    results = [[exact.float() + error * off] for error in (mine, eager)]
    said = measure._errors(*results, [exact], measure.LIMIT)
    assert said.get("status", "ok") == status, said


@pytest.mark.parametrize(
    ("accepts", "mine", "status"),
    [
        ("ieee", 9e-5, "ok"), ("ieee", 1.1e-4, "wrong"),
        ("ieee,convolution=tf32", 9e-4, "ok"), ("tf32", 1.1e-3, "wrong"), ("half", 9e-4, "ok"),
    ],
)  # fmt: skip
def test_operands_of_10_bits_are_right_where_they_were_accepted(accepts, mine, status):
    exact = torch.tensor([1.0, -1.0], dtype=torch.double)
    got = [exact.float() + mine * torch.tensor([0.0, 1.0])]
    said = measure._errors(got, [exact.float()], [exact], measure.limit_of(accepts))
    assert said.get("status", "ok") == status, said


def test_ten_bits_are_the_nearest():
    values = torch.tensor([1.0, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, -3e38, torch.inf, torch.nan])
    want = torch.tensor([1.0, 1.0, 1 + 2**-9, 1 + 2**-10, -3e38, torch.inf, torch.nan])
    got = rounded.to_ten_bits(values.double())
    assert got.dtype == torch.double
    torch.testing.assert_close(got.float(), want, rtol=2**-11, atol=0, equal_nan=True)
    assert torch.equal(got[:4], want[:4].double())


@pytest.mark.parametrize(
    ("accepts", "kinds"),
    [
        ("ieee", set()), ("tf32", {"convolution", "contraction"}),
        ("ieee,convolution=tf32", {"convolution"}), ("half,contraction=ieee", {"convolution"}),
        ("tf32,attention=ieee", {"convolution", "contraction"}),
    ],
)  # fmt: skip
def test_what_an_accepted_class_rounds(accepts, kinds):
    assert rounded.kinds_of(accepts) == kinds


class _ConvolutionAndProduct(torch.nn.Module):
    """A norm of what hardly differs, behind a convolution, and a product."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3)
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.convolution(x)
        x = torch.nn.functional.instance_norm(x, eps=0.0)
        return self.linear(x.mean((2, 3)) + x[:, :, 0, 0])


def test_a_norm_makes_more_of_rounded_operands():
    torch.manual_seed(3)
    module = _ConvolutionAndProduct()
    # Neighbours hardly differ: what rounding changes, a norm divides by little.
    inputs = [1.0 + 1e-3 * torch.rand(2, 3, 16, 16)]
    state = copy.deepcopy(module.state_dict())
    with torch.no_grad():
        exact, short = measure._exact(module, state, inputs)
        same, _ = measure._exact(module, state, inputs, "ieee")
        coarse, _ = measure._exact(module, state, inputs, "ieee,convolution=tf32")
        both, _ = measure._exact(module, state, inputs, "tf32")
    assert not short and torch.equal(exact[0], same[0])
    assert not torch.equal(coarse[0], both[0])
    cost = measure._largest(coarse[0], exact[0])
    assert cost > measure.TEN_BITS_LIMIT
    scale = exact[0].abs().max()
    for share, status in ((1.9, "ok"), (2.1, "wrong")):
        got = exact[0].clone().flatten()
        got[exact[0].abs().argmax()] += share * min(cost, measure.MOST_LIMIT / 2) * scale
        got = [got.view_as(exact[0])]
        said = measure._errors(got, exact, exact, measure.TEN_BITS_LIMIT)
        assert said["status"] == "wrong"
        measure._beside_rounded(said, coarse, exact)
        assert said.get("status", "ok") == status, said
        assert ("rounded operands alone" in said.get("reason", "")) == (status == "wrong")


def test_what_fastk_opt_is_told(checkout, tmp_path):
    told = ["--precision=ieee,convolution=tf32", "--winners-from=any"]
    options = ["--only=1/2_*", "--steps=import,compile", *told]
    done = run(checkout, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "rows.json").read_text())
    step = step_of(data, "1/2_Right", "compile")
    assert step["precision"] == "ieee,convolution=tf32"
    assert step["made_by"].endswith(" ".join(["host", *told]))
    page_text = (tmp_path / "page.md").read_text()
    assert "--precision ieee,convolution=tf32 --winners-from any" in page_text
    # Others are another program.
    again = run(checkout, tmp_path, *options[:-1])
    assert "1/2_Right: compile ok" in again.stderr
    refused = run(checkout, tmp_path, *options[:2], "--precision=f8", "--again=all")
    assert "unknown precision 'f8'" in refused.stderr, refused.stderr


def test_a_budget_ends_the_run_with_the_rows_that_are(ran, checkout, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(ran[1], out)
    (out / "rows.json.lock").unlink()
    slow = write(tmp_path, {3: {"1_Slow.py": RIGHT + "\n\nwhile True:\n    pass\n"}})
    begin = time.monotonic()
    done = run(slow, out, "--budget=4", "--steps=import")
    # A problem alone has 300 s.
    assert time.monotonic() < begin + 150
    assert done.returncode == 2
    assert "--budget is spent; the same command goes on" in done.stderr
    data = json.loads((out / "rows.json").read_text())
    assert step_of(data, "3/1_Slow", "import") is None
    assert step_of(data, "1/2_Right", "measure")["status"] == "ok"


def test_rows_name_torch_and_the_commit(ran):
    said = step_of(ran[2], "1/2_Right", "measure")
    assert said["torch"].startswith(TORCH)
    assert re.fullmatch(r"[0-9a-f]{12}\+?", said["commit"])


def row(fastk, eager, compiled, status="ok"):
    ms = {"fastk": {"median": fastk}, "eager": {"median": eager}}
    ms["compile"] = {"median": compiled} if compiled else {"reason": "failed"}
    return {"steps": {"measure": {"status": status, "ms": ms}}}


def test_the_page_names_the_commits_that_compiled():
    compiled = [{"steps": {"compile": {"commit": commit}}} for commit in ("b", "a", "b")]
    assert page._commits([*compiled, {"steps": {}}]) == "b (2), a (1)"


def test_ratios():
    assert page.ratio(row(2.0, 4.0, 3.0)) == 1.5
    assert page.ratio(row(2.0, 4.0, 3.0), ("eager",)) == 2.0
    assert page.ratio(row(2.0, 4.0, None)) == 2.0
    assert page.ratio(row(2.0, 4.0, 3.0, status="wrong")) is None
    assert page.ratio({"steps": {}}) is None


def test_rows_of_another_kind(tmp_path):
    (tmp_path / "rows.json").write_text("[]")
    with pytest.raises(rows.RowsError, match="remove it, or name another folder"):
        rows.Rows(str(tmp_path / "rows.json"))


def test_a_step_takes_those_behind_it_along(tmp_path):
    kept = rows.Rows(str(tmp_path / "rows.json"))
    for step in rows.STEPS:
        kept.add(_Named("1/1_A"), step, "d", {"status": "ok", "made_by": "m"})
    assert not kept.wants(_Named("1/1_A"), "measure", "d", "m")
    assert kept.wants(_Named("1/1_A"), "measure", "other", "m")
    assert kept.wants(_Named("1/1_A"), "measure", "d", "m", again=("ok",))
    kept.add(_Named("1/1_A"), "compile", "d", {"status": "ok", "made_by": "m2"})
    assert kept.wants(_Named("1/1_A"), "measure", "d", "m")
    assert not kept.wants(_Named("1/1_A"), "import", "d", "m")


class _Named:
    def __init__(self, name):
        self.name = name
