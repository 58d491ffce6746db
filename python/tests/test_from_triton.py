# ===- test_from_triton.py - Triton kernels as variants -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""fastk.from_triton writes what --proposer=files: takes. Needs Triton, and no GPU."""

import json
import pathlib
import subprocess
import sys

import pytest
import triton
import triton.language as tl
from compiled import fastk as run
from conftest import GOLDEN, ROOT

import fastk
from fastk.triton_kernels import Error

sys.path.insert(0, str(ROOT / "benchmarks"))
import triton_kernels as kernels  # noqa: E402


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """What was compiled in another test is not compiled again; the user's is left alone."""
    folder = tmp_path_factory.getbasetemp() / "triton-cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr = 256):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def prints(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_print("value", value)
    tl.store(y + at, value)


@triton.jit
def describes(x, y, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [64, 64], [64, 1], [BLOCK, BLOCK])
    at = tl.arange(0, BLOCK)
    value = rows.load([0, 0])
    tl.store(y + at[:, None] * BLOCK + at[None, :], value)


@triton.jit
def does_not_compile(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.zeros((BLOCK + BLOCK // 2,), tl.float32))


def plan_of(folder):
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["format"] == 1
    return plan


def launch_of(folder):
    (launch,) = plan_of(folder)["steps"]
    return launch


def test_a_kernel_becomes_a_folder(tmp_path):
    (folder,) = fastk.from_triton(
        scale, (4,), ["in0: f32", "out0+64: f32", 1000, 0.5],
        to=tmp_path, name="scale", title="Scales", category="memory access", text="Why it pays.",
    )  # fmt: skip
    assert folder == tmp_path / "scale"
    assert sorted(each.name for each in folder.iterdir()) == [
        "idea.md",
        "kernel.ptx",
        "plan.json",
    ]
    plan = plan_of(folder)
    assert plan["name"] == "scale"
    (launch,) = plan["steps"]
    assert launch["launch"] == "scale"
    assert (launch["grid"], launch["block"]) == ([4], [128])
    assert launch["arguments"][:4] == ["in0", "out0+64", {"i32": 1000}, {"f32": 0.5}]
    # What Triton's own launcher passes behind them: scratch memory, of which there is none.
    assert launch["arguments"][4:] in ([{"i64": 0}], 2 * [{"i64": 0}])
    text = (folder / "kernel.ptx").read_text()
    assert f"Triton {triton.__version__}" in text.splitlines()[0]
    assert ".target sm_90a" in text
    # Neither names of files nor lines of them.
    assert ".loc" not in text and ".file" not in text and __file__ not in text
    idea = (folder / "idea.md").read_text()
    assert idea.startswith("# Scales\nCategory: memory access\n\nWhy it pays.\n")


def test_numbers_are_specialised_as_triton_does(tmp_path):
    def arguments(n, **options):
        (folder,) = fastk.from_triton(
            scale,
            (1,),
            {"x": "in0: f32", "y": "out0: f32", "n": n, "factor": 2},
            to=tmp_path,
            **options,
        )
        return launch_of(folder)["arguments"][2:-1]

    assert arguments(7)[0] == {"i32": 7}
    assert arguments(2**31)[0] == {"i64": 2**31}
    # 1 is compiled in.
    assert arguments(1)[0] == {"i32": 2}
    assert arguments(7, target="cuda:sm_80")[:2] == [{"i32": 7}, {"i32": 2}]


def test_each_config_is_a_variant(tmp_path):
    def grid(meta):
        return (triton.cdiv(meta["n"], meta["BLOCK"]),)

    folders = fastk.from_triton(
        scale, grid, ["in0: f32", "out0: f32", 1000, 0.5], to=tmp_path,
        configs=[triton.Config({"BLOCK": 128}, num_warps=1), {"BLOCK": 512, "num_warps": 8}],
    )  # fmt: skip
    assert [launch_of(each)["grid"] for each in folders] == [[8], [2]]
    assert [launch_of(each)["block"] for each in folders] == [[32], [256]]
    assert folders[1].name == "scale-BLOCK-512-num_warps-8"
    # Again, over what is there.
    assert folders[1:] == fastk.from_triton(
        scale,
        grid,
        ["in0: f32", "out0: f32", 1000, 0.5],
        to=tmp_path,
        configs=[{"BLOCK": 512, "num_warps": 8}],
    )


def test_an_autotuner_brings_its_configs(tmp_path):
    try:
        tuned = triton.autotune(
            [triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"]
        )(scale)
    except RuntimeError as error:
        pytest.skip(f"this Triton makes no autotuner without a GPU: {error}")
    args = ["in0: f32", "out0: f32", 1000, 0.5]
    assert len(fastk.from_triton(tuned, (16,), args, to=tmp_path)) == 2
    hooked = triton.autotune([triton.Config({"BLOCK": 64}, pre_hook=print)], key=["n"])(
        scale
    )
    with pytest.raises(Error, match="a config has a pre_hook, which is host code"):
        fastk.from_triton(hooked, (16,), args, to=tmp_path)


def test_scratch_memory_becomes_workspaces(tmp_path):
    """The plan gives what the metadata asks for, for each block."""
    from fastk.triton_kernels import _Variant

    variant = _Variant(
        triton, scale, 90, ["in0: f32", "ws0: f32", 1000, 0.5], {}, {}, {}
    )
    variant.compile()
    asked = {"global_scratch_size": 384, "global_scratch_align": 128}
    variant.metadata = variant.metadata._replace(**asked)
    plan = variant.plan((4, 3), [4096])
    assert plan["workspaces"] == [{"bytes": 4096}, {"bytes": 12 * 384}]
    assert plan["steps"][0]["arguments"][4] == "ws1"
    variant.metadata = variant.metadata._replace(global_scratch_align=512)
    with pytest.raises(Error, match="aligned to 512 bytes"):
        variant.plan((4, 3), [])


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(args=["in0: f32", "out0: f32", 5]), "has 4 parameters that are no constexprs .x, y, n, factor."),
        (dict(args=["in0", "out0: f32", 5, 0.5]), "argument 'in0': write a buffer and the type"),
        (dict(args=["in0: f8", "out0: f32", 5, 0.5]), "types are f64, f32"),
        (dict(args=["in0: f32", "out0: f32", True, 0.5]), "is a bool, which no plan can pass"),
        (dict(args=["in0: f32", "out0: f32", 2**63, 0.5]), "which no plan can pass as i64"),
        (dict(args=["in0: f32", "out0: f32", 5, float("inf")]), "is inf, which no plan can pass"),
        (dict(args=["in0: f32", "out0: f32", [5], 0.5]), "is a list, which no plan can pass"),
        (dict(args={"x": "in0: f32", "z": 5}), "scale has no parameter 'z'; it has x, y"),
        (dict(args={"x": "in0: f32"}), "args has no value for 'y' of scale"),
        (dict(constexprs={"BLOKC": 5}), "scale has no parameter 'BLOKC'"),
        (dict(options={"warps": 5}), "Triton has no option 'warps'"),
        (dict(configs=[]), "configs is empty"),
        (dict(configs=[{"num_ctas": 2}]), "makes clusters"),
        (dict(configs=[{"BLOCK": 64}, {"BLOCK": 64}]), "two configs have the name 'scale-BLOCK-64'"),
        (dict(configs=[{"num_warps": 3}]), "Triton compiles none of the configs: .*power of 2"),
        (dict(grid=(0,)), "grid .0,.: write one to three numbers"),
        (dict(grid=(1, 1, 1, 1)), "write one to three numbers"),
        (dict(target="host"), "write a GPU as fastk-opt --target does"),
        (dict(target="cuda:sm_90"), "write cuda:sm_90a"),
        (dict(target="cuda:sm_70"), "write a GPU"),
        (dict(category="speed"), "choose one of memory access"),
        (dict(kernel=print), "is no function of @triton.jit"),
        (dict(kernel=triton.heuristics({"BLOCK": len})(scale)), "a kernel of @triton.heuristics"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, changes, message):
    given = dict(
        kernel=scale, grid=(4,), args=["in0: f32", "out0: f32", 1000, 0.5], to=tmp_path
    )
    with pytest.raises(Error, match=message):
        fastk.from_triton(**{**given, **changes})
    assert not list(tmp_path.iterdir())


class TensorDescriptor:
    """As of triton.tools.tensor_descriptor, which needs a tensor on a GPU."""


@pytest.mark.parametrize(
    "kernel, first, message",
    [
        (prints, "in0: f32", "calls functions outside of it, as device_print"),
        (describes, "in0: f32", "makes tensor descriptors .TMA. on the device"),
        (
            prints,
            TensorDescriptor(),
            "descriptors of tensors that the host makes .TMA. are not supported",
        ),
    ],
)
def test_what_a_plan_has_no_place_for(tmp_path, kernel, first, message):
    if kernel is describes and not hasattr(tl, "make_tensor_descriptor"):
        pytest.skip("this Triton makes no descriptors on the device")
    with pytest.raises(Error, match=message):
        fastk.from_triton(
            kernel, (1,), [first, "out0: f32"], constexprs={"BLOCK": 64}, to=tmp_path
        )


def test_what_does_not_compile_is_left_out_with_its_reason(tmp_path):
    args = ["out0: f32"]
    with pytest.raises(Error, match="Triton compiles none of the configs"):
        fastk.from_triton(
            does_not_compile, (1,), args, configs=[{"BLOCK": 64}], to=tmp_path
        )
    with pytest.warns(
        UserWarning, match="left out, since Triton does not compile it: scale-BLOCK-100"
    ):
        folders = fastk.from_triton(
            scale,
            (4,),
            ["in0: f32", "out0: f32", 9, 0.5],
            to=tmp_path,
            configs=[{"BLOCK": 100}, {"BLOCK": 64}],
        )
    assert [each.name for each in folders] == ["scale-BLOCK-64"]


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "notes.txt").write_text("mine")
    with pytest.raises(Error, match="holds something else"):
        fastk.from_triton(scale, (4,), ["in0: f32", "out0: f32", 9, 0.5], to=tmp_path)
    assert (tmp_path / "scale" / "notes.txt").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_was_edited_is_left_alone(tmp_path):
    def make():
        args = ["in0: f32", "out0: f32", 9, 0.5]
        return fastk.from_triton(scale, (4,), args, to=tmp_path)[0]

    kernel = make() / "kernel.ptx"
    edited = kernel.read_text().replace(".version", "// faster\n.version")
    kernel.write_text(edited)
    with pytest.raises(Error, match="was edited since fastk.from_triton wrote it"):
        make()
    assert kernel.read_text() == edited
    kernel.write_text(".version 8.4\n")
    with pytest.raises(Error, match="fastk.from_triton did not write it"):
        make()
    assert kernel.read_text() == ".version 8.4\n"


def test_gluon_kernels(tmp_path):
    gluon = pytest.importorskip("triton.experimental.gluon")
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from gluon_kernel import copy

    assert gluon
    (folder,) = fastk.from_triton(
        copy,
        (4,),
        ["in0: f32", "out0: f32", 1000],
        constexprs={"BLOCK": 256},
        to=tmp_path,
    )
    assert launch_of(folder)["launch"] == "copy"


@pytest.mark.parametrize("name", ["softmax_small", "matmul_f16"])
def test_a_search_takes_them(tmp_path, name):
    """Up to the job of a worker, whose candidate is Triton's PTX."""
    for entry in kernels.WORKLOADS[name]:
        made = fastk.from_triton(
            **{**entry, "configs": entry["configs"][:2]}, to=tmp_path / "kernels"
        )
    run(
        "fastk-opt", GOLDEN / f"{name}.mlir", "--target=cuda:sm_90a", f"--bank={tmp_path / 'bank'}",
        "--search", f"--proposer=files:{tmp_path / 'kernels'}", f"--evaluator=spool:{tmp_path / 'spool'}",
        "-o", tmp_path / "out.mlir", status=75,
    )  # fmt: skip
    candidates = {
        each.read_text() for each in (tmp_path / "spool").glob("job-*/candidate.ptx")
    }
    assert candidates == {(each / "kernel.ptx").read_text() for each in made}


def test_the_recorded_ones_are_todays():
    """Where this is the version that they were recorded with."""
    script = ROOT / "scripts" / "regenerate-triton.py"
    if f'TRITON = "{triton.__version__}"' not in script.read_text():
        pytest.skip(f"recorded with another version than {triton.__version__}")
    result = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
