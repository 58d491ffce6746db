# ===- test_triton_variants.py - Around from_triton, without Triton -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What of fastk.from_triton and its benchmark needs no Triton."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
import tomllib
from conftest import PYTHON, ROOT

import fastk
from fastk.triton_folders import HEAD, write_variant
from fastk.triton_kernels import NEWEST, OLDEST, Error

BENCHMARK = ROOT / "benchmarks" / "triton_variants.py"


def test_without_triton_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(Error, match=r"pip install 'fastk\[triton\]'"):
        fastk.from_triton(print, (1,), [], to=tmp_path)


def test_one_range_of_versions_and_one_pin():
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    first, behind = ".".join(map(str, OLDEST)), f"{NEWEST[0]}.{NEWEST[1] + 1}"
    assert project["optional-dependencies"]["triton"] == [f"triton>={first},<{behind}"]
    recorded = re.search(
        r'TRITON = "([\d.]+)"', (ROOT / "scripts" / "regenerate-triton.py").read_text()
    )[1]
    assert f"triton=={recorded}" in (ROOT / "scripts" / "install-deps.sh").read_text()
    heads = [
        path.read_text().split("\n")[0]
        for path in (ROOT / "test/Inputs/triton").rglob("kernel.ptx")
    ]
    assert len(heads) == 4 and all(f"Triton {recorded}: " in head for head in heads)


def verdict(idea, status="ok", seconds=0.0, reason="", title="", language="ptx"):
    return {
        "idea": idea, "title": title or idea, "language": language, "status": status,
        "reason": reason, "seconds": seconds, "baseline_seconds": 4e-5 if seconds else 0.0,
    }  # fmt: skip


def table(folder, workload):
    (folder / "softmax").mkdir()
    (folder / "softmax" / "report.json").write_text(
        json.dumps({"workloads": [workload]})
    )
    result = subprocess.run(
        [sys.executable, BENCHMARK, "table", folder], capture_output=True, text=True, check=True
    )  # fmt: skip
    return result.stdout.splitlines()


def test_the_table_says_who_won(tmp_path):
    lines = table(
        tmp_path,
        {
            "name": "softmax", "shapes": "8x8xf32", "baseline_seconds": 4e-5,
            "winner": {"idea": "families/reduction-rows-0"},
            "verdicts": [
                verdict("files/a", seconds=2e-5, title="Triton's a"),
                verdict("files/b", seconds=3e-5),
                verdict("files/c", status="refused", reason="why"),
                verdict("families/reduction-rows-0", seconds=1e-5, title="rows", language="cuda"),
                verdict("catalog/x", status="wrong", reason="off | by one"),
            ],
        },
    )  # fmt: skip
    assert lines[2:] == [
        "| softmax: softmax 8x8xf32 | default lowering |  | 40.00 | 1.00 |  |  |",
        "|  | Triton | Triton's a (ptx) | 20.00 | 2.00 | 2 of 3 |  |",
        "|  | catalog | none: off \\| by one | - | - | 0 of 1 |  |",
        "|  | families | rows (cuda) | 10.00 | 4.00 | 1 of 1 | stored |",
    ]


def test_without_reports_the_error_says_what_to_do(tmp_path):
    result = subprocess.run(
        [sys.executable, BENCHMARK, "table", tmp_path], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert result.returncode == 1
    assert "has no */report.json: run search first" in result.stderr


FILES = {
    "kernel.ptx": HEAD + "Triton 3.9.0: k().\n.version 8.4\n",
    "plan.json": "{}\n",
    "idea.md": "# Ein schöner Kern\n",
}
OTHERS = {**FILES, "idea.md": "# Another\n"}


def contents(folder):
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


def test_a_folder_is_written_again_as_a_whole(tmp_path):
    folder = write_variant(tmp_path / "to" / "k", FILES)
    first = contents(folder)
    assert set(first) == set(FILES)
    assert first["kernel.ptx"].startswith(FILES["kernel.ptx"].encode())
    assert contents(write_variant(folder, FILES)) == first
    second = contents(write_variant(folder, OTHERS))
    assert second["idea.md"] == b"# Another\n"
    assert second["kernel.ptx"] != first["kernel.ptx"]
    assert [each.name for each in folder.parent.iterdir()] == ["k"]
    # An empty one holds nothing that could be lost.
    (tmp_path / "to" / "empty").mkdir()
    assert set(contents(write_variant(tmp_path / "to" / "empty", FILES))) == set(FILES)


def by_hand(folder):
    (folder / "kernel.ptx").write_text(".version 8.4\n// mine\n")


def edit_the_kernel(folder):
    path = folder / "kernel.ptx"
    path.write_text(path.read_text().replace("8.4", "8.5"))


def edit_the_plan(folder):
    (folder / "plan.json").write_text("{ }\n")


def edit_the_idea(folder):
    (folder / "idea.md").write_text("# What I found out\n")


def write_behind_the_digest(folder):
    with (folder / "kernel.ptx").open("a") as file:
        file.write("// mine\n")


def remove_the_plan(folder):
    (folder / "plan.json").unlink()


def remove_the_kernel(folder):
    (folder / "kernel.ptx").unlink()


def add_a_file(folder):
    (folder / "notes.txt").write_text("mine")


def add_a_folder(folder):
    (folder / "idea.md").unlink()
    (folder / "idea.md").mkdir()


@pytest.mark.parametrize(
    "change, message",
    [
        (by_hand, "fastk.from_triton did not write it"),
        (remove_the_kernel, "fastk.from_triton did not write it"),
        (edit_the_kernel, "was edited since fastk.from_triton wrote it"),
        (edit_the_plan, "was edited since"),
        (edit_the_idea, "was edited since"),
        (write_behind_the_digest, "was edited since"),
        (remove_the_plan, "was edited since"),
        (add_a_file, "holds something else"),
        (add_a_folder, "holds something else"),
    ],
)
def test_what_a_person_did_is_left_alone(tmp_path, change, message):
    folder = write_variant(tmp_path / "k", FILES)
    change(folder)
    before = contents(tmp_path)
    with pytest.raises(Error, match=message):
        write_variant(folder, OTHERS)
    assert contents(tmp_path) == before


def test_what_is_no_folder_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    target = write_variant(tmp_path / "elsewhere", FILES)
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    for name in ("file", "link", "nowhere"):
        with pytest.raises(Error, match="is no folder of a variant"):
            write_variant(tmp_path / name, FILES)
    assert set(contents(target)) == set(FILES)


@pytest.mark.parametrize("failing", ["old", "k"])
def test_a_rename_that_fails_loses_nothing(tmp_path, monkeypatch, failing):
    folder = write_variant(tmp_path / "k", FILES)
    before = contents(tmp_path)
    rename, failed = pathlib.Path.rename, []

    def fails_once(path, target):
        if pathlib.Path(target).name == failing and not failed:
            failed.append(target)
            raise OSError("no space left on device")
        return rename(path, target)

    monkeypatch.setattr(pathlib.Path, "rename", fails_once)
    with pytest.raises(OSError, match="no space"):
        write_variant(folder, OTHERS)
    assert failed and contents(tmp_path) == before
    assert contents(write_variant(folder, OTHERS)) != before
